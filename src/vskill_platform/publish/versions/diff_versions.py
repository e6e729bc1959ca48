"""The changes between two versions: files, lines and capabilities, also as a patch."""

import difflib
import io
import tarfile
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial

import msgspec
from anyio import CapacityLimiter

from vskill_platform.base.bounded_turns import BoundedTurns
from vskill_platform.base.killable_process import BROKE_DOWN, run_for_visitor
from vskill_platform.base.lru_cache import LruCache
from vskill_platform.errors import NotFound
from vskill_platform.model.skill import Capabilities, SkillFile, SkillVersion, new_capabilities
from vskill_platform.stores.version_store import get_archive

#: No lines of larger files are shown: the time of a comparison grows with the square of the size.
MAX_BYTES = 256 * 1024
MAX_LINES = 5_000
#: The limit for comparisons in a thread, which cannot be killed.
MAX_TEXT_LINES = 2_000
#: Git's marker after a last line without a line end.
NO_NEWLINE = "\\ No newline at end of file"
#: The limit for all files together, so that a diff takes a second or two.
MAX_COMPARED_FILES = 300
MAX_COMPARED_LINES = 50_000
_MAX_CPU_SECONDS = 5
#: Anyone may request a diff, so diffs have their own process, separate from uploads.
_TURNS = BoundedTurns(at_once=1, waiting=8, busy="other versions are being compared")
_BEYOND = "not compared: too many changes, so only the first files are compared"
_ROOM_CHARACTERS = 8 * 1024 * 1024


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    #: None if the file does not exist.
    old: SkillFile | None
    new: SkillFile | None
    #: A unified diff without its header; empty if there are no lines to show.
    lines: tuple[str, ...] = ()
    #: Why no lines are shown.
    note: str = ""

    @property
    def kind(self) -> str:
        if self.old is None:
            return "added"
        return "removed" if self.new is None else "changed"


class VersionDiff(msgspec.Struct, frozen=True, kw_only=True):
    slug: str
    old: str
    new: str
    files: tuple[FileChange, ...]
    #: Capabilities that only the new version has; None if unknown.
    gained: Capabilities | None


class _Compared(msgspec.Struct, frozen=True):
    lines: tuple[str, ...] = ()
    note: str = ""


def _size_of(compared: dict[str, _Compared]) -> int:
    return sum(100 + len(path) + sum(map(len, one.lines)) for path, one in compared.items())


_recent: LruCache[tuple[str, str], dict[str, _Compared]] = LruCache(
    capacity=_ROOM_CHARACTERS, size_of=_size_of
)


class ComparedSide(msgspec.Struct, frozen=True):
    """One side of a comparison: files, and the archive that contains them."""

    files: tuple[SkillFile, ...]
    archive_sha256: str
    load: Callable[[], Awaitable[bytes]]


async def diff_versions(old: SkillVersion, new: SkillVersion) -> VersionDiff:
    """Compare two versions of a skill by their archives."""
    files = await diff_packed(pack_of(old), pack_of(new))
    known = old.capabilities is not None and new.capabilities is not None
    gained = new_capabilities(old.capabilities or {}, new.capabilities or {}) if known else None
    return VersionDiff(slug=new.slug, old=old.version, new=new.version, files=files, gained=gained)


def pack_of(version: SkillVersion) -> ComparedSide:
    return ComparedSide(version.files, version.archive_sha256, partial(_archive, version))


async def diff_packed(old: ComparedSide, new: ComparedSide) -> tuple[FileChange, ...]:
    """Compare the files of two archives."""
    ours, theirs = _by_path(new), _by_path(old)
    paths = sorted(
        path for path in ours.keys() | theirs.keys() if _differ(ours.get(path), theirs.get(path))
    )
    compared = await _compare(old, new, paths) if paths else {}
    return tuple(
        FileChange(
            path=path,
            old=theirs.get(path),
            new=ours.get(path),
            lines=compared[path].lines,
            note=compared[path].note,
        )
        for path in paths
    )


def _by_path(side: ComparedSide) -> dict[str, SkillFile]:
    return {file.path: file for file in side.files}


def _differ(one: SkillFile | None, other: SkillFile | None) -> bool:
    if one is None or other is None:
        return True
    return (one.sha256, one.is_executable) != (other.sha256, other.is_executable)


async def _compare(old: ComparedSide, new: ComparedSide, paths: list[str]) -> dict[str, _Compared]:
    """Compare the texts in a killable process, or return the cached result."""
    key = (old.archive_sha256, new.archive_sha256)
    if kept := _recent.get(key):
        return kept
    async with _TURNS.turn():
        if kept := _recent.get(key):  # another request has just computed this diff
            return kept
        compared = await _compare_elsewhere(old, new, paths)
    # Timeouts are also cached, because a file can be crafted to time out every time.
    _recent.keep(key, compared)
    return compared


