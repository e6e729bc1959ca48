"""A private copy of a skill's files, read once: what is checked is what is published."""

import hashlib
import os
import stat
from pathlib import Path

import msgspec

from vskill_platform.errors import SourceRefused
from vskill_platform.fetch.names import Names
from vskill_platform.model.skill import SkillFile

# These bound what a hostile source can cost us. They lie above the limits that a skill must keep
# to be published, so that an author who misses those by a little gets a finding, not a refusal.
MAX_FILES = 5_000
MAX_TOTAL_BYTES = 64 * 1024 * 1024
_CHUNK = 1024 * 1024


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    folder: Path
    #: The name of the folder that it was taken from; None if that name means nothing.
    folder_name: str | None
    #: The manifest: each file with its size and sha256, in the order of their paths.
    files: tuple[SkillFile, ...]
    #: Names the whole: the same paths, bytes and modes give the same digest.
    digest: str
    commit_sha: str | None = None
    #: What git calls this state of the folder; known before any file of it was fetched.
    tree_sha: str | None = None


def take_snapshot(
    origin: Path, folder: Path, *, folder_name: str | None, commit_sha: str | None = None,
    tree_sha: str | None = None,
) -> Snapshot:  # fmt: skip
    """Copy the files of *origin* to the new *folder*; refuse links and special files."""
    folder.mkdir(mode=0o700)
    files: list[SkillFile] = []
    room = MAX_TOTAL_BYTES
    for path in list_files(origin):
        copied = _copy(origin, path, folder, room)
        room -= copied.size
        files.append(copied)
    files.sort(key=lambda file: file.path)
    return Snapshot(
        folder=folder,
        folder_name=folder_name,
        files=tuple(files),
        digest=digest_of(files),
        commit_sha=commit_sha,
        tree_sha=tree_sha,
    )


def digest_of(files: list[SkillFile]) -> str:
    """Name the content of a skill: the same paths, bytes and modes give the same digest."""
    lines = (
        f"{file.sha256} {'x' if file.is_executable else '-'} {file.path}\n"
        for file in sorted(files, key=lambda file: file.path)
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def list_files(origin: Path) -> list[Path]:
    """Return the paths of all files below *origin*, without those of version control."""
    found: list[Path] = []
    names = Names()
    todo = [origin]
    while todo:
        with os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.name == ".git":
                    continue
                path = Path(entry.path)
                _check_entry(entry, path.relative_to(origin), names)
                if entry.is_dir(follow_symlinks=False):
                    todo.append(path)
                else:
                    found.append(path)
                if len(found) + len(todo) > MAX_FILES:
                    raise SourceRefused(f"there are more than {MAX_FILES:,} files and folders")
    return found


def _check_entry(entry: os.DirEntry[str], path: Path, names: Names) -> None:
    names.add(path.as_posix())
    if entry.is_symlink():
        raise SourceRefused(f"{path} is a symbolic link; put a copy in its place")


def _copy(origin: Path, path: Path, folder: Path, room: int) -> SkillFile:
    """Copy one file; O_NOFOLLOW, because a link may have taken its place since we looked."""
    relative = path.relative_to(origin).as_posix()
    target = folder / relative
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as reader, target.open("xb") as writer:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise SourceRefused(f"{relative} is not a plain file")
        while chunk := reader.read(_CHUNK):
            size += len(chunk)
            if size > room:
                raise SourceRefused(f"the files have more than {MAX_TOTAL_BYTES:,} bytes in all")
            digest.update(chunk)
            writer.write(chunk)
    return SkillFile(
        path=relative,
        size=size,
        sha256=digest.hexdigest(),
        is_executable=bool(mode & stat.S_IXUSR),
    )
