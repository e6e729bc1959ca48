"""Tier 1 over one skill: read, collect facts, compose, judge. Offline, and the same every time."""

import hashlib
import re
import time
from pathlib import Path

import msgspec

from vskill_platform.model.skill import SkillManifest
from vskill_platform.model.verdict import Finding, FindingKind, Severity, Verdict, judge, score
from vskill_platform.scan.capabilities import Capabilities, list_capabilities
from vskill_platform.scan.collect import Placed, collect_facts
from vskill_platform.scan.compose import Match, apply_rules
from vskill_platform.scan.data_files import ruleset_version
from vskill_platform.scan.facts import Act, Fact, storable
from vskill_platform.scan.file_facts import file_facts
from vskill_platform.scan.limits import check_limits
from vskill_platform.scan.manifest import MANIFEST, check_manifest
from vskill_platform.scan.rules import load_rules
from vskill_platform.scan.skill_files import MAX_FILES, Role, ScanFile, read_skill_files

SCANNER = "vskill-tier1 1"
#: Where a manifest says what it is about.
_HEAD, _TITLE = 1500, 300
_SECURITY = re.compile(
    r"\b(?:security|pentest\w*|penetration test\w*|(?:red|blue)[ -]team\w*|vulnerab\w+|exploit\w*|"
    r"malware|threat|forensic\w*|incident response|ctf|hacking|attack\w*|adversar\w+|phishing|"
    r"intrusion|siem|soc|yara|detection|hardening|privilege escalation|offensive|"
    r"reverse engineering|osint|mitre|owasp|cve)\b",
    re.IGNORECASE,
)
_ORDER = {severity: place for place, severity in enumerate(Severity)}


class ScanResult(msgspec.Struct, frozen=True, kw_only=True):
    verdict: Verdict
    score: int
    findings: tuple[Finding, ...]
    capabilities: Capabilities
    #: None when the manifest cannot be used; the findings say why.
    manifest: SkillManifest | None
    files: int
    duration_ms: float
    scanner: str
    ruleset: str


def scan_skill(folder: Path, folder_name: str | None) -> ScanResult:
    """Scan the files in *folder*; nothing of them is ever run."""
    started = time.perf_counter()
    manifest, quality = check_manifest(folder, folder_name)
    files = read_skill_files(folder)
    facts = _all_facts(files)
    matches = apply_rules(load_rules(), facts, is_about_security=is_about_security(files))
    found = (*quality, *check_limits(folder), *(_finding(match) for match in matches))
    findings = tuple(sorted(found, key=lambda item: (_ORDER[item.severity], item.rule)))
    return ScanResult(
        verdict=judge(findings),
        score=score(findings),
        findings=findings,
        capabilities=list_capabilities(facts),
        manifest=manifest,
        files=len(files),
        duration_ms=round(1000 * (time.perf_counter() - started), 2),
        scanner=SCANNER,
        ruleset=ruleset_version(),
    )


def is_about_security(files: list[ScanFile]) -> bool:
    """Tell by its name and description whether a skill is about attack and defence."""
    manifest = next((file.text for file in files if file.path == MANIFEST), "")
    head = manifest[:_HEAD] if manifest.startswith("---") else manifest[:_TITLE]
    return _SECURITY.search(head) is not None


def _all_facts(files: list[ScanFile]) -> list[Placed]:
    facts = [*collect_facts(files), *file_facts(files)]
    if len(files) >= MAX_FILES:
        rest = Fact(act=Act.OPAQUE, line=1, text="more files than are read", detail="cut")
        facts.append(Placed(fact=rest, path=files[-1].path, role=Role.DOCUMENT))
    return facts


def _finding(match: Match) -> Finding:
    rule, (first, *others) = match.rule, match.facts
    evidence = (first.fact.text, *(f"{at.path}:{at.fact.line} {at.fact.text}" for at in others))
    seal = hashlib.sha256(f"{rule.id}\0{first.path}\0{first.fact.text}".encode())
    return Finding(
        rule=rule.id,
        severity=match.severity,
        message=_message(rule.title, first),
        fix=rule.fix,
        file=first.path,
        line=first.fact.line,
        kind=FindingKind(rule.kind),
        why=rule.why,
        evidence=evidence,
        lowered=match.lowered,
        references=tuple(rule.references),
        fingerprint=seal.hexdigest()[:16],
    )


def _message(title: str, placed: Placed) -> str:
    host = placed.fact.host
    return f"{title} ({storable(host)})." if host else f"{title}."
