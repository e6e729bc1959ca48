"""An open catalogue: what is written to it, how far it has read, and what it knows of."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.connections import (
    CACHE,
    FILLING_CACHE,
    Connections,
    open_connections,
)
from vskill_platform.catalogue.sql import WRITE, one_row
from vskill_platform.catalogue.write_skills import SkillChanges, write_skills
from vskill_platform.catalogue.write_submissions import SubmissionChanges, write_submissions

_encode = msgspec.json.Encoder().encode


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    #: How far the change feed was read.
    revision: int = 0
    #: When that was known to be all there is, in microseconds; 0 for never.
    current_at: int = 0
    #: Stands for the commits up to that revision, so that a restored database is noticed.
    checkpoint: str = ""
    #: Whether every record was read once.
    is_built: bool = False


class Shelf:
    def __init__(self, connections: Connections, progress: Progress) -> None:
        self.connections = connections
        self.progress = progress
        #: Rises whenever another skill may be found, or found by something else.
        self.skills_changed = 0
        #: Rises whenever anything of a skill is written.
        self.skills_written = 0

    async def write(
        self,
        progress: Progress | None = None,
        *,
        skills: SkillChanges | None = None,
        submissions: SubmissionChanges | None = None,
    ) -> None:
        """Write all of it in one transaction, with how far that brings us."""

        def work(connection: apsw.Connection) -> bool:
            is_changed = write_skills(connection, skills) if skills else False
            if submissions:
                write_submissions(connection, submissions)
            if progress:
                connection.execute(WRITE["write_state"], msgspec.structs.asdict(progress))
            return is_changed

        if await self.connections.write(work):
            self.skills_changed += 1
        if skills:
            self.skills_written += 1
        if progress:
            self.progress = progress

    async def forget_events(self) -> None:
        await self.connections.write(lambda connection: connection.execute(WRITE["delete_events"]))

    async def gather(self) -> None:
        """Prepare for being filled."""

        def work(connection: apsw.Connection) -> None:
            connection.execute(f"PRAGMA cache_size = -{FILLING_CACHE}")
            connection.execute(WRITE["gather"])

        await self.connections.write(work)

    async def join(self) -> None:
        """Bring the indexes into their best shape for being searched."""

        def work(connection: apsw.Connection) -> None:
            connection.execute(WRITE["join"])
            connection.execute(f"PRAGMA cache_size = -{CACHE}")
            connection.execute("PRAGMA shrink_memory")

        await self.connections.write(work)

    async def slugs_between(self, after: str, through: str | None) -> set[str]:
        return await self._names("slugs_between", after=after, through=through)

    async def submissions_between(self, after: str, through: str | None) -> set[str]:
        return await self._names("submissions_between", after=after, through=through)

    async def slugs_of_submissions(self, submission_ids: Iterable[str]) -> set[str]:
        wanted = _encode(sorted(submission_ids)).decode()
        return await self._names("slugs_of_submissions", submission_ids=wanted)

    async def some_slugs(self, *, after: str, limit: int) -> list[str]:
        return sorted(await self._names("some_slugs", after=after, limit=limit))

    def close(self) -> None:
        self.connections.close()

    async def _names(self, query: str, **bindings: Any) -> set[str]:
        return await self.connections.read(
            lambda connection: {name for (name,) in connection.execute(WRITE[query], bindings)}
        )


async def open_shelf(path: Path) -> Shelf:
    """Open what lies at *path*, or a new one; raises Damaged if it cannot be used."""
    connections = await open_connections(path)
    revision, current_at, checkpoint, is_built = await connections.read(
        lambda connection: one_row(connection, "read_state")
    )
    return Shelf(
        connections,
        Progress(
            revision=revision,
            current_at=current_at,
            checkpoint=checkpoint,
            is_built=bool(is_built),
        ),
    )
