"""Read the source lines around a finding from the skill's files."""

import os
import stat
from pathlib import Path, PurePosixPath

import msgspec

from vskill_platform.base.show_text import show
from vskill_platform.model.verdict import Finding
from vskill_platform.scan.facts.leaked_secrets import redact
from vskill_platform.scan.read.decode_bytes import text_of
from vskill_platform.scan.read.skill_files import MAX_TEXT_BYTES

LINES_AROUND = 2
#: Separates an archive from its member; lines of members are not read again.
IN_ARCHIVE = "!/"
MAX_LINE_CHARACTERS = 200
MAX_OTHER_PLACES = 3


class Line(msgspec.Struct, frozen=True):
    number: int
    text: str
    #: Whether this is the line of the finding.
    is_it: bool


def lines_around(folder: Path, finding: Finding) -> tuple[Line, ...]:
    """Return lines that are safe to show; none if the file is not a text file of the skill."""
    if not finding.file or not finding.line:
        return ()
    if IN_ARCHIVE in finding.file:
        return tuple(
            Line(number=finding.line, text=show(redact(text)), is_it=True)
            for text in finding.evidence[:1]
        )
    return lines_of(split_text(_read(folder, finding.file)), finding)


def split_text(text: str) -> list[str]:
    """Return the lines with secrets redacted, given the whole text, because keys span lines."""
    return redact(text).split("\n")


def lines_of(lines: list[str], finding: Finding) -> tuple[Line, ...]:
    """Return the lines around a finding that has a line."""
    if not finding.line:
        return ()
    first = max(finding.line - LINES_AROUND, 1)
    chosen = lines[first - 1 : finding.line + LINES_AROUND]
    if len(lines) < finding.line or "\0" in "".join(chosen):
        return ()
    return tuple(
        Line(number, _prepare(text, finding), number == finding.line)
        for number, text in enumerate(chosen, first)
    )


def _read(folder: Path, file: str) -> str:
    """Read a file of the skill; archive members cannot be read."""
    path = PurePosixPath(file)
    if path.is_absolute() or ".." in path.parts:
        return ""
    try:
        descriptor = os.open(folder / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        raw = opened.read(MAX_TEXT_BYTES)
    return text_of(raw)


def _prepare(text: str, finding: Finding) -> str:
    text = text.removesuffix("\r")
    if len(text) > MAX_LINE_CHARACTERS:
        text = _cut(text, finding.evidence[0] if finding.evidence else "")
    return show(text, limit=2 * MAX_LINE_CHARACTERS)


def _cut(text: str, evidence: str) -> str:
    """Keep the matched part of a long line."""
    found = max(text.find(evidence.rstrip("…")[:40]), 0) if evidence else 0
    start = max(found - MAX_LINE_CHARACTERS // 4, 0)
    end = start + MAX_LINE_CHARACTERS
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def without_secrets(finding: Finding) -> Finding:
    """Return the finding without secrets, because a report must not spread them."""
    return msgspec.structs.replace(
        finding,
        message=redact(finding.message),
        evidence=tuple(map(redact, finding.evidence)),
        steps=tuple(
            msgspec.structs.replace(step, text=redact(step.text)) for step in finding.steps
        ),
    )


def other_places(finding: Finding) -> list[str]:
    """Return the other locations of a finding, without its own line."""
    own = f"{finding.file}:{finding.line} "
    others = dict.fromkeys(text for text in finding.evidence[1:] if not text.startswith(own))
    return list(others)[:MAX_OTHER_PLACES]
