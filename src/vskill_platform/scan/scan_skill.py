"""Run tier 1 on one skill, offline: read files, collect facts, match rules, derive the verdict."""

import gc
import hashlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import re2

from vskill_platform.errors import ScanError
from vskill_platform.model.similarity import SkillSketch
from vskill_platform.model.skill import Capabilities, SkillManifest
from vskill_platform.model.verdict import (
    Finding,
    FindingKind,
    Step,
    Verdict,
    in_order,
    score,
    verdict_from,
)
from vskill_platform.scan.collect.check_claims import check_claims
from vskill_platform.scan.collect.collect_facts import collect_facts
from vskill_platform.scan.collect.encoded_texts import encoded_facts
from vskill_platform.scan.collect.file_facts import file_facts, name_facts
from vskill_platform.scan.collect.flows_across_files import flows_across_files
from vskill_platform.scan.collect.instruction_files import mark_instruction_files
from vskill_platform.scan.collect.joined_files import joined_facts
from vskill_platform.scan.collect.link_facts import link_facts
from vskill_platform.scan.collect.run_files import mark_run_files
from vskill_platform.scan.collect.settings_facts import settings_facts
from vskill_platform.scan.collect.undeclared_addresses import undeclared_addresses
from vskill_platform.scan.facts.capabilities import list_capabilities
from vskill_platform.scan.facts.data_files import ruleset_version
from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, PartRole, storable
from vskill_platform.scan.facts.leaked_secrets import redact
from vskill_platform.scan.facts.packages import imitated_names
from vskill_platform.scan.read.license_terms import without_license_terms
from vskill_platform.scan.read.limits import check_limits, check_names
from vskill_platform.scan.read.list_files import list_files
from vskill_platform.scan.read.magic import CONTAINERS
from vskill_platform.scan.read.manifest import MANIFEST, check_manifest
from vskill_platform.scan.read.skill_files import MAX_FILES_READ, ScanFile, read_files
from vskill_platform.scan.rules.match_rules import Match, apply_rules
from vskill_platform.scan.rules.rules import load_rules
from vskill_platform.scan.settings_files.remote_settings import remote_settings

SCANNER = "vskill-tier1 1"
#: Python looks for reference cycles after this many new objects, because a scan leaves hardly any.
#: With Python's 700, the scan time of a large file of settings or code grows faster than the file.
_OBJECTS_BETWEEN_COLLECTIONS = 20_000
#: How much of a manifest's beginning, its frontmatter and title, is searched for its subject.
_HEAD = 1500
_TITLE = re.compile(r"^#[^\n]*", re.MULTILINE)
_SECURITY = re.compile(
    r"\b(?:security|pentest\w*|penetration test\w*|(?:red|blue)[ -]team\w*|vulnerab\w+|exploit\w*|"
    r"malware|threat|forensic\w*|incident response|ctf|hacking|attack\w*|adversar\w+|phishing|"
    r"intrusion|siem|soc|yara|detection|hardening|privilege escalation|offensive|"
    r"reverse engineering|osint|mitre|owasp|cve)\b",
    re.IGNORECASE,
)
#: Matches wherever the pattern above does, and excludes most texts in a tenth of the time.
_MAY_BE_ABOUT_SECURITY = re2.compile(f"(?i){_SECURITY.pattern}")

#: The languages of files whose lines are commands; files with these endings only set values.
_SHELLS = frozenset({"shell", "powershell"})
_SETTINGS = (".env", ".psd1")
#: Acts at the source and at the sink of a data flow; all others are between them.
_SOURCES = frozenset(
    {
        Act.READ_SECRET, Act.READ_ENV, Act.READ_ALL_ENV, Act.FETCH, Act.HOOK, Act.TELL_SECRET,
        Act.TELL_DOWNLOAD,
    }
)  # fmt: skip
_SINKS = frozenset(
    {
        Act.SEND, Act.LEAK, Act.RUN_REMOTE, Act.RUN_DECODED, Act.REVERSE_SHELL, Act.TELL_SEND,
        Act.TELL_LEAK, Act.TELL_SHARE, Act.TELL_TERMINAL,
    }
)  # fmt: skip


class OpenedFiles(NamedTuple):
    """The files of a skill with those inside its archives, and facts about unreadable archives."""

    files: list[ScanFile]
    unreadable: list[LocatedFact]


class ScanResult(msgspec.Struct, frozen=True, kw_only=True):
    verdict: Verdict
    score: int
    findings: tuple[Finding, ...]
    capabilities: Capabilities
    #: None if the manifest cannot be used; the findings say why.
    manifest: SkillManifest | None
    files: int
    duration_ms: float
    scanner: str
    ruleset: str
    #: The similarity sketch, computed only for a registry.
    sketch: SkillSketch | None = None

    def measured(self) -> SkillSketch:
        """Return the similarity sketch; raise if it is missing, or no copy would be found."""
        if self.sketch is None:
            raise ScanError("the skill's similarity was not measured")
        return self.sketch


Scan = Callable[[Path, str | None], ScanResult]


