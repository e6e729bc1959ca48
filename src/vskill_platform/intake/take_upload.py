"""Accept uploaded files: check them, pack them to reproducible bytes, and choose a name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from vskill_platform.base.killable_process import BROKE_DOWN, run_for_visitor
from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.errors import SourceRefused
from vskill_platform.fetch.archive import MAX_RATIO, is_archive, root_of, stem_of, unpack
from vskill_platform.fetch.fetch_source import inside
from vskill_platform.fetch.pack import pack
from vskill_platform.fetch.snapshot import MAX_SOURCE_BYTES, take_snapshot
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.model.source import LOCAL_NAMESPACE, Source, upload_source
from vskill_platform.scan.read.manifest import check_manifest


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    source: Source
    content: bytes


class Unpacked(msgspec.Struct, frozen=True, kw_only=True):
    """The unpacked files of an archive."""

    root: Path
    #: The name of the root: that of its single folder, its manifest, or the archive.
    name: str


async def take_folder(folder: Path, *, name: str = "", namespace: str = LOCAL_NAMESPACE) -> Upload:
    """Pack a folder's files; by default the folder's name is the skill's."""
    name = name or await work_in_thread(lambda: folder.resolve().name)
    async with open_workspace() as workspace:
        snapshot = await work_in_thread(
            take_snapshot, folder, workspace / "skill", folder_name=name
        )
        packed = await work_in_thread(pack, snapshot.folder, snapshot.files)
    source = upload_source(name, packed.sha256, namespace=namespace)
    return Upload(source=source, content=packed.content)


async def take_archive(
    content: bytes, *, filename: str, path: str = "", namespace: str = LOCAL_NAMESPACE
) -> Upload:
    """Repack the files of an archive, and drop everything else."""
    async with unpacked(content, filename=filename) as files:
        folder = inside(files.root, path)
        name = folder.name if path else files.name
        return await take_folder(folder, name=name, namespace=namespace)


async def read_archive(path: Path) -> bytes:
    """Return the content of a local file; refuse one that is too large, without reading it."""

    def read() -> bytes:
        if path.stat().st_size > MAX_SOURCE_BYTES:
            raise SourceRefused(f"{path.name!r} has more than {MAX_SOURCE_BYTES:,} bytes")
        return path.read_bytes()

    return await work_in_thread(read)


@asynccontextmanager
async def unpacked(content: bytes, *, filename: str) -> AsyncIterator[Unpacked]:
    """Unpack an archive to a private folder, in a process with limits."""
    name = Path(filename)
    if not is_archive(name):
        raise SourceRefused(f"{name.name!r} is not an archive (.zip, .tar.gz, .tgz)")
    if len(content) > MAX_SOURCE_BYTES:
        raise SourceRefused(f"the archive has more than {MAX_SOURCE_BYTES:,} bytes")
    async with open_workspace() as workspace:
        archive = workspace / f"upload{name.name.removeprefix(stem_of(name)).lower()}"
        await work_in_thread(archive.write_bytes, content)
        try:
            unpacked = await run_for_visitor(_unpack, archive, workspace / "files")
        except BROKE_DOWN as error:
            raise SourceRefused("unpacking the archive takes too much time or memory") from error
        root = root_of(workspace / "files")
        own_name = root.name if root != workspace / "files" else unpacked
        yield Unpacked(root=root, name=own_name or stem_of(name))


def _unpack(archive: Path, folder: Path) -> str | None:
    """Unpack, and return the skill's name in the manifest at the root; runs in the process."""
    unpack(archive, folder, max_ratio=MAX_RATIO)
    manifest, _ = check_manifest(folder, None)
    return manifest.name if manifest else None
