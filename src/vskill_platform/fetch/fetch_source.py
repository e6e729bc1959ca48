"""From a source to a snapshot in a private folder that is gone afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from vskill_platform.errors import SourceRefused
from vskill_platform.fetch.git import clone
from vskill_platform.fetch.snapshot import Snapshot, take_snapshot
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.model.source import Source, SourceKind


@asynccontextmanager
async def fetched(source: Source) -> AsyncIterator[Snapshot]:
    """Fetch a skill once; everything of it lies in one folder that only we can read."""
    with open_workspace() as workspace:
        commit_sha = None
        if source.kind is SourceKind.GIT:
            root = workspace / "repo"
            commit_sha = await clone(source.url, root)
        else:
            root = Path(source.url)
        origin = _inside(root, source.path)
        yield await asyncio.to_thread(
            take_snapshot,
            origin,
            workspace / "skill",
            folder_name=source.folder_name,
            commit_sha=commit_sha,
        )


def _inside(root: Path, path: str) -> Path:
    """Return the folder at *path*; a link on the way must not lead out of *root*."""
    if not root.is_dir():
        raise SourceRefused(f"{root} is not a folder")
    origin = (root / path).resolve()
    if not origin.is_relative_to(root.resolve()):
        raise SourceRefused(f"{path!r} leads out of the repo or folder")
    if not origin.is_dir():
        raise SourceRefused(f"there is no folder {path!r} in it")
    return origin
