"""The capabilities of a version, each with the lines that prove it."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from vskill_platform.base.lru_cache import LruCache
from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.errors import BlobMissing, BlobsUnavailable, NotFound
from vskill_platform.model.skill import CAPABILITY_KINDS, Capabilities, SkillVersion
from vskill_platform.model.verdict import Report
from vskill_platform.publish.versions.version_files import read_files, text_of
from vskill_platform.scan.reports.source_lines import MAX_LINE_CHARACTERS, split_text

#: The label of each chip and its meaning.
_CHIPS: dict[str, tuple[str, str]] = {
    "network": ("Network", "Contacts these hosts, or listens"),
    "secrets": ("Secrets", "Reads these credentials or variables"),
    "shell": ("Shell", "Runs these commands or scripts"),
    "files": ("Files", "Changes these files or folders"),
    "installs": ("Installs", "Installs these packages"),
}
#: How many values of a capability are shown, and how many lines of a value.
_MAX_VALUES, _MAX_PLACES = 12, 3
#: How much is searched: the smallest files first, up to this many characters.
_MAX_BYTES = 512 * 1024
_ROOM = 2_000
_UNREADABLE = "The files of this version cannot be read right now, so no lines are shown."


class CapabilityLine(msgspec.Struct, frozen=True):
    path: str
    line: int
    text: str


class ShownValue(msgspec.Struct, frozen=True):
    text: str
    places: tuple[CapabilityLine, ...]


class Capability(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    label: str
    meaning: str
    values: tuple[ShownValue, ...]
    #: How many more values there are.
    more: int = 0
    #: Why there are no lines; empty if the files were searched.
    note: str = ""


_recent: LruCache[tuple[str, bytes], tuple[Capability, ...]] = LruCache(
    capacity=_ROOM, size_of=lambda found: len(found) + 1
)


async def capabilities_of(
    version: SkillVersion, report: Report | None
) -> tuple[Capability, ...] | None:
    """Return the capabilities with their evidence; None if they were not recorded.

    Older releases recorded them only in the report.
    """
    found = version.capabilities
    if found is None and report is not None:
        found = report.capabilities
    if not found:
        return None if found is None else ()
    key = (version.digest, msgspec.json.encode(found, order="deterministic"))
    kept = _recent.get(key)
    if kept is not None:
        return kept
    try:
        files = await _read(version)
    except (NotFound, BlobsUnavailable, BlobMissing):
        # The values are in the record and still valid; the chip says that there are no lines.
        return group_capabilities(found, note=_UNREADABLE)
    shown = await in_few_threads(find_places, found, files)
    _recent.keep(key, shown)
    return shown


def group_capabilities(found: Capabilities, *, note: str = "") -> tuple[Capability, ...]:
    """Group capabilities without evidence, for lists and diffs; *note* says why there is none."""
    return tuple(msgspec.structs.replace(one, note=note) for one in find_places(found, {}))


async def _read(version: SkillVersion) -> dict[str, bytes]:
    room, paths = _MAX_BYTES, []
    for file in sorted(version.files, key=lambda file: (file.size, file.path)):
        room -= file.size
        if room < 0:
            break
        paths.append(file.path)
    return await read_files(version, paths)


def find_places(found: Capabilities, files: Mapping[str, bytes]) -> tuple[Capability, ...]:
    """Search the text of the files, scripts before documents, for each value."""
    ordered = sorted(files, key=lambda path: (path.endswith(".md"), path))
    lines = {path: split_text(text_of(files[path]) or "") for path in ordered}
    return tuple(_grouped(found, lines))


def _grouped(found: Capabilities, lines: Mapping[str, list[str]]) -> Iterator[Capability]:
    for name, (label, meaning) in _CHIPS.items():
        values = [value for kind in CAPABILITY_KINDS[name] for value in found.get(kind, ())]
        if values:
            yield Capability(
                id=name,
                label=label,
                meaning=meaning,
                values=tuple(
                    ShownValue(value, tuple(_places(value, lines)))
                    for value in values[:_MAX_VALUES]
                ),
                more=max(len(values) - _MAX_VALUES, 0),
            )


def _places(value: str, lines: Mapping[str, list[str]]) -> Iterator[CapabilityLine]:
    if script := lines.get(value):  # the path of a shell script
        yield CapabilityLine(value, 1, script[0].strip()[:MAX_LINE_CHARACTERS])
        return
    left = _MAX_PLACES
    # Whole words only: "npm: playwright@1.49.0" starts with the installer; "github" is not "git".
    words = re.compile(rf"(?<!\w){re.escape(value.rpartition(': ')[2])}(?!\w)")
    for path, texts in lines.items():
        for number, text in enumerate(texts, 1):
            if words.search(text):
                yield CapabilityLine(path, number, text.strip()[:MAX_LINE_CHARACTERS])
                left -= 1
                if not left:
                    return
