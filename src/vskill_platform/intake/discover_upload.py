"""What somebody has handed in: an archive, or the files of a folder one by one."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath

from vskill_platform.base.work_in_thread import work_in_thread
from vskill_platform.errors import SourceRefused
from vskill_platform.fetch.archive import root_of
from vskill_platform.fetch.file_names import Names
from vskill_platform.fetch.snapshot import MAX_FILES, MAX_TOTAL_BYTES
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.intake.discover import Discovery, look_through_files
from vskill_platform.intake.take_upload import unpacked

#: What a folder is called whose files were handed in without it.
_UNNAMED = "skill"


@asynccontextmanager
async def discovered_archive(
    content: bytes, *, filename: str, namespace: str
) -> AsyncIterator[Discovery]:
    """Look through an archive; its files are there until this is left."""
    async with unpacked(content, filename=filename) as files:
        yield await look_through_files(files.root, files.name, namespace=namespace)


@asynccontextmanager
async def discovered_files(
    files: Sequence[tuple[str, bytes]], *, namespace: str
) -> AsyncIterator[Discovery]:
    """Look through files with their paths, as a browser sends a folder that was chosen."""
    _check(files)
    async with open_workspace() as workspace:
        folder = workspace / "files"
        await work_in_thread(_write, folder, files)
        root = root_of(folder)
        name = root.name if root != folder else _UNNAMED
        yield await look_through_files(root, name, namespace=namespace)


def _check(files: Sequence[tuple[str, bytes]]) -> None:
    if not files:
        raise SourceRefused("no file was handed in")
    if len(files) > MAX_FILES:
        raise SourceRefused(f"there are more than {MAX_FILES:,} files in it")
    if sum(len(content) for _, content in files) > MAX_TOTAL_BYTES:
        raise SourceRefused(f"the files have more than {MAX_TOTAL_BYTES:,} bytes")
    names = Names()
    paths = [path for path, _ in files]
    for path in paths:
        names.add(path)
    if len(set(paths)) < len(paths):
        raise SourceRefused("a file is in it twice")
    folders = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
    if folders & set(paths):
        raise SourceRefused("a name is a file and a folder at once")


def _write(folder: Path, files: Sequence[tuple[str, bytes]]) -> None:
    """Write the checked names; nothing of a file but its bytes is taken over."""
    folder.mkdir(mode=0o700)
    for path, content in files:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with place.open("xb") as file:
            file.write(content)
