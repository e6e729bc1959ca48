"""Every rule matches its malicious sample and not its benign one."""

import re
from pathlib import Path

from tests.cases import all_cases
from vskill_platform.model.verdict import Severity
from vskill_platform.scan.facts.data_files import ruleset_version
from vskill_platform.scan.rules.rules import Rule, load_rules
from vskill_platform.scan.scan_skill import ScanResult, scan_skill

RULES = load_rules()
#: Samples that are no text: what a name at their beginning stands for.
BINARIES = {
    "ELF": b"\x7fELF\x02\x01\x01\x00" + bytes(64),
    "7z": b"7z\xbc\xaf\x27\x1c" + bytes(64),
    "data": bytes(range(256)),
}
FILES = {
    "svg": "picture.svg",
    **{name: name for name in ("package.json", "setup.sh", "setup.py", "requirements.txt")},
}


def scanned(tmp_path: Path, sample: str) -> ScanResult:
    """Scan a skill that holds the sample, as its text or as the file that it names."""
    kind, _, content = sample.partition(":")
    text, head = sample, ""
    if kind == "frontmatter":
        text, head = "Take notes.", f"{content}\n"
    elif kind == "binary":
        text = "Run the tool."
        (tmp_path / "tool").write_bytes(BINARIES[content])
    elif kind in FILES:
        text = f"Use {FILES[kind]}."
        (tmp_path / FILES[kind]).write_text(content)
    head = f"---\nname: sample\ndescription: Helps with notes.\n{head}---\n"
    manifest = f"{head}\n# Notes\n\n{text}\n"
    (tmp_path / "SKILL.md").write_text(manifest)
    return scan_skill(tmp_path, None)


@all_cases("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_finds_its_bad_sample(tmp_path: Path, rule: Rule) -> None:
    result = scanned(tmp_path, rule.bad)

    found = {finding.rule: finding.severity for finding in result.findings}
    assert found.get(rule.id) is rule.severity


@all_cases("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_spares_its_good_sample(tmp_path: Path, rule: Rule) -> None:
    result = scanned(tmp_path, rule.good)

    grave = {
        finding.rule
        for finding in result.findings
        if finding.severity in {Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM}
    }
    assert rule.id not in {finding.rule for finding in result.findings}
    assert grave == set()


@all_cases("rule", RULES, ids=lambda rule: rule.id)
def test_line_ends_of_windows_change_nothing(tmp_path: Path, rule: Rule) -> None:
    usual = [finding.rule for finding in scanned(tmp_path, rule.bad).findings]
    for path in tmp_path.iterdir():
        raw = path.read_bytes()
        if b"\0" not in raw:
            path.write_bytes(raw.replace(b"\n", b"\r\n"))

    found = [finding.rule for finding in scan_skill(tmp_path, None).findings]

    assert found == usual


def test_ids_are_unique_and_well_formed() -> None:
    ids = [rule.id for rule in RULES]

    assert len(ids) == len(set(ids))
    assert len(RULES) == len({rule.title for rule in RULES})
    assert all(re.fullmatch(r"SKR-[A-Z]+-\d{3}", rule_id) for rule_id in ids)


@all_cases("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_why_and_how_to_fix_it(rule: Rule) -> None:
    assert 2 <= len(rule.title.split()) <= 8
    assert rule.category.islower()
    assert len(rule.why) > 20
    assert len(rule.fix) > 8
    assert all(reference.startswith("https://") for reference in rule.references)


def test_the_rule_set_has_a_version() -> None:
    assert re.fullmatch(r"[0-9a-f]{12}", ruleset_version())
