"""From a source to a snapshot in a private folder that is gone afterwards."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from vskill_platform.base.work_in_thread import work_in_thread
from vskill_platform.errors import SourceRefused
from vskill_platform.fetch.archive import unpack
from vskill_platform.fetch.reach import Reach, reach_of, why_out_of_reach
from vskill_platform.fetch.repo import check_entries, open_repo
from vskill_platform.fetch.snapshot import Snapshot, take_snapshot
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.model.source import Source, SourceKind
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.upload_store import get_upload


class _Origin(msgspec.Struct, frozen=True):
    """Where the files lie that the snapshot is taken of."""

    folder: Path
    commit_sha: str | None = None
    tree_sha: str | None = None


@asynccontextmanager
async def fetched(source: Source) -> AsyncIterator[Snapshot]:
    """Fetch a skill once; everything of it lies in one folder that only we can read."""
    reach = reach_of(get_settings())
    async with open_workspace() as workspace:
        origin = await _fetch(source, workspace, reach)
        yield await work_in_thread(
            take_snapshot,
            origin.folder,
            workspace / "skill",
            folder_name=source.folder_name,
            commit_sha=origin.commit_sha,
            tree_sha=origin.tree_sha,
        )


async def _fetch(source: Source, workspace: Path, reach: Reach) -> _Origin:
    if source.kind is SourceKind.GIT:
        return await _fetch_repo(source, workspace, reach)
    if source.kind is SourceKind.UPLOAD:
        return await _fetch_upload(source, workspace)
    if reason := why_out_of_reach(source, reach):
        raise SourceRefused(reason)
    return _Origin(inside(Path(source.url), source.path))


async def _fetch_repo(source: Source, workspace: Path, reach: Reach) -> _Origin:
    async with open_repo(source, workspace, reach) as repo:
        tree = await repo.tree_sha(source.path)
        entries = await repo.list_entries(tree)
        check_entries(entries)
        await repo.export(entries, workspace / "tree")
        return _Origin(workspace / "tree", repo.commit_sha, tree)


async def _fetch_upload(source: Source, workspace: Path) -> _Origin:
    content = await get_upload(source.upload_sha256)
    if content is None:
        raise SourceRefused("the upload is no longer kept; hand the files in again")
    archive, folder = workspace / "upload.tar.gz", workspace / "tree"
    await work_in_thread(archive.write_bytes, content)
    await work_in_thread(unpack, archive, folder)
    return _Origin(folder)


def inside(root: Path, path: str) -> Path:
    """Return the folder at *path*; a link on the way must not lead out of *root*."""
    if not root.is_dir():
        raise SourceRefused(f"{root} is not a folder")
    origin = (root / path).resolve()
    if not origin.is_relative_to(root.resolve()):
        raise SourceRefused(f"{path!r} leads out of the repo or folder")
    if not origin.is_dir():
        raise SourceRefused(f"there is no folder {path!r} in it")
    return origin
