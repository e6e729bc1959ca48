"""Bare git repositories of skills, built from the stored archives and cached on disk.

A folder of the cache contains one state of a repository and never changes. Its name is a digest of
the slug and of all branches and tags, so a new version or a block leads to another folder, and
several processes can share the cache. docs/decisions/0027-git-repositories.md explains the design.
"""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from functools import cache, partial
from itertools import chain
from pathlib import Path
from weakref import WeakValueDictionary

from vskill_platform.base.off_loop import in_few_threads, work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import NotFound, OutOfResources, RecordMalformed, VskillError
from vskill_platform.fetch.temporary_folders import new_workspace
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.publish.versions.artifact_digests import (
    git_version,
)
from vskill_platform.publish.versions.git_objects import GitObject, PackWriter, pack_objects
from vskill_platform.runtime.cache_folder import cache_path
from vskill_platform.settings import Settings
from vskill_platform.stores.version_store import get_archive
from vskill_platform.web.protocols.git.repo_state import BRANCH, RepoState, digest_of, find_state

log = get_logger(__name__)

_CACHE = ".git-cache"
PACK = "objects/pack/pack-1.pack"
_INDEX = "objects/pack/pack-1.idx"
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = true
[uploadpack]
\tallowAnySHA1InWant = true
\tallowFilter = true
[pack]
\tthreads = 1
\twindow = 0
[gc]
\tauto = 0
"""
#: How many repositories are built before the request that needs them.
_MAX_AHEAD = 4
#: How many versions are in memory at once, and how many bytes of files unless one has more.
_AT_ONCE, _AT_ONCE_BYTES = 8, 16 * 1024 * 1024
#: A folder that was used in the last minutes may be in use.
_IN_USE_SECONDS = 300


#: A version, and the commit before it.
_Placed = tuple[SkillVersion, str | None]


class GitRepos:
    """The cache of one process; other processes may use the same folder."""

    def __init__(self) -> None:
        self._building: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._ahead: set[asyncio.Task[None]] = set()
        self._pruning: asyncio.Task[None] | None = None

    def build_ahead(self, skill: PublishedSkill, settings: Settings) -> None:
        """Start to build a repository that will be requested in a moment, if few others are."""
        if len(self._ahead) < _MAX_AHEAD:
            task = asyncio.create_task(self._build_ahead(skill, settings))
            self._ahead.add(task)
            task.add_done_callback(self._ahead.discard)

    async def _build_ahead(self, skill: PublishedSkill, settings: Settings) -> None:
        try:
            await self.open(await find_state(skill), settings)
        except VskillError as error:  # the request itself will report it
            log.info("repository not built ahead", slug=skill.slug, error=str(error))

    async def open(self, state: RepoState, settings: Settings) -> Path:
        """Return the folder of a repository; build it if it is not there."""
        folder = cache_folder(settings) / state.folder_name
        lock = self._building.setdefault(state.folder_name, asyncio.Lock())
        async with lock:
            is_there = await work_in_thread(_touch, folder)
            if not is_there:
                await _build(state, folder)
        if not is_there and (self._pruning is None or self._pruning.done()):
            # Not before the answer: it looks at all repositories.
            self._pruning = asyncio.create_task(_prune_later(folder, settings.git_cache_bytes))
        return folder


async def _prune_later(newest: Path, max_bytes: int) -> None:
    try:
        await work_in_thread(_prune, newest, max_bytes)
    except OSError as error:  # the next repository that is built tries again
        log.warning("git cache not pruned", folder=str(newest.parent), error=str(error))


def cache_folder(settings: Settings) -> Path:
    folder = cache_path(settings, _CACHE)
    if folder is None:  # there is no place for it, so this process has its own cache
        return _process_folder() / digest_of(settings.database_url.encode())
    return folder


@cache
def _process_folder() -> Path:
    return new_workspace()


async def _build(state: RepoState, folder: Path) -> None:
    """Build it under another name, so that no one sees a part."""
    async with AsyncExitStack() as undo:
        made = await work_in_thread(_make_folder, folder)
        undo.push_async_callback(work_in_thread, shutil.rmtree, made, ignore_errors=True)
        with (made / PACK).open("w+b") as file:
            writer = PackWriter(file)
            for versions in _batches(zip(state.versions, state.parents, strict=True)):
                await _add_versions(writer, versions)
            if await work_in_thread(_finish, writer, state, made, folder):
                undo.pop_all()


def _batches(versions: Iterable[_Placed]) -> Iterator[list[_Placed]]:
    """Yield the versions in groups whose files fit into memory."""
    batch: list[_Placed] = []
    room = _AT_ONCE_BYTES
    for placed in versions:
        size = sum(file.size for file in placed[0].files)
        if batch and (size > room or len(batch) == _AT_ONCE):
            yield batch
            batch, room = [], _AT_ONCE_BYTES
        batch.append(placed)
        room -= size
    yield batch


async def _archive_of(version: SkillVersion) -> bytes:
    archive = await get_archive(version.archive_sha256)
    if archive is None:
        raise NotFound(f"the archive of {version.slug} {version.version} is no longer stored")
    return archive


async def _add_versions(writer: PackWriter, versions: Sequence[_Placed]) -> None:
    found = await asyncio.gather(*(_objects_of(*placed) for placed in versions))
    new = writer.find_new(chain.from_iterable(found))
    halves = new[::2], new[1::2]
    packed = await asyncio.gather(*(in_few_threads(pack_objects, half) for half in halves))
    await work_in_thread(writer.write, chain.from_iterable(packed))


async def _objects_of(version: SkillVersion, parent: str | None) -> list[GitObject]:
    archive = await _archive_of(version)
    made = await in_few_threads(partial(git_version, version, archive, parent=parent))
    if (made.commit, made.plugin_commit) != (version.git_commit, version.plugin_commit):
        raise RecordMalformed(
            f"the commit of {version.slug} {version.version} is {made.commit}, not "
            f"{version.git_commit}"
        )
    return made.objects


def _finish(writer: PackWriter, state: RepoState, made: Path, folder: Path) -> bool:
    """Complete it and give it its name; return whether no other process was faster."""
    (made / _INDEX).write_bytes(writer.finish())
    (made / "HEAD").write_text(f"ref: {BRANCH}\n")
    (made / "config").write_text(_CONFIG)
    lines = [f"{commit} {name}\n" for name, commit in state.refs]
    (made / "packed-refs").write_text("".join(["# pack-refs with: sorted\n", *lines]))
    if state.cut:
        (made / "shallow").write_text("".join(f"{commit}\n" for commit in state.cut))
    return _rename(made, folder)


def _make_folder(folder: Path) -> Path:
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
        (made / "objects/pack").mkdir(parents=True)
        (made / "refs").mkdir()
    except OSError as error:
        raise OutOfResources(f"{folder.parent}: {error.strerror}") from error
    return made


def _rename(made: Path, folder: Path) -> bool:
    try:
        made.rename(folder)
    except OSError:
        if folder.is_dir():
            return False
        raise
    return True


def _touch(folder: Path) -> bool:
    """Mark a folder as used; return whether it exists."""
    try:
        os.utime(folder)
    except FileNotFoundError:
        return False
    return True


def _prune(newest: Path, max_bytes: int) -> None:
    """Remove older states of the same repository, then the least recently used folders."""
    own, _, _ = newest.name.partition("-")
    now, room = time.time(), max_bytes
    for used, folder in sorted(_list_folders(newest.parent), reverse=True):
        room -= _size(folder)
        is_old = room < 0 or folder.name.startswith((f"{own}-", "new-"))
        if folder != newest and is_old and now - used > _IN_USE_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def _list_folders(parent: Path) -> list[tuple[float, Path]]:
    """Return the folders with when they were last used; another process may remove some."""
    found = []
    for entry in parent.iterdir():
        with suppress(FileNotFoundError):
            found.append((entry.stat().st_mtime, entry))
    return found


def _size(folder: Path) -> int:
    try:
        return (folder / PACK).stat().st_size + (folder / _INDEX).stat().st_size
    except FileNotFoundError:
        return 0
