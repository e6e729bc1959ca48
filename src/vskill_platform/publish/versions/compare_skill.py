"""Compare a submitted skill with published ones: copies, look-alike names, bulk publishing.

For a copy, the findings also contain the differences to the original, because a trojan changes
little.
"""

import asyncio
import io
import tarfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import BlobMissing, RecordMalformed
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.lookalike import NameSimilarity, compare_names, name_marks
from vskill_platform.model.similarity import SkillSketch, is_near_copy, similarity, text_marks
from vskill_platform.model.skill import Capabilities, SkillFile, SkillVersion, new_capabilities
from vskill_platform.model.verdict import Finding
from vskill_platform.scan.rules.registry_rules import registry_finding
from vskill_platform.stores.similarity_store import (
    SimilarityRecord,
    find_by_marks,
    get_similarity_record,
    marks_of,
)
from vskill_platform.stores.skill_store import get_latest_version, resolve_slug
from vskill_platform.stores.version_store import get_archive

log = get_logger(__name__)

#: Up to here, skills from one template are acceptable; known campaigns published dozens to hundreds
#: within days.
BULK_SKILLS = 10
BULK_WITHIN = timedelta(days=7)
_MAX_NAMED = 3
_MAX_GAINED = 5
#: Further changed files are counted, not listed.
_MAX_FILES = 5
#: How many changed lines are shown; more would not help the reader.
_MAX_LINES, _MAX_LINE = 5, 200
#: No lines of larger files are shown.
_MAX_COMPARED_BYTES = 256 * 1024


class ComparedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """The skill that is compared with published ones."""

    #: The slug under which it is or would be published.
    slug: str
    name: str
    publisher: str
    sketch: SkillSketch


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Changed paths, and the lines of changed files that are not in the original."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    def in_words(self) -> str:
        parts = [
            f"{word} {', '.join(paths[:_MAX_FILES])}{_more(paths, _MAX_FILES)}"
            for word, paths in (
                ("added", self.added),
                ("changed", self.changed),
                ("removed", self.removed),
            )
            if paths
        ]
        return "; ".join(parts) or "none, all files are the same"


async def compare_skill(
    submitted: ComparedSkill, snapshot: Snapshot, *, now: datetime
) -> tuple[Finding, ...]:
    """Return the registry's findings; an outage of the index is an error, never an empty result."""
    slug, published, found = await asyncio.gather(
        resolve_slug(submitted.slug),
        get_similarity_record(submitted.slug),
        find_by_marks(marks_of(submitted.sketch.instructions, submitted.name)),
    )
    if slug != submitted.slug:  # its name is a former name of another skill
        submitted = msgspec.structs.replace(submitted, slug=slug)
        published = await get_similarity_record(slug)
    alike = [item for item in found if _is_similar(submitted, item)]
    named = [
        item for item in found if _has_similar_name(submitted, item) and _is_older(item, published)
    ]
    copied = [
        item
        for item in alike
        if item.publisher != submitted.publisher and _is_older(item, published)
    ]
    findings: list[Finding] = []
    if copied:
        original = copied[0]
        difference = await diff_copy(original.slug, snapshot)
        findings += _copy_findings(submitted, original, difference)
        named = [item for item in named if item.slug != original.slug]
    findings += _name_findings(submitted, named)
    if published is None:
        own = [item for item in alike if item.publisher == submitted.publisher]
        findings += _bulk_findings(submitted, own, now)
    return tuple(findings)


async def find_similar(submitted: ComparedSkill) -> list[SimilarityRecord]:
    """Return published skills with nearly the same instructions, oldest first."""
    found = await find_by_marks(text_marks(submitted.sketch.instructions))
    return [item for item in found if _is_similar(submitted, item)]


async def find_similar_names(submitted: ComparedSkill) -> list[SimilarityRecord]:
    """Return skills of other publishers with a similar but different name."""
    found = await find_by_marks(name_marks(submitted.name))
    return [item for item in found if _has_similar_name(submitted, item)]


def _is_similar(submitted: ComparedSkill, other: SimilarityRecord) -> bool:
    return other.slug != submitted.slug and is_near_copy(
        submitted.sketch.instructions, other.sketch.instructions
    )


def _has_similar_name(submitted: ComparedSkill, other: SimilarityRecord) -> bool:
    return other.publisher != submitted.publisher and bool(
        compare_names(submitted.name, other.name)
    )


def _is_older(other: SimilarityRecord, published: SimilarityRecord | None) -> bool:
    """Return whether the other skill is older, because the original must not count as the copy.

    This compares dates, although clocks may be wrong. Revisions are always in order, but a skill
    gets a new one with each rename and each rebuilt index entry. The date of the first publication
    never changes.
    """
    return published is None or other.since < published.since


