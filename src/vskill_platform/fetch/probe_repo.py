"""Check a repo remotely: whether it exists, its last commit and the tree ids of its folders."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from vskill_platform.errors import SourceError, SourceRefused
from vskill_platform.fetch.allowed_sources import Reach
from vskill_platform.fetch.repo import Repo, open_repo
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.model.source import Source

#: Git's messages for a missing repo. Many hosts answer 401, to not reveal which private repos
#: exist. A 403 is not included: hosts also use it for rate limits.
_MISSING = re.compile(
    r"repository '[^']*' not found|[Rr]epository not found|returned error: (?:401|404|410)\b"
    r"|could not read Username"
)


class ProbeResult(StrEnum):
    FOUND = "found"
    MISSING = "missing"  #: the host says that the repo does not exist
    NONE = "none"  #: unknown: the probe failed


class RepoProbe(msgspec.Struct, frozen=True, kw_only=True):
    result: ProbeResult
    committed_at: datetime | None = None
    #: Git's tree id of each folder; None if the folder does not exist.
    trees: dict[str, str | None] = msgspec.field(default_factory=dict)
    note: str = ""


async def probe_repo(source: Source, paths: Collection[str], reach: Reach) -> RepoProbe:
    """Inspect the latest commit of a repo without fetching files; does not raise."""
    try:
        return await _probe(source, paths, reach)
    except SourceRefused as error:
        if is_missing(error, source) or not source.ref:
            return _nothing(error, source)
    except SourceError as error:
        return _nothing(error, source)
    # The branch or tag may have been deleted although the repo exists.
    try:
        return await _probe(msgspec.structs.replace(source, ref=""), (), reach)
    except SourceError as error:
        return _nothing(error, source)


def is_missing(error: SourceError, source: Source) -> bool:
    """Return whether a host reported the repo as missing; a local repo may just be unmounted."""
    return source.url.startswith(("https://", "http://")) and bool(_MISSING.search(str(error)))


async def _probe(source: Source, paths: Collection[str], reach: Reach) -> RepoProbe:
    async with open_workspace() as workspace, open_repo(source, workspace, reach) as repo:
        return RepoProbe(
            result=ProbeResult.FOUND,
            committed_at=_moment(await repo.commit_time()),
            trees={path: await _tree(repo, path) for path in paths},
        )


async def _tree(repo: Repo, path: str) -> str | None:
    try:
        return await repo.tree_sha(path)
    except SourceRefused:
        return None


def _moment(seconds: int) -> datetime | None:
    """Parse a commit's timestamp, which its author can set to any number."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _nothing(error: SourceError, source: Source) -> RepoProbe:
    result = ProbeResult.MISSING if is_missing(error, source) else ProbeResult.NONE
    return RepoProbe(result=result, note=str(error))
