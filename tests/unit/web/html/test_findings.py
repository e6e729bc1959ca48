"""Findings grouped by place: one card per line, and a stable link to each."""

from tests.cases import all_cases
from tests.unit.web.pages_cast import a_finding
from vskill_platform.model.verdict import Severity
from vskill_platform.scan.rules.rules import load_rules
from vskill_platform.web.html.findings import group_findings, reference_name


def test_findings_of_one_line_are_one_group_with_the_most_severe_first() -> None:
    worst = a_finding(rule="A", severity=Severity.CRITICAL, fingerprint="a")
    other = a_finding(rule="B", line=7, fingerprint="b")
    same = a_finding(rule="C", fingerprint="c")

    groups = group_findings([worst, other, same])

    assert [(group.first.item.rule, [one.item.rule for one in group.rest]) for group in groups] == [
        ("A", ["C"]),
        ("B", []),
    ]


def test_findings_without_a_line_stay_alone() -> None:
    whole = [a_finding(rule=rule, line=None, fingerprint=rule) for rule in "AB"]

    assert [len(group.rest) for group in group_findings(whole)] == [0, 0]


def test_the_link_to_a_finding_depends_on_the_finding_alone() -> None:
    one, two = a_finding(fingerprint="one"), a_finding(fingerprint="two", line=9)

    alone = group_findings([two])[0].first.anchor
    after = group_findings([one, two])[1].first.anchor

    assert alone == after == "finding-two"


def test_no_two_findings_of_a_page_share_a_link() -> None:
    twins = [
        a_finding(fingerprint=""),
        a_finding(fingerprint=""),
        a_finding(fingerprint="", line=9),
    ]

    groups = group_findings(twins)
    anchors = [one.anchor for group in groups for one in (group.first, *group.rest)]

    assert anchors == ["finding-SKR-RUN-004", "finding-SKR-RUN-004-2", "finding-SKR-RUN-004-3"]


@all_cases(
    ("address", "name"),
    [
        ("https://attack.mitre.org/techniques/T1552/", "ATT&CK T1552"),
        ("https://attack.mitre.org/techniques/T1204/002/", "ATT&CK T1204.002"),
        ("https://atlas.mitre.org/techniques/AML.T0051", "ATLAS AML.T0051"),
        ("https://genai.owasp.org/llmrisk/llm01-prompt-injection/", "OWASP LLM01"),
        ("https://genai.owasp.org/llmrisk/llm062025-excessive-agency/", "OWASP LLM06"),
        ("https://cwe.mitre.org/data/definitions/798.html", "CWE-798"),
        ("javascript:alert(1)", ""),
        ("https://evil.example/?https://cwe.mitre.org/data/definitions/798.html", ""),
    ],
)
def test_a_public_reference_has_its_usual_name(address: str, name: str) -> None:
    assert reference_name(address) == name


def test_every_reference_of_the_rules_has_a_name() -> None:
    references = {address for rule in load_rules() for address in rule.references}

    assert [address for address in references if not reference_name(address)] == []