async def _compare_elsewhere(
    old: ComparedSide, new: ComparedSide, paths: list[str]
) -> dict[str, _Compared]:
    archives = [await side.load() for side in (old, new)]
    try:
        return await run_for_visitor(
            compare_archives, *archives, paths,
            limiter=CapacityLimiter(1), cpu_seconds=_MAX_CPU_SECONDS,
        )  # fmt: skip
    except BROKE_DOWN:
        return dict.fromkeys(paths, _Compared(note="comparing its lines takes too long"))


async def _archive(version: SkillVersion) -> bytes:
    archive = await get_archive(version.archive_sha256)
    if archive is None:
        raise NotFound(f"the archive of {version.slug} {version.version} is no longer stored")
    return archive


def compare_archives(old: bytes, new: bytes, paths: list[str]) -> dict[str, _Compared]:
    """Compare the files at these paths; note which are too large or not text."""
    before, after = _read(old, paths), _read(new, paths)
    compared: dict[str, _Compared] = {}
    room = MAX_COMPARED_LINES
    for place, path in enumerate(paths):
        texts = before.get(path), after.get(path)
        room -= sum(text.count(b"\n") for text in texts if text)
        is_beyond = place >= MAX_COMPARED_FILES or room < 0
        compared[path] = (
            _Compared(note=_BEYOND) if is_beyond else _compare_files(before, after, path)
        )
    return compared


def _read(archive: bytes, paths: list[str]) -> dict[str, bytes | None]:
    """Return the content of each existing file; None if it is too large."""
    found: dict[str, bytes | None] = {}
    wanted = set(paths)
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as files:
        for member in files:
            if member.name in wanted:
                packed = files.extractfile(member) if member.size <= MAX_BYTES else None
                found[member.name] = packed.read() if packed else None
    return found


def _compare_files(
    before: dict[str, bytes | None], after: dict[str, bytes | None], path: str
) -> _Compared:
    """Compare the files at a path; a missing file has no lines."""
    texts = []
    for files in (before, after):
        lines = _lines(files.get(path, b""))
        if isinstance(lines, str):
            return _Compared(note=lines)
        texts.append(lines)
    shown = tuple(_changed_lines(texts[0], texts[1]))
    if shown:
        return _Compared(shown)
    is_in_both = path in before and path in after
    return _Compared(note="the mode has changed" if is_in_both else "an empty file")


def _lines(raw: bytes | None) -> list[str] | str:
    """Return the lines of a text, with a marker if the last has no line end."""
    if raw is None:
        return "too large to compare"
    try:
        *lines, rest = raw.decode().split("\n")
    except UnicodeDecodeError:
        return "not a text file"
    if b"\0" in raw:
        return "not a text file"
    if rest:
        lines.append(f"{rest}\n{NO_NEWLINE}")
    return lines if len(lines) <= MAX_LINES else "too many lines to compare"


def _changed_lines(old: list[str], new: list[str]) -> Iterator[str]:
    for line in list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]:
        yield from line.split("\n")


def diff_texts(path: str, old: str, new: str) -> FileChange:
    """Compare two texts by lines; if they are too long, only note that."""
    lines = [_lines(text.encode()) for text in (old, new)]
    too_long = any(isinstance(side, str) or len(side) > MAX_TEXT_LINES for side in lines)
    if too_long:
        return FileChange(path=path, old=None, new=None, note="too many lines to compare")
    changed = tuple(_changed_lines(list(lines[0]), list(lines[1])))
    return FileChange(path=path, old=None, new=None, lines=changed)


def patch_text(files: Iterable[FileChange]) -> str:
    """Return all changes as one text; files without a diff are named in lines that git skips."""
    return "".join(
        patch_of(change) or f"({change.kind} {change.path}: {change.note})\n" for change in files
    )


def patch_of(change: FileChange) -> str:
    """Return the patch of one file with its header and line ends; empty if it has no lines."""
    old, new = change.old, change.new
    has_other_mode = bool(old and new and old.is_executable != new.is_executable)
    is_told = change.lines or has_other_mode or _is_empty(change)
    if not is_told:
        return ""
    before, after = _quoted(f"a/{change.path}"), _quoted(f"b/{change.path}")
    lines = [f"diff --git {before} {after}"]
    if old is None and new:
        lines.append(f"new file mode {_mode(new)}")
    elif old and new is None:
        lines.append(f"deleted file mode {_mode(old)}")
    elif old and new and has_other_mode:
        lines += [f"old mode {_mode(old)}", f"new mode {_mode(new)}"]
    if change.lines:
        lines.append(f"--- {before if old else '/dev/null'}")
        lines.append(f"+++ {after if new else '/dev/null'}")
    return "".join(f"{line}\n" for line in (*lines, *change.lines))


def _is_empty(change: FileChange) -> bool:
    """Return whether an empty file was added or removed."""
    there = change.new or change.old
    return change.kind != "changed" and there is not None and there.size == 0


def _mode(file: SkillFile) -> str:
    return "100755" if file.is_executable else "100644"


def _quoted(path: str) -> str:
    """Quote a path as git does; no path in a version has invisible characters."""
    return '"{}"'.format(path.replace('"', '\\"')) if '"' in path else path
