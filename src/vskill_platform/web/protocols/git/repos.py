"""The cache of bare git repositories on disk, one for each state of a skill's repository.

A folder of the cache contains one state of a repository and never changes. Its name is a digest of
the slug and of all branches and tags, so a new version or a block leads to another folder, and
several processes can share the cache. docs/decisions/0027-git-repositories.md explains the design.
"""

import asyncio
import os
import shutil
import time
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import VskillError
from vskill_platform.fetch.temporary_folders import new_workspace
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.runtime.cache_folder import cache_path
from vskill_platform.settings import Settings
from vskill_platform.web.protocols.git.build_repo import INDEX, PACK, PackReader, RepoBuild
from vskill_platform.web.protocols.git.repo_state import RepoState, digest_of, find_state

log = get_logger(__name__)

_CACHE = ".git-cache"
#: How many repositories may be built ahead of the request that needs them.
_MAX_AHEAD = 4
#: A folder that was used within the last minutes may still be in use.
_IN_USE_SECONDS = 300


class GitRepos:
    """The cache of one process; other processes may use the same folder."""

    def __init__(self) -> None:
        self._builds: dict[Path, RepoBuild] = {}
        self._states: dict[PublishedSkill, asyncio.Task[RepoState]] = {}
        self._ahead: set[asyncio.Task[None]] = set()
        self._pruning: asyncio.Task[None] | None = None

    def build_ahead(self, skill: PublishedSkill, settings: Settings) -> None:
        """Start to build a repository that will soon be requested, if few others are."""
        if len(self._ahead) < _MAX_AHEAD:
            task = asyncio.create_task(self._build_ahead(skill, settings))
            self._ahead.add(task)
            task.add_done_callback(self._ahead.discard)

    async def _build_ahead(self, skill: PublishedSkill, settings: Settings) -> None:
        try:
            await self.open(await self.find_state(skill), settings)
        except VskillError as error:  # the request will report it
            log.info("repository not built ahead", slug=skill.slug, error=str(error))

    async def find_state(self, skill: PublishedSkill) -> RepoState:
        """Return the state of a repository; concurrent requests share the result."""
        if skill not in self._states:
            task = self._states[skill] = asyncio.create_task(find_state(skill))
            task.add_done_callback(partial(self._forget_state, skill))
        return await asyncio.shield(self._states[skill])

    def _forget_state(self, skill: PublishedSkill, found: asyncio.Task[RepoState]) -> None:
        del self._states[skill]
        if not found.cancelled():
            found.exception()  # it was raised for the callers that waited

    async def open(self, state: RepoState, settings: Settings) -> Path:
        """Return the folder of a repository; build it if it does not exist."""
        folder = cache_folder(settings) / state.folder_name
        if build := await self._find_build(state, folder, settings):
            await build.wait()
        return folder

    async def open_pack(self, state: RepoState, settings: Settings) -> PackReader:
        """Return the pack of a repository, which may still be being written."""
        folder = cache_folder(settings) / state.folder_name
        if build := await self._find_build(state, folder, settings):
            return await build.open_pack()
        return PackReader((folder / PACK).open("rb", buffering=0))

    async def _find_build(
        self, state: RepoState, folder: Path, settings: Settings
    ) -> RepoBuild | None:
        """Return None if the repository is complete."""
        if folder not in self._builds and await work_in_thread(_touch, folder):
            return None
        if folder not in self._builds:
            build = self._builds[folder] = RepoBuild(state, folder)
            build.task.add_done_callback(partial(self._forget, folder, settings.git_cache_bytes))
        return self._builds[folder]

    def _forget(self, folder: Path, max_bytes: int, built: asyncio.Task[None]) -> None:
        del self._builds[folder]
        is_built = not built.cancelled() and built.exception() is None
        if is_built and (self._pruning is None or self._pruning.done()):
            # After the response, because this examines all repositories.
            self._pruning = asyncio.create_task(_prune_later(folder, max_bytes))


async def _prune_later(newest: Path, max_bytes: int) -> None:
    try:
        await work_in_thread(_prune, newest, max_bytes)
    except OSError as error:  # the next built repository tries again
        log.warning("git cache not pruned", folder=str(newest.parent), error=str(error))


def cache_folder(settings: Settings) -> Path:
    folder = cache_path(settings, _CACHE)
    if folder is None:  # without a cache folder, this process has its own cache
        return _process_folder() / digest_of(settings.database_url.encode())
    return folder


@cache
def _process_folder() -> Path:
    return new_workspace()


def _touch(folder: Path) -> bool:
    """Mark a repository as used; return whether it exists. One without its pack is removed."""
    try:
        os.utime(folder)
        is_whole = all((folder / name).stat().st_size for name in (PACK, INDEX))
    except FileNotFoundError:
        is_whole = False
    if not is_whole:
        shutil.rmtree(folder, ignore_errors=True)
    return is_whole


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
    """Return the folders and when they were last used; other processes may remove some."""
    found = []
    for entry in parent.iterdir():
        with suppress(FileNotFoundError):
            found.append((entry.stat().st_mtime, entry))
    return found


def _size(folder: Path) -> int:
    try:
        return (folder / PACK).stat().st_size + (folder / INDEX).stat().st_size
    except FileNotFoundError:
        return 0
