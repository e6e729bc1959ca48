"""Build a bare git repository from the stored archives of a skill; its pack can be sent meanwhile.

Nothing is sent before every version was compared with its commit. Then the number of objects is
known, which is at the start of a pack, and git reads some objects while others are compressed.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO

import anyio

from vskill_platform.base.durable_files import sync_tree
from vskill_platform.base.off_loop import in_few_threads, work_in_thread
from vskill_platform.base.settle import settle
from vskill_platform.errors import NotFound, OutOfResources, RecordMalformed
from vskill_platform.model.skill import SkillVersion
from vskill_platform.publish.versions.artifact_digests import git_version
from vskill_platform.publish.versions.git_objects import GitObject, PackWriter
from vskill_platform.stores.version_store import get_archive
from vskill_platform.web.protocols.git.repo_state import BRANCH, RepoState

PACK = "objects/pack/pack-1.pack"
INDEX = "objects/pack/pack-1.idx"
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
#: The maximum number of versions in memory, and of bytes unless one version has more.
_AT_ONCE, _AT_ONCE_BYTES = 8, 16 * 1024 * 1024
#: How many bytes are compressed before they are written and sent.
_GROUP_BYTES = 64 * 1024
#: How many groups are compressed at once.
_THREADS = 2
#: How many repositories are built at once: files of each are in memory.
_BUILDS = anyio.CapacityLimiter(4)


#: A version and its parent commit.
_Placed = tuple[SkillVersion, str | None]


class RepoBuild:
    """A repository that is being built in a task of its own, because many may wait for it."""

    def __init__(self, state: RepoState, folder: Path) -> None:
        self._state = state
        self._folder = folder
        self._file: IO[bytes] | None = None
        #: How much of the pack can be sent, and whether it is complete.
        self._size, self._is_whole = 0, False
        self._grown = asyncio.Event()
        self.task = asyncio.create_task(self._run())
        self.task.add_done_callback(lambda _: self._wake())

    async def wait(self) -> None:
        """Wait until the repository is complete."""
        await asyncio.shield(self.task)

    async def open_pack(self) -> "PackReader":
        """Wait until the pack can be sent."""
        while not self._size and not self.task.done():
            await self._grown.wait()
        if self._file and not self._file.closed:
            return PackReader(os.fdopen(os.dup(self._file.fileno()), "rb", buffering=0), self)
        await self.wait()
        return PackReader((self._folder / PACK).open("rb", buffering=0))

    async def wait_for_more(self, size: int) -> int:
        """Wait until more than *size* bytes can be sent; return how many, or *size* at the end."""
        while self._size <= size and not self._is_whole:
            if self.task.done():
                self.task.result()  # raises the error
            await self._grown.wait()
        return self._size

    def _grow(self, size: int) -> None:
        # Threads may report out of order.
        self._size = max(self._size, size)
        self._wake()

    def _wake(self) -> None:
        self._grown.set()
        self._grown = asyncio.Event()

    async def _run(self) -> None:
        """Build it under another name, so that no one sees an incomplete repository."""
        async with _BUILDS, AsyncExitStack() as undo:
            # The archives are read while the folder is made.
            first, *more = _batches(zip(self._state.versions, self._state.parents, strict=True))
            objects = asyncio.ensure_future(_objects_of(first))
            undo.callback(objects.cancel)
            made = await work_in_thread(_make_folder, self._folder)
            undo.push_async_callback(work_in_thread, shutil.rmtree, made, ignore_errors=True)
            with (made / PACK).open("w+b") as self._file:
                writer = PackWriter(self._file)
                new = await objects
                for batch in more:
                    await self._write(writer, new)
                    new = await _objects_of(batch)
                await self._write(writer, new, is_last=True)
                index = await work_in_thread(writer.finish)
                self._is_whole = True
                self._grow(writer.size)
                is_first = await work_in_thread(_finish, index, self._state, made, self._folder)
            if is_first:
                undo.pop_all()

    async def _write(
        self, writer: PackWriter, objects: Iterable[GitObject], *, is_last: bool = False
    ) -> None:
        new = writer.find_new(objects)
        if is_last:
            self._grow(writer.write_header(len(new)))

        async def write(group: Sequence[GitObject]) -> None:
            size = await in_few_threads(writer.write, group)
            if is_last:
                self._grow(size)

        for error in await settle(write, _groups(new), at_once=_THREADS):
            if error:
                raise error


class PackReader:
    """A pack to send, even while it is still being written."""

    def __init__(self, file: IO[bytes], build: RepoBuild | None = None) -> None:
        self._file = file
        self._build = build

    def close(self) -> None:
        self._file.close()

    async def read(self, most: int) -> AsyncIterator[bytes]:
        """Yield it in pieces of at most this size, as soon as they are available."""
        at, size = 0, 0
        descriptor = self._file.fileno()
        if not self._build:
            size = os.fstat(descriptor).st_size
        while True:
            while piece := os.pread(descriptor, min(most, size - at), at):
                yield piece
                at += len(piece)
            if not self._build:
                return
            size = await self._build.wait_for_more(at)
            if size == at:
                return


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


def _groups(objects: Sequence[GitObject]) -> Iterator[list[GitObject]]:
    group: list[GitObject] = []
    size = 0
    for item in objects:
        group.append(item)
        size += len(item.content)
        if size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


async def _objects_of(batch: Iterable[_Placed]) -> list[GitObject]:
    found = await asyncio.gather(*(_version_objects(*placed) for placed in batch))
    return list(chain.from_iterable(found))


async def _version_objects(version: SkillVersion, parent: str | None) -> list[GitObject]:
    archive = await get_archive(version.archive_sha256)
    if archive is None:
        raise NotFound(f"the archive of {version.slug} {version.version} is no longer stored")
    made = await in_few_threads(partial(git_version, version, archive, parent=parent))
    if (made.commit, made.plugin_commit) != (version.git_commit, version.plugin_commit):
        raise RecordMalformed(
            f"the commit of {version.slug} {version.version} is {made.commit}, not "
            f"{version.git_commit}"
        )
    return made.objects


def _finish(index: bytes, state: RepoState, made: Path, folder: Path) -> bool:
    """Complete it and rename it; return False if another process was faster."""
    (made / INDEX).write_bytes(index)
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
    # A folder that exists counts as complete, so it must also be complete after a power cut.
    sync_tree(made)
    try:
        made.rename(folder)
    except OSError:
        if folder.is_dir():
            return False
        raise
    return True
