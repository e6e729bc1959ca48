"""How large a published skill may be."""

from collections.abc import Iterable, Iterator

from vskill_platform.model.verdict import Finding, Severity
from vskill_platform.scan.facts import storable
from vskill_platform.scan.walk_folder import FoundFile

MAX_FILES = 1_000
MAX_FILE_BYTES = 10 * 1024 * 1024
#: With room to spare below the largest value that an engine keeps.
MAX_TOTAL_BYTES = 20 * 1024 * 1024
#: What every archive format and file system takes.
MAX_PATH_CHARACTERS = 200


def check_limits(found: Iterable[FoundFile]) -> Iterator[Finding]:
    """Yield what is too much of the files of a skill; a link counts as what it leads to."""
    ordered = sorted(found, key=lambda file: file.name.split("/"))
    sizes = {storable(file.name): file.size for file in ordered}
    if len(sizes) > MAX_FILES:
        yield _too_much(f"There are {len(sizes):,} files, {MAX_FILES:,} is the limit.", None)
    if (total := sum(sizes.values())) > MAX_TOTAL_BYTES:
        yield _too_much(f"All files have {total:,} bytes, {MAX_TOTAL_BYTES:,} is the limit.", None)
    for name, size in sizes.items():
        if size > MAX_FILE_BYTES:
            yield _too_much(f"{name} has {size:,} bytes, {MAX_FILE_BYTES:,} is the limit.", name)
        if len(name.encode()) > MAX_PATH_CHARACTERS:
            yield _too_much(f"A path has more than {MAX_PATH_CHARACTERS} bytes.", name)


def _too_much(message: str, file: str | None) -> Finding:
    return Finding(
        rule="LIM-001",
        severity=Severity.HIGH,
        message=message,
        fix="Leave out what the skill does not need; link large files instead of shipping them.",
        file=file,
    )
