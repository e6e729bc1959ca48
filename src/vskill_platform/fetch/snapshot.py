"""Copy a skill's files once, so that exactly the scanned files are published."""

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from vskill_platform.errors import SourceRefused
from vskill_platform.fetch.file_names import Names
from vskill_platform.fetch.pack import Packed
from vskill_platform.model.skill import SkillFile

# Limits for hostile sources. They are higher than the limits for publishing: a skill that slightly
# exceeds those gets a finding instead of a refusal.
MAX_SOURCE_FILES = 5_000
MAX_SOURCE_BYTES = 64 * 1024 * 1024
_CHUNK = 1024 * 1024
_PAGE = 4096


class Listing(msgspec.Struct, frozen=True):
    """The files of a folder, without `.git`."""

    folder: str
    #: The paths of all files, relative to the folder.
    files: list[str]
    #: Their total size in bytes when they were listed.
    size: int


class Copies(msgspec.Struct, frozen=True):
    #: The manifest: each file with its size and sha256, ordered by path.
    files: tuple[SkillFile, ...]
    #: The content of each file, if requested.
    contents: tuple[bytes, ...]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    folder: Path
    #: The name of the source folder; None if it is not meaningful.
    folder_name: str | None
    #: The manifest: each file with its size and sha256, ordered by path.
    files: tuple[SkillFile, ...]
    #: Content digest: the same paths, bytes and modes give the same digest.
    digest: str
    commit_sha: str | None = None
    #: Git's tree id of the folder; known before any file is fetched.
    tree_sha: str | None = None
    #: The archive of its files, if they were small enough to pack while copying.
    packed: Packed | None = None


def take_snapshot(
    origin: Path, folder: Path, *, folder_name: str | None, commit_sha: str | None = None,
    tree_sha: str | None = None,
) -> Snapshot:  # fmt: skip
    """Copy the files of *origin* to the new *folder*; refuse links and special files."""
    files = copy_files(list_folder(origin), folder).files
    return Snapshot(
        folder=folder,
        folder_name=folder_name,
        files=files,
        digest=digest_of(files),
        commit_sha=commit_sha,
        tree_sha=tree_sha,
    )


def copy_files(listing: Listing, folder: Path, *, keep: bool = False) -> Copies:
    """Copy the listed files to the new *folder*; with *keep* also return their contents."""
    folder.mkdir(mode=0o700)
    files: list[SkillFile] = []
    contents: list[bytes] = []
    made = {""}
    room = MAX_SOURCE_BYTES
    for relative in sorted(listing.files):
        parent = relative.rpartition("/")[0]
        if parent not in made:
            (folder / parent).mkdir(parents=True, exist_ok=True)
            made.add(parent)
        kept: list[bytes] | None = [] if keep else None
        copied = _copy(f"{listing.folder}/{relative}", f"{folder}/{relative}", relative, room, kept)
        room -= copied.size
        files.append(copied)
        contents.append(b"".join(kept or ()))
    return Copies(tuple(files), tuple(contents) if keep else ())


def digest_of(files: Sequence[SkillFile]) -> str:
    """Return the content digest: the same paths, bytes and modes give the same digest."""
    lines = (
        f"{file.sha256} {'x' if file.is_executable else '-'} {file.path}\n"
        for file in sorted(files, key=lambda file: file.path)
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def list_files(origin: Path) -> list[Path]:
    """Return the paths of all files below *origin*, without `.git`."""
    return [origin / relative for relative in list_folder(origin).files]


def list_folder(origin: Path) -> Listing:
    found: list[str] = []
    size = 0
    names = Names()
    todo = [""]
    while todo:
        inside = todo.pop()
        with os.scandir(f"{origin}/{inside}") as entries:
            for entry in entries:
                if entry.name == ".git":
                    continue
                relative = f"{inside}{entry.name}"
                names.add(relative)
                if entry.is_symlink():
                    raise SourceRefused(f"{relative} is a symbolic link; replace it with a copy")
                if entry.is_dir(follow_symlinks=False):
                    todo.append(f"{relative}/")
                else:
                    found.append(relative)
                    size += entry.stat(follow_symlinks=False).st_size
                if len(found) + len(todo) > MAX_SOURCE_FILES:
                    raise SourceRefused(
                        f"there are more than {MAX_SOURCE_FILES:,} files and folders"
                    )
    return Listing(str(origin), found, size)


def _copy(
    origin: str, target: str, relative: str, room: int, kept: list[bytes] | None
) -> SkillFile:
    """Copy one file. O_NOFOLLOW, because a link may have replaced it since it was listed.

    It makes as few system calls as possible, because after each one the thread waits for the GIL.
    """
    digest, size = hashlib.sha256(), 0
    with _opened(origin, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as reader:
        found = os.fstat(reader)
        if not stat.S_ISREG(found.st_mode):
            raise SourceRefused(f"{relative} is not a regular file")
        # One byte more than the size, so that one call reads a small file to its end.
        at_once = min(max(found.st_size + 1, _PAGE), _CHUNK)
        with _opened(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as writer:
            while chunk := os.read(reader, at_once):
                size += len(chunk)
                if size > room:
                    raise SourceRefused(
                        f"the files are larger than {MAX_SOURCE_BYTES:,} bytes in total"
                    )
                digest.update(chunk)
                _write(writer, chunk)
                if kept is not None:
                    kept.append(chunk)
                if size == found.st_size:
                    break
    return SkillFile(
        path=relative,
        size=size,
        sha256=digest.hexdigest(),
        is_executable=bool(found.st_mode & stat.S_IXUSR),
    )


@contextmanager
def _opened(path: str, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write(descriptor: int, chunk: bytes) -> None:
    written = os.write(descriptor, chunk)
    while written < len(chunk):  # a full disk or a signal can cause a short write
        written += os.write(descriptor, chunk[written:])
