"""Checking a repo remotely: whether it exists, its age, and the state of its folders."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from vskill_platform.errors import SourceError, SourceRefused
from vskill_platform.fetch.reach import Reach
from vskill_platform.fetch.repo import Repo, open_repo
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.model.source import Source

#: How git passes on that a host knows no such repo. Many answer 401, so that nobody learns which
#: private ones there are. A 403 is none of these: hosts say it to whom they find too busy.
_MISSING = re.compile(
    r"repository '[^']*' not found|[Rr]epository not found|returned error: (?:401|404|410)\b"
    r"|could not read Username"
)


class RepoAnswer(StrEnum):
    THERE = "there"
    MISSING = "missing"  #: the host says that there is no such repo
    NONE = "none"  #: nobody knows: the host, the network or we had a problem


class RepoProbe(msgspec.Struct, frozen=True, kw_only=True):
    answer: RepoAnswer
    committed_at: datetime | None = None
    #: What git calls the state of each folder; None for one that is not there.
    trees: dict[str, str | None] = msgspec.field(default_factory=dict)
    note: str = ""


async def probe_repo(source: Source, paths: Collection[str], reach: Reach) -> RepoProbe:
    """Look at the newest commit of a repo; no file of it is fetched, and nothing is raised."""
    try:
        return await _look(source, paths, reach)
    except SourceRefused as error:
        if is_missing(error, source) or not source.ref:
            return _nothing(error, source)
    except SourceError as error:
        return _nothing(error, source)
    # The branch or tag may be gone while the repo is not.
    try:
        return await _look(msgspec.structs.replace(source, ref=""), (), reach)
    except SourceError as error:
        return _nothing(error, source)


def is_missing(error: SourceError, source: Source) -> bool:
    """Tell whether a host has said that the repo is not there; a disk may just be unplugged."""
    return source.url.startswith(("https://", "http://")) and bool(_MISSING.search(str(error)))


async def _look(source: Source, paths: Collection[str], reach: Reach) -> RepoProbe:
    async with open_workspace() as workspace, open_repo(source, workspace, reach) as repo:
        return RepoProbe(
            answer=RepoAnswer.THERE,
            committed_at=_moment(await repo.commit_time()),
            trees={path: await _tree(repo, path) for path in paths},
        )


async def _tree(repo: Repo, path: str) -> str | None:
    try:
        return await repo.tree_sha(path)
    except SourceRefused:
        return None


def _moment(seconds: int) -> datetime | None:
    """Read what the author of a commit claims; it may be any number."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _nothing(error: SourceError, source: Source) -> RepoProbe:
    answer = RepoAnswer.MISSING if is_missing(error, source) else RepoAnswer.NONE
    return RepoProbe(answer=answer, note=str(error))