def scan_skill(folder: Path, folder_name: str | None) -> ScanResult:
    """Scan the files in *folder*; none of them is ever run."""
    with _rare_collections():
        return _scan(folder, folder_name)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect garbage less often; a process scans one skill at a time."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], _OBJECTS_BETWEEN_COLLECTIONS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _scan(folder: Path, folder_name: str | None) -> ScanResult:
    started = time.perf_counter()
    manifest, quality = check_manifest(folder, folder_name)
    found = list_files(folder)
    files = mark_run_files(read_files(folder, found))
    facts = all_facts(files)
    matches = apply_rules(load_rules(), facts, is_about_security=is_about_security(files))
    findings = in_order(
        (*quality, *check_limits(found), *check_names(found), *map(_finding, matches))
    )
    return ScanResult(
        verdict=verdict_from(findings),
        score=score(findings),
        findings=findings,
        capabilities=list_capabilities(facts, _shell_scripts(files)),
        manifest=manifest,
        files=len(files),
        duration_ms=round(1000 * (time.perf_counter() - started), 2),
        scanner=SCANNER,
        ruleset=ruleset_version(),
    )


def _shell_scripts(files: Iterable[ScanFile]) -> list[str]:
    return [
        file.path
        for file in files
        if file.language in _SHELLS
        and (file.role is PartRole.SCRIPT or file.is_run)
        and not file.path.endswith(_SETTINGS)
    ]


def renew_verdict(result: ScanResult, findings: Iterable[Finding]) -> ScanResult:
    """Return the result with other findings, and the verdict and score derived from them."""
    ordered = in_order(findings)
    return msgspec.structs.replace(
        result, findings=ordered, verdict=verdict_from(ordered), score=score(ordered)
    )


def is_about_security(files: list[ScanFile]) -> bool:
    """Return whether a skill is about security, by its name and description."""
    manifest = _manifest_of(files)[:_HEAD]
    head = manifest[: _end_of_title(manifest)]
    may_be = _MAY_BE_ABOUT_SECURITY.search(head.encode(errors="replace"))
    return may_be is not None and _SECURITY.search(head) is not None


def _end_of_title(manifest: str) -> int:
    """Return the end of the frontmatter and the title; the text below may mention anything."""
    end = manifest.find("\n---", 3) if manifest.startswith("---") else 0
    if end < 0:
        return len(manifest)
    title = _TITLE.search(manifest, end)
    return title.end() if title else end


def _manifest_of(files: list[ScanFile]) -> str:
    return next((file.text for file in files if file.path == MANIFEST), "")


def all_facts(files: list[ScanFile]) -> list[LocatedFact]:
    """Collect what the files of a skill do and say, including archives, without a judgement."""
    return facts_of(open_files(files))


def open_files(files: list[ScanFile]) -> OpenedFiles:
    """Add the files inside archives, and set each file's role."""
    everything, unreadable = files, []
    if any(file.kind in CONTAINERS for file in files):
        from vskill_platform.scan.collect import inner_files  # noqa: PLC0415 - few skills have archives

        inside = inner_files.open_containers(files, _manifest_of(files))
        everything, unreadable = [*files, *inside.files], inside.facts
    if len(files) >= MAX_FILES_READ:
        rest = Fact(act=Act.OPAQUE, line=1, text="more files than can be scanned", detail="cut")
        unreadable = [
            *unreadable,
            LocatedFact(fact=rest, path=files[-1].path, role=PartRole.DOCUMENT),
        ]
    return OpenedFiles(mark_instruction_files(everything), unreadable)


def facts_of(opened: OpenedFiles) -> list[LocatedFact]:
    files = [_without_license_terms(file) for file in opened.files]
    facts = [
        *collect_facts(files), *file_facts(files), *name_facts(files), *settings_facts(files),
        *encoded_facts(files), *link_facts(files), *joined_facts(files), *remote_settings(files),
        *opened.unreadable,
    ]  # fmt: skip
    return [
        *facts, *imitated_names(facts), *flows_across_files(files, facts),
        *check_claims(files, facts), *undeclared_addresses(files, facts),
    ]  # fmt: skip


def _without_license_terms(file: ScanFile) -> ScanFile:
    """Leave out the terms, unless the file is run or is one that the agent obeys."""
    if file.role not in {PartRole.DOCUMENT, PartRole.REFERENCE} or file.is_run or file.is_obeyed:
        return file
    text = without_license_terms(file.text)
    return file if text is file.text else msgspec.structs.replace(file, text=text)


def _finding(match: Match) -> Finding:
    rule, (first, *others) = match.rule, match.facts
    evidence = (first.fact.text, *(f"{at.path}:{at.fact.line} {at.fact.text}" for at in others))
    evidence = tuple(map(redact, evidence))
    seal = hashlib.sha256(f"{rule.id}\0{first.path}\0{first.fact.text}".encode())
    return Finding(
        rule=rule.id,
        severity=match.severity,
        message=redact(_message(rule.title, first)),
        fix=rule.fix,
        file=first.path,
        line=first.fact.line,
        kind=FindingKind(rule.kind),
        why=rule.why,
        evidence=evidence,
        steps=_steps(match.facts),
        lowered=match.lowered,
        references=tuple(rule.references),
        fingerprint=seal.hexdigest()[:16],
    )


def _steps(facts: tuple[LocatedFact, ...]) -> tuple[Step, ...]:
    """Sort the locations in the order of the data flow."""
    if len(facts) == 1:
        return ()
    ordered = sorted(facts, key=lambda at: (at.fact.act in _SINKS) - (at.fact.act in _SOURCES))
    return tuple(
        Step(at.path, at.fact.line, at.fact.act.value, redact(at.fact.text)) for at in ordered
    )


def _message(title: str, located: LocatedFact) -> str:
    fact = located.fact
    named = {Act.INSTALL_LOOKALIKE: fact.detail, Act.EXPOSED: fact.text}
    what = named.get(fact.act, fact.host)
    return f"{title} ({storable(what)})." if what else f"{title}."
