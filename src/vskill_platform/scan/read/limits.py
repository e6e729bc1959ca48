"""Limits on the size of a published skill and on the names of its files."""

import unicodedata
from collections.abc import Iterable, Iterator

from vskill_platform.base.windows_names import is_valid_on_windows
from vskill_platform.model.verdict import Finding, Severity
from vskill_platform.scan.facts.facts import storable
from vskill_platform.scan.read.list_files import FoundFile

MAX_SKILL_FILES = 1_000
MAX_FILE_BYTES = 10 * 1024 * 1024
#: Well below the largest value that an engine can store.
MAX_SKILL_BYTES = 20 * 1024 * 1024
#: The limit that every archive format and file system accepts.
MAX_PATH_BYTES = 200


def check_limits(found: Iterable[FoundFile]) -> Iterator[Finding]:
    """Yield findings for files that exceed the limits; a link counts as its target."""
    ordered = sorted(found, key=lambda file: file.name.split("/"))
    sizes = {storable(file.name): file.size for file in ordered}
    if len(sizes) > MAX_SKILL_FILES:
        yield _too_much(f"There are {len(sizes):,} files; the limit is {MAX_SKILL_FILES:,}.", None)
    if (total := sum(sizes.values())) > MAX_SKILL_BYTES:
        yield _too_much(f"All files have {total:,} bytes; the limit is {MAX_SKILL_BYTES:,}.", None)
    for name, size in sizes.items():
        if size > MAX_FILE_BYTES:
            yield _too_much(f"{name} has {size:,} bytes; the limit is {MAX_FILE_BYTES:,}.", name)
        if len(name.encode()) > MAX_PATH_BYTES:
            yield _too_much(f"A path has more than {MAX_PATH_BYTES} bytes.", name)


def check_names(found: Iterable[FoundFile]) -> Iterator[Finding]:
    """Yield names that another system reads as something else, or as another file's name."""
    known: dict[str, str] = {}
    for name in sorted(storable(file.name) for file in found):
        if not all(map(is_valid_on_windows, name.split("/"))):
            yield _bad_name(f"{name} is not a valid name on Windows.", name)
        folded = unicodedata.normalize("NFC", name).casefold()
        if (other := known.setdefault(folded, name)) != name:
            yield _bad_name(f"{name} and {other} are the same file on some systems.", name)


def _bad_name(message: str, file: str) -> Finding:
    return Finding(
        rule="LIM-003",
        severity=Severity.HIGH,
        message=message,
        fix="Rename the file: use letters, digits, dots, hyphens and underscores.",
        file=file,
    )


def _too_much(message: str, file: str | None) -> Finding:
    return Finding(
        rule="LIM-001",
        severity=Severity.HIGH,
        message=message,
        fix="Remove files the skill does not need; link to large files instead.",
        file=file,
    )