def _copy_findings(
    submitted: ComparedSkill, original: SimilarityRecord, difference: Difference
) -> list[Finding]:
    same = similarity(submitted.sketch.instructions, original.sketch.instructions)
    copied = (
        f"of {original.slug} ({same:.0%} of the instructions are the same), "
        f"published by {original.publisher} since {original.since:%Y-%m-%d}"
    )
    differs = f"Differences: {difference.in_words()}."
    gained = new_capabilities(original.sketch.capabilities, submitted.sketch.capabilities)
    found: dict[str, str] = {}
    # Equal files have equal capabilities, although newer rules may find more.
    if gained and (difference.added or difference.changed):
        found["SKR-REG-003"] = (
            f"A copy {copied}, with added capabilities: {_listed(gained)}. {differs}"
        )
    if resemblance := compare_names(submitted.name, original.name):
        name = f"whose name {resemblance}, {submitted.name} for {original.name}"
        found["SKR-REG-002"] = f"A copy {copied}, {name}. {differs}"
    if not found:
        found["SKR-REG-001"] = f"A copy {copied}. {differs}"
    evidence = (difference.in_words(), *difference.lines)
    return [
        registry_finding(rule, message, about=original.slug, evidence=evidence)
        for rule, message in found.items()
    ]


def _name_findings(submitted: ComparedSkill, named: Sequence[SimilarityRecord]) -> list[Finding]:
    findings = []
    for rule, resemblance, how in (
        ("SKR-REG-004", NameSimilarity.HOMOGLYPH, "looks the same as that of"),
        ("SKR-REG-005", NameSimilarity.SLIP, "is almost the same as that of"),
    ):
        alike = [item for item in named if compare_names(submitted.name, item.name) is resemblance]
        if alike:
            whose = ", ".join(f"{item.slug} by {item.publisher}" for item in alike[:_MAX_NAMED])
            message = f"The name {submitted.name} {how} {whose}{_more(alike)}."
            findings.append(registry_finding(rule, message, about=alike[0].slug))
    return findings


def _bulk_findings(
    submitted: ComparedSkill, own: Sequence[SimilarityRecord], now: datetime
) -> list[Finding]:
    recent = [
        item for item in own if item.name != submitted.name and now - item.since < BULK_WITHIN
    ]
    names = {item.name: item for item in recent}
    if len(names) < BULK_SKILLS:
        return []
    examples = ", ".join(item.slug for item in list(names.values())[:_MAX_NAMED])
    message = (
        f"{submitted.publisher} has published {len(names)} skills with nearly these instructions "
        f"within {BULK_WITHIN.days} days, such as {examples}."
    )
    return [registry_finding("SKR-REG-006", message, about=submitted.publisher)]


def _listed(gained: Capabilities) -> str:
    return "; ".join(
        f"{kind}: {', '.join(values[:_MAX_GAINED])}{_more(values, _MAX_GAINED)}"
        for kind, values in gained.items()
    )


def _more(items: Sequence[object], shown: int = _MAX_NAMED) -> str:
    return f" and {len(items) - shown} more" if len(items) > shown else ""


async def diff_copy(slug: str, snapshot: Snapshot) -> Difference:
    """Compare the files of a snapshot with the latest version of a published skill."""
    latest = await get_latest_version(slug)
    if latest is None:  # the original no longer exists
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
    wanted = [path for path in paths if path in small][:_MAX_FILES]
    try:
        archive = await get_archive(original.archive_sha256) if wanted else None
    except (BlobMissing, RecordMalformed) as error:
        # The original's archive is damaged: the copy is reported without changed lines.
        log.error("original not compared", slug=original.slug, error=str(error))
        return ()
    if archive is None:
        return ()
    return await work_in_thread(lambda: tuple(_new_lines_of(archive, folder, wanted))[:_MAX_LINES])


def _new_lines_of(archive: bytes, folder: Path, paths: list[str]) -> Iterator[str]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for path in paths:
            packed = files.extractfile(path)
            known = set(_stripped_lines(packed.read() if packed else b""))
            with (folder / path).open("rb") as file:
                ours = _stripped_lines(file.read(_MAX_COMPARED_BYTES))
            for number, line in enumerate(ours, start=1):
                if line and line not in known:
                    yield f"{path}:{number} {line[:_MAX_LINE]}"


def _stripped_lines(raw: bytes) -> list[str]:
    return [line.strip() for line in raw.decode(errors="replace").split("\n")]
