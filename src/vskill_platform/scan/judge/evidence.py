"""Select the evidence about a skill for the judge: facts with ids, and texts line by line."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from vskill_platform.model.skill import Capabilities
from vskill_platform.scan.collect.run_files import mark_run_files
from vskill_platform.scan.facts.capabilities import list_capabilities
from vskill_platform.scan.facts.facts import Act, LocatedFact, PartRole
from vskill_platform.scan.facts.leaked_secrets import redact
from vskill_platform.scan.read.magic import FileType
from vskill_platform.scan.read.manifest import MANIFEST
from vskill_platform.scan.read.skill_files import ScanFile, read_skill_files
from vskill_platform.scan.rules.match_rules import apply_rules
from vskill_platform.scan.rules.rules import load_rules
from vskill_platform.scan.scan_skill import facts_of, is_about_security, open_files

#: Shares of the question: facts, capabilities and names help to find a location, but the texts are
#: judged.
_SHARE_OF_FACTS, _SHARE_OF_CAPABILITIES, _SHARE_OF_NAMES = 0.25, 0.1, 0.05
_MAX_FACTS = 300
#: The overhead of a line (its number and a bar), of a fact, and of a file.
_MARGIN, _FRAME, _HEADING = 8, 80, 64
#: With more documents that nothing names, one that is left out may be hidden on purpose.
_FLOOD = 100
#: Acts of files that could not be read.
_UNREAD = frozenset({Act.OPAQUE, Act.EXECUTABLE, Act.ENCODED, Act.HIDDEN})
#: Data of an unknown kind that nothing runs.
_HARMLESS = "unknown"
#: Formats of tables, pictures and logs; every other text may contain orders.
_DATA = (".csv", ".tsv", ".jsonl", ".ndjson", ".geojson", ".svg", ".log", ".lock", ".srt", ".vtt")
_ROLES = {role: place for place, role in enumerate(PartRole)}
_NOT_PLAIN = re.compile(r"[^\t\x20-\x7e]")
#: Control, format, surrogate, private and unassigned characters, and unusual line ends.
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: Variation selectors that no emoji needs: they can smuggle text.
_SELECTORS = range(0xE0100, 0xE01F0)


Item = TypeVar("Item")
_Key = tuple[str, int, PartRole, str, str, str]


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One fact at one location, without the scanner's opinion of it."""

    id: str
    path: str
    line: int
    role: PartRole
    act: str
    text: str
    host: str = ""


class EvidenceFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    role: PartRole
    lines: tuple[str, ...]
    is_cut: bool = False


class JudgeEvidence(msgspec.Struct, frozen=True, kw_only=True):
    spans: tuple[Span, ...]
    files: tuple[EvidenceFile, ...]
    capabilities: Capabilities
    #: Files that are not shown at all, because they are not text or too large.
    left_out: tuple[str, ...] = ()
    #: Files that are not shown in full, although the agent would obey or run them, or tier 1 could
    #: not read them or lowered a finding in them.
    unseen: tuple[str, ...] = ()

    def texts(self) -> Iterable[str]:
        """Yield all texts that come from the skill."""
        for span in self.spans:
            yield from (span.path, span.text, span.host)
        for file in self.files:
            yield file.path
            yield from file.lines
        for values in self.capabilities.values():
            yield from values
        yield from self.left_out


def gather_evidence(folder: Path, max_chars: int) -> JudgeEvidence:
    """Choose the files to show: first those that are obeyed, then run, then read."""
    own = mark_run_files(read_skill_files(folder))
    opened = open_files(own)
    facts = facts_of(opened)
    unread = _unread_paths(facts)
    needed = _most_needed(facts, own)
    telling = {one.path for one in needed}
    files = sorted(opened.files, key=lambda file: _rank(file, telling))
    is_flood = sum(map(_is_unlinked, files)) > _FLOOD
    ordered = list(dict.fromkeys(map(_key, [*needed, *facts])))[:_MAX_FACTS]
    spans = tuple(_fitting(_spans(ordered), _size, int(max_chars * _SHARE_OF_FACTS)))
    dropped = {path for path, *_ in set(map(_key, needed)) - set(ordered[: len(spans)])}
    capabilities = _capabilities(facts, int(max_chars * _SHARE_OF_CAPABILITIES))
    names = int(max_chars * _SHARE_OF_NAMES)
    room = max_chars - names - sum(map(_size, spans)) - _size_of_all(capabilities)
    shown, left_out, unseen = [], [], []
    for file in files:
        one = _show(file, room - len(file.path) - _HEADING) if _is_text(file) else None
        if one is None or not one.lines:
            left_out.append(clean(file.path))
        else:
            shown.append(one)
            room -= len(one.path) + _HEADING + sum(len(line) + _MARGIN for line in one.lines)
        is_lost = file.path in dropped or (is_flood and _is_unlinked(file))
        is_cut = one is None or one.is_cut
        if _is_unseen(file, one) or file.path in unread or (is_lost and is_cut):
            unseen.append(clean(file.path))
    return JudgeEvidence(
        spans=spans,
        files=tuple(shown),
        capabilities=capabilities,
        left_out=tuple(_fitting(left_out, len, names)),
        unseen=tuple(unseen),
    )


