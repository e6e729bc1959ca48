"""The search index on disk: writes to it, and its progress in the change feed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import msgspec

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.catalogue.index_connections import (
    CACHE,
    FILLING_CACHE,
    Connections,
    open_connections,
)
from vskill_platform.catalogue.search_process import SearchProcess
from vskill_platform.catalogue.sql import WRITE, one_row, submission_key
from vskill_platform.catalogue.write_skills import SkillChanges, write_skills
from vskill_platform.catalogue.write_submissions import SubmissionChanges, write_submissions

_encode = msgspec.json.Encoder().encode


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    #: The last revision read from the change feed.
    revision: int = 0
    #: When that was known to be the latest revision, in microseconds; 0 for never.
    current_at: int = 0
    #: The feed's checkpoint at that revision, to detect a restored database.
    checkpoint: str = ""
    #: Whether all records were read at least once.
    is_built: bool = False


class IndexFile:
    def __init__(
        self,
        connections: Connections,
        progress: Progress,
        search_process: SearchProcess | None = None,
    ) -> None:
        self.connections = connections
        self.search_process = search_process
        self.progress = progress
        #: Increases when a write may change which skills a query finds.
        self.skills_changed = 0
        #: Increases when any skill is written.
        self.skills_written = 0

    async def write(
        self,
        progress: Progress | None = None,
        *,
        skills: SkillChanges | None = None,
        submissions: SubmissionChanges | None = None,
    ) -> None:
        """Write changes and progress in one transaction."""

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

    async def delete_events(self) -> None:
        await self.connections.write(lambda connection: connection.execute(WRITE["delete_events"]))

    async def begin_fill(self) -> None:
        """Tune the index for filling."""

        def work(connection: apsw.Connection) -> None:
            connection.execute(f"PRAGMA cache_size = -{FILLING_CACHE}")
            connection.execute(WRITE["gather"])

        await self.connections.write(work)

    async def finish_fill(self) -> None:
        """Merge the full-text indexes after filling, and tune them for searching."""

        def work(connection: apsw.Connection) -> None:
            connection.execute(WRITE["join"])
            connection.execute(f"PRAGMA cache_size = -{CACHE}")
            connection.execute("PRAGMA shrink_memory")

        await self.connections.write(work)

    async def compact(self) -> None:
        """Make the file smaller after filling, because rows were not written ordered by id."""
        await self.connections.compact()

    async def slugs_between(self, after: str, through: str | None) -> set[str]:
        return await self._names("slugs_between", after=after, through=through)

    async def submissions_between(self, after: str, through: str | None) -> set[str]:
        return await self._names("submissions_between", after=after, through=through)

    async def slugs_of_submissions(self, submission_ids: Iterable[str]) -> set[str]:
        wanted = _encode([submission_key(one) for one in submission_ids]).decode()
        return await self._names("slugs_of_submissions", keys=wanted)

    async def some_slugs(self, *, after: str, limit: int) -> list[str]:
        return sorted(await self._names("some_slugs", after=after, limit=limit))

    async def close(self) -> None:
        """Finish running queries and close the file."""
        if self.search_process:
            await self.search_process.close()
        await work_in_thread(self.connections.close)

    async def _names(self, query: str, **bindings: Any) -> set[str]:
        return await self.connections.read(
            lambda connection: {name for (name,) in connection.execute(WRITE[query], bindings)}
        )


async def open_index_file(path: Path, *, has_search_process: bool = False) -> IndexFile:
    """Open or create the index file at *path*; raises Damaged if it cannot be used."""
    connections = await open_connections(path)
    revision, current_at, checkpoint, is_built = await connections.read(
        lambda connection: one_row(connection, "read_state")
    )
    return IndexFile(
        connections,
        Progress(
            revision=revision,
            current_at=current_at,
            checkpoint=checkpoint,
            is_built=bool(is_built),
        ),
        SearchProcess(path) if has_search_process else None,
    )
