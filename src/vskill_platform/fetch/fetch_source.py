"""Fetch a source into a private, temporary snapshot."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.errors import SourceRefused
from vskill_platform.fetch.allowed_sources import Reach, find_local, reach_of, why_not_local
from vskill_platform.fetch.archive import unpack
from vskill_platform.fetch.mirrors.fetch_mirrored import fetch_mirrored
from vskill_platform.fetch.pack import pack_contents
from vskill_platform.fetch.repo import check_entries, open_repo
from vskill_platform.fetch.snapshot import (
    Listing,
    Snapshot,
    copy_files,
    digest_of,
    list_folder,
)
from vskill_platform.fetch.workspace import Workspace, open_workspace, planned_workspace
from vskill_platform.model.source import Source, SourceKind
from vskill_platform.stores.blob_store import save_kept
from vskill_platform.stores.db import bound_env, get_settings
from vskill_platform.stores.upload_store import get_upload

#: Sources up to this size are packed while they are copied, which is cheaper than another thread
#: call.
PACKED_ON_THE_WAY = 64 * 1024


class _Origin(msgspec.Struct, frozen=True):
    """The folder that a snapshot is taken from."""

    folder: Path
    commit_sha: str | None = None
    tree_sha: str | None = None


@asynccontextmanager
async def fetched_in_turn(source: Source, *, group: str) -> AsyncIterator[Snapshot]:
    """Fetch a skill; raise if the concurrency limit of its host or *group* is reached."""
    async with AsyncExitStack() as files:
        with bound_env().fetch_limits.turn(source.remote_host, group):
            snapshot = await files.enter_async_context(fetched(source))
        yield snapshot


@asynccontextmanager
async def fetched(source: Source) -> AsyncIterator[Snapshot]:
    """Fetch a skill into a folder that only this process can read."""
    reach = reach_of(get_settings())
    if source.kind is SourceKind.FOLDER:
        async with planned_workspace() as planned:
            yield await work_in_thread(_copy_folder, source, reach, planned)
        return
    async with open_workspace() as workspace:
        if source.kind is SourceKind.GIT:
            origin = await _fetch_repo(source, workspace, reach)
        elif source.kind is SourceKind.MIRROR:
            origin = _Origin(await fetch_mirrored(source, workspace, reach))
        else:
            origin = await _fetch_upload(source, workspace)
        yield await work_in_thread(_copy_tree, source, origin, workspace / "skill")


def _copy_folder(source: Source, reach: Reach, planned: Workspace) -> Snapshot:
    """Do all file access in one thread call, because any of it may block."""
    root = find_local(Path(source.url), reach)
    if root is None:
        raise SourceRefused(why_not_local(Path(source.url)))
    origin = _Origin(inside(root, source.path) if source.path else root)
    if not origin.folder.is_dir():
        raise SourceRefused("the folder no longer exists or is not a folder")
    listing = list_folder(origin.folder)
    return _take(origin, listing, source, planned.place(listing))


def _copy_tree(source: Source, origin: _Origin, folder: Path) -> Snapshot:
    return _take(origin, list_folder(origin.folder), source, folder)


def _take(origin: _Origin, listing: Listing, source: Source, folder: Path) -> Snapshot:
    """Copy the files and, if they are small, pack them: most small skills get published."""
    is_small = listing.size <= PACKED_ON_THE_WAY
    copies = copy_files(listing, folder, keep=is_small)
    return Snapshot(
        folder=folder,
        folder_name=source.folder_name,
        files=copies.files,
        digest=digest_of(copies.files),
        commit_sha=origin.commit_sha,
        tree_sha=origin.tree_sha,
        packed=pack_contents(copies.files, copies.contents) if is_small else None,
    )


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
        raise SourceRefused("the upload is no longer stored; upload the files again")
    archive, folder = workspace / "upload.tar.gz", workspace / "tree"
    await save_kept(content, archive)
    await work_in_thread(unpack, archive, folder)
    return _Origin(folder)


def inside(root: Path, path: str) -> Path:
    """Return the folder at *path*; refuse a symbolic link that points outside *root*."""
    real = Path(os.path.realpath(root))
    if not real.is_dir():
        raise SourceRefused("the folder no longer exists or is not a folder")
    origin = (real / path).resolve()
    if not origin.is_relative_to(real):
        raise SourceRefused(f"{path!r} points outside the repo or folder")
    if not origin.is_dir():
        raise SourceRefused(f"there is no folder {path!r} in it")
    return origin