def _rank(file: ScanFile, telling: set[str]) -> tuple[int, bool, bool, int]:
    """Put small files first, so that one huge file cannot displace the others.

    Before them come those in which tier 1 found something, so that many small ones cannot, either.
    """
    return _ROLES[file.role], file.path != MANIFEST, file.path not in telling, len(file.text)


def _unread_paths(facts: list[LocatedFact]) -> frozenset[str]:
    """Return the files that tier 1 could not read, including archives that could not be opened."""
    return frozenset(
        one.path
        for one in facts
        if one.fact.act is Act.EXECUTABLE
        or (one.fact.act is Act.OPAQUE and one.fact.detail != _HARMLESS)
    )


def _is_unseen(file: ScanFile, shown: EvidenceFile | None) -> bool:
    """Return whether an agent would obey or run a part of a file that the judge does not see."""
    if shown is None:  # no text: a picture or document that the agent is told to follow
        return file.is_run or file.role is PartRole.INSTRUCTION
    return shown.is_cut and _is_obeyed(file)


def _most_needed(facts: list[LocatedFact], files: list[ScanFile]) -> list[LocatedFact]:
    """Sort facts: first those about unreadable files, then those that tier 1 lowered, then others.

    Nothing else checks the first ones again, so a flood of other facts must not displace them.
    """
    unread = [one for one in facts if one.fact.act in _UNREAD]
    is_shown = is_about_security(files)
    matches = apply_rules(load_rules(), facts, is_about_security=is_shown)
    lowered = [fact for match in matches if match.lowered for fact in match.facts]
    others = [fact for match in matches for fact in match.facts]
    return [*unread, *lowered, *others]


def clean(text: str) -> str:
    """Escape invisible characters, so that the judge sees nothing that a reader cannot see."""
    return _NOT_PLAIN.sub(_spell, text)


def _spell(found: re.Match[str]) -> str:
    char = found[0]
    is_unseen = unicodedata.category(char) in _UNSEEN_CATEGORIES or ord(char) in _SELECTORS
    return f"<U+{ord(char):04X}>" if is_unseen else char


def _capabilities(facts: list[LocatedFact], room: int) -> Capabilities:
    """Take as many capabilities of each kind as fit into its share."""
    found = list_capabilities(facts)
    share = room // max(len(found), 1)
    return {kind: tuple(_fitting(map(clean, values), len, share)) for kind, values in found.items()}


def _size_of_all(capabilities: Capabilities) -> int:
    return sum(len(value) for values in capabilities.values() for value in values)


def _fitting(items: Iterable[Item], size: Callable[[Item], int], room: int) -> Iterator[Item]:
    """Yield items until the next one does not fit."""
    for item in items:
        room -= size(item)
        if room < 0:
            return
        yield item


def _size(span: Span) -> int:
    return len(span.path) + len(span.text) + len(span.host) + _FRAME


def _spans(facts: Iterable[_Key]) -> Iterator[Span]:
    for number, (path, line, role, act, text, host) in enumerate(facts, start=1):
        yield Span(
            id=f"S{number}",
            path=clean(path),
            line=line,
            role=role,
            act=act,
            text=clean(redact(text)),
            host=clean(host),
        )


def _key(located: LocatedFact) -> _Key:
    fact = located.fact
    return located.path, fact.line, located.role, fact.act.value, fact.text, fact.host or ""


def _show(file: ScanFile, room: int) -> EvidenceFile:
    """Return as many lines as fit; the last one may be cut."""
    lines: list[str] = []
    is_cut = file.is_cut
    for raw in redact(file.text).split("\n"):  # do not pass on a leaked key
        room -= _MARGIN
        if room <= 0:
            is_cut = True
            break
        line = clean(raw.removesuffix("\r")[: room + 1])
        if len(line) > room:
            lines.append(line[:room])
            is_cut = True
            break
        lines.append(line)
        room -= len(line)
    return EvidenceFile(path=clean(file.path), role=file.role, lines=tuple(lines), is_cut=is_cut)


def _is_text(file: ScanFile) -> bool:
    return file.kind is FileType.TEXT


def _is_unlinked(file: ScanFile) -> bool:
    """Return whether it is a document that the instructions don't name."""
    return _is_text(file) and file.role is PartRole.DOCUMENT


def _is_obeyed(file: ScanFile) -> bool:
    """Return whether an agent would obey or run the file, or is told to read it."""
    is_read = file.role is PartRole.REFERENCE and not file.path.lower().endswith(_DATA)
    return is_read or file.role in {PartRole.INSTRUCTION, PartRole.SCRIPT}
