"""Check SKILL.md against the public agent-skills specification."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from vskill_platform.base.windows_names import is_valid_on_windows
from vskill_platform.model.skill import SkillManifest
from vskill_platform.model.verdict import Finding, Severity
from vskill_platform.scan.facts.facts import storable
from vskill_platform.scan.read.frontmatter import (
    Field,
    Frontmatter,
    FrontmatterError,
    read_frontmatter,
)

MANIFEST = "SKILL.md"
MAX_MANIFEST_BYTES = 1024 * 1024
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
KNOWN_FIELDS = frozenset(
    {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
)
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def is_skill_name(text: str) -> bool:
    """Return whether a skill may have this name: lowercase letters, digits and single hyphens."""
    return len(text) <= MAX_NAME and _NAME.fullmatch(text) is not None


_MISSING = Field("", 1)


def check_manifest(
    folder: Path, folder_name: str | None
) -> tuple[SkillManifest | None, list[Finding]]:
    """Return the manifest, if it is valid enough to use, and the findings about it."""
    try:
        text = _read(folder / MANIFEST)
        frontmatter = read_frontmatter(text)
    except FrontmatterError as error:
        return None, [
            _error("MAN-002", f"The frontmatter cannot be read: {error}.",
                   "Start SKILL.md with `---`, `name: …`, `description: …`, `---`.", error.line)
        ]  # fmt: skip
    except _Unreadable as error:
        return None, [error.finding]
    findings = [
        *_check_name(frontmatter.fields.get("name", _MISSING), folder_name),
        *_check_description(frontmatter.fields.get("description", _MISSING)),
        *_check_optional(frontmatter),
    ]
    if any(finding.severity is Severity.HIGH for finding in findings):
        return None, findings
    return _manifest(frontmatter.fields), findings


class _Unreadable(Exception):
    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def _read(path: Path) -> str:
    if not path.is_file():
        raise _Unreadable(_missing(path))
    if path.stat().st_size > MAX_MANIFEST_BYTES:
        raise _Unreadable(
            _error("MAN-003", f"SKILL.md has more than {MAX_MANIFEST_BYTES:,} bytes.",
                   "Move details to files next to it and link them.")
        )  # fmt: skip
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _Unreadable(
            _error("MAN-004", "SKILL.md is not UTF-8 text.", "Save the file as UTF-8.", line)
        ) from error


def _missing(path: Path) -> Finding:
    others = sorted(
        storable(str(found.parent.relative_to(path.parent)))
        for found in path.parent.rglob(MANIFEST)
        if found.is_file()
    )
    where = f" There is one in: {', '.join(others[:10])}." if others else ""
    fix = f"Submit that folder: --path {others[0]}" if others else "Add a SKILL.md to the folder."
    return _error("MAN-001", f"There is no SKILL.md.{where}", fix, None)


def _check_name(field: Field, folder_name: str | None) -> Iterator[Finding]:
    rule = "MAN-010"
    name = field.value
    fix = "Use 1 to 64 of a-z, 0-9 and single hyphens, such as `name: pdf-forms`."
    if not isinstance(name, str):
        yield _error(rule, "`name` is not a string.", fix, field.line)
    elif not name:
        yield _error(rule, "`name` is missing or empty.", fix, field.line)
    elif len(name) > MAX_NAME or not _NAME.fullmatch(unicodedata.normalize("NFKC", name)):
        yield _error(rule, f"`name: {name[:80]}` is not a valid name.", fix, field.line)
    elif not is_valid_on_windows(name):
        yield _error(rule, f"`name: {name}` is a device on Windows.", fix, field.line)
    elif folder_name is not None and name != folder_name:
        yield _error(
            "MAN-011",
            f"`name: {name}` differs from the folder's name, {folder_name}.",
            "The specification requires both to be the same: rename one of them.",
            field.line,
        )


def _check_description(field: Field) -> Iterator[Finding]:
    rule = "MAN-020"
    fix = f"Say in 1 to {MAX_DESCRIPTION:,} characters what the skill does and when to use it."
    if not isinstance(field.value, str):
        yield _error(rule, "`description` is not a string.", fix, field.line)
    elif not field.value.strip():
        yield _error(rule, "`description` is missing or empty.", fix, field.line)
    elif len(field.value) > MAX_DESCRIPTION:
        found = f"`description` has {len(field.value):,} characters."
        yield _error(rule, found, fix, field.line)


def _check_optional(frontmatter: Frontmatter) -> Iterator[Finding]:
    fields = frontmatter.fields
    if (found := fields.get("compatibility")) and not (
        isinstance(found.value, str) and 0 < len(found.value) <= MAX_COMPATIBILITY
    ):
        yield _error("MAN-030", "`compatibility` is not a string of 1 to 500 characters.",
                     "Shorten it or remove it.", found.line)  # fmt: skip
    if (found := fields.get("license")) and not isinstance(found.value, str):
        yield _error(
            "MAN-031", "`license` is not a string.", "Name the licence as a string.", found.line
        )
    if (found := fields.get("metadata")) and not isinstance(found.value, dict | str):
        yield _warning("MAN-032", "`metadata` contains more than plain strings; it is ignored.",
                       "Use keys with one string each.", found.line)  # fmt: skip
    if (found := fields.get("allowed-tools")) and not isinstance(found.value, str):
        yield _warning("MAN-033", "`allowed-tools` is not a string of names separated by spaces.",
                       "Write it as `allowed-tools: Read Grep`.", found.line)  # fmt: skip
    for name, field in fields.items():
        if name not in KNOWN_FIELDS:
            yield _warning("MAN-040", f"`{name[:80]}` is not a field of the specification.",
                           "Move it under `metadata` or remove it.", field.line)  # fmt: skip
    if not frontmatter.body:
        yield _warning("MAN-050", "There are no instructions below the frontmatter.",
                       "Tell the agent what to do.", None)  # fmt: skip


def _manifest(fields: dict[str, Field]) -> SkillManifest:
    def text(name: str) -> str | None:
        value = fields.get(name, _MISSING).value
        if isinstance(value, list):
            return " ".join(value)
        return value if isinstance(value, str) and value else None

    metadata = fields.get("metadata", _MISSING).value
    return SkillManifest(
        name=text("name") or "",
        description=text("description") or "",
        license=text("license"),
        compatibility=text("compatibility"),
        allowed_tools=text("allowed-tools"),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _error(rule: str, message: str, fix: str, line: int | None = 1) -> Finding:
    return Finding(
        rule=rule, severity=Severity.HIGH, message=message, fix=fix, file=MANIFEST, line=line
    )


def _warning(rule: str, message: str, fix: str, line: int | None) -> Finding:
    return Finding(
        rule=rule, severity=Severity.LOW, message=message, fix=fix, file=MANIFEST, line=line
    )
