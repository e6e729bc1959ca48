"""Show what a copy adds to its original: a trojan changes little."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.skill import SkillFile, SkillVersion
from vskill_platform.stores.skill_store import get_archive, get_latest_version

#: More files are counted, not listed.
_MAX_NAMED = 5
#: More lines help no reader.
_MAX_LINES, _MAX_LINE = 5, 200
#: For a larger file no lines are shown.
_MAX_COMPARED_BYTES = 256 * 1024


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Paths, and the lines of changed files that the original does not have."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    def in_words(self) -> str:
        parts = [
            f"{word} {_named(paths)}"
            for word, paths in (
                ("added", self.added),
                ("changed", self.changed),
                ("removed", self.removed),
            )
            if paths
        ]
        return "; ".join(parts) or "none, all files are the same"


async def diff_copy(slug: str, snapshot: Snapshot) -> Difference:
    """Compare the files of a snapshot with the latest version of a published skill."""
    latest = await get_latest_version(slug)
    if latest is None:  # it no longer exists
        return Difference()
    ours, theirs = _by_path(snapshot.files), _by_path(latest.files)
    changed = [path for path in ours.keys() & theirs.keys() if _differ(ours[path], theirs[path])]
    return Difference(
        added=tuple(sorted(ours.keys() - theirs.keys())),
        changed=tuple(sorted(changed)),
        removed=tuple(sorted(theirs.keys() - ours.keys())),
        lines=await _new_lines(latest, snapshot.folder, sorted(changed)),
    )


def _by_path(files: tuple[SkillFile, ...]) -> dict[str, SkillFile]:
    return {file.path: file for file in files}


def _differ(one: SkillFile, other: SkillFile) -> bool:
    return (one.sha256, one.is_executable) != (other.sha256, other.is_executable)


async def _new_lines(original: SkillVersion, folder: Path, paths: list[str]) -> tuple[str, ...]:
    small = {file.path for file in original.files if file.size <= _MAX_COMPARED_BYTES}
    wanted = [path for path in paths if path in small][:_MAX_NAMED]
    archive = await get_archive(original.archive_sha256) if wanted else None
    if archive is None:
        return ()
    return await work_in_thread(lambda: tuple(_compare(archive, folder, wanted))[:_MAX_LINES])


def _compare(archive: bytes, folder: Path, paths: list[str]) -> Iterator[str]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for path in paths:
            packed = files.extractfile(path)
            known = set(_lines(packed.read() if packed else b""))
            with (folder / path).open("rb") as file:
                ours = _lines(file.read(_MAX_COMPARED_BYTES))
            for number, line in enumerate(ours, start=1):
                if line and line not in known:
                    yield f"{path}:{number} {line[:_MAX_LINE]}"


def _lines(raw: bytes) -> list[str]:
    return [line.strip() for line in raw.decode(errors="replace").split("\n")]


def _named(paths: tuple[str, ...]) -> str:
    more = len(paths) - _MAX_NAMED
    return ", ".join(paths[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
