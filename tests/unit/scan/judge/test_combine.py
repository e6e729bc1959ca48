"""Combining a judgement with tier 1: a manipulated judge is never worse than none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from tests.clocks import NOON
from vskill_platform.model.judgement import Judgement, Opinion, Reason
from vskill_platform.model.verdict import Finding, FindingKind, Severity, Verdict, verdict_from
from vskill_platform.scan.judge.combine import combine

REASON = Reason(claim="It sends notes away.", file="SKILL.md", line=3, quote="send it")
ORDER = [Verdict.PASS, Verdict.REVIEW, Verdict.BLOCK]


def a_judgement(opinion: Opinion, confidence: float = 0.95, **changes: Any) -> Judgement:
    values: dict[str, Any] = {
        "opinion": opinion,
        "confidence": confidence,
        "summary": "It tidies notes.",
        "reasons": () if opinion is Opinion.PUBLISH else (REASON,),
        "unseen": (),
        "model": "test-model",
        "answered_by": "test-model",
        "prompt": "1",
        "asked_at": NOON,
        "duration_seconds": 1.0,
        "tokens_in": 1,
        "tokens_out": 1,
        "cost": 0.0,
    }
    return Judgement(**{**values, **changes})


def a_finding(severity: Severity, kind: FindingKind = FindingKind.RISKY) -> Finding:
    return Finding(rule=f"X-{severity}-{kind}", severity=severity, kind=kind, message="m", fix="f")


def verdict_of(*findings: Finding, by: Judgement, may_lower: bool = False) -> Verdict:
    return verdict_from(combine(findings, by, may_lower=may_lower))


findings_strategy = st.lists(
    st.builds(a_finding, st.sampled_from(Severity), st.sampled_from(FindingKind)), max_size=5
).map(tuple)
judgements = st.builds(
    a_judgement,
    st.sampled_from(Opinion),
    st.floats(0, 1),
    unseen=st.sampled_from([(), ("SKILL.md",)]),
)


@all_cases(
    ("opinion", "confidence", "verdict"),
    [
        (Opinion.PUBLISH, 0.9, Verdict.PASS),
        (Opinion.PUBLISH, 0.4, Verdict.REVIEW),
        (Opinion.REVIEW, 0.9, Verdict.REVIEW),
        (Opinion.REVIEW, 0.1, Verdict.REVIEW),
        (Opinion.REJECT, 0.9, Verdict.BLOCK),
        (Opinion.REJECT, 0.6, Verdict.REVIEW),
    ],
)
def test_a_judge_decides_about_a_clean_skill(
    opinion: Opinion, confidence: float, verdict: Verdict
) -> None:
    assert verdict_of(by=a_judgement(opinion, confidence)) is verdict


def test_a_reason_becomes_a_finding_with_place_and_words() -> None:
    (finding,) = combine((), a_judgement(Opinion.REJECT), may_lower=False)

    assert (finding.rule, finding.severity) == ("JUDGE-001", Severity.CRITICAL)
    assert (finding.file, finding.line, finding.evidence) == ("SKILL.md", 3, ("send it",))
    assert "It sends notes away." in finding.message
    assert finding.fix


def test_files_not_shown_in_full_need_review() -> None:
    judgement = a_judgement(Opinion.PUBLISH, unseen=("SKILL.md", "run.sh"))

    (finding,) = combine((), judgement, may_lower=True)

    assert (finding.rule, finding.file) == ("JUDGE-003", "SKILL.md")
    assert "and 1 more file." in finding.message
    assert verdict_of(by=judgement) is Verdict.REVIEW


@given(findings_strategy, judgements)
def test_a_judge_never_makes_a_verdict_better(
    findings: tuple[Finding, ...], judgement: Judgement
) -> None:
    before, after = verdict_from(findings), verdict_of(*findings, by=judgement)

    assert ORDER.index(after) >= ORDER.index(before)


@given(findings_strategy, findings_strategy, judgements, st.booleans())
def test_more_findings_never_lead_to_publication(
    findings: tuple[Finding, ...], more: tuple[Finding, ...], judgement: Judgement, may_lower: bool
) -> None:
    fewer = verdict_of(*findings, by=judgement, may_lower=may_lower)
    all_of_them = verdict_of(*findings, *more, by=judgement, may_lower=may_lower)

    assert ORDER.index(all_of_them) >= ORDER.index(fewer)


@given(findings_strategy, judgements)
def test_a_judge_that_may_lower_does_so_by_one_step_and_never_a_severe_finding(
    findings: tuple[Finding, ...], judgement: Judgement
) -> None:
    before, after = verdict_from(findings), verdict_of(*findings, by=judgement, may_lower=True)

    if ORDER.index(after) < ORDER.index(before):
        assert (before, after) == (Verdict.REVIEW, Verdict.PASS)
        assert judgement.opinion is Opinion.PUBLISH
        assert not any(
            finding.severity in {Severity.CRITICAL, Severity.HIGH}
            for finding in findings
            if finding.kind not in {FindingKind.QUALITY, FindingKind.EXPOSURE}
        )


@pytest.mark.parametrize(
    ("kind", "severity", "verdict"),
    [
        (FindingKind.RISKY, Severity.MEDIUM, Verdict.PASS),
        (FindingKind.RISKY, Severity.HIGH, Verdict.REVIEW),
        (FindingKind.OPAQUE, Severity.MEDIUM, Verdict.REVIEW),
        (FindingKind.MALICIOUS, Severity.MEDIUM, Verdict.REVIEW),
        (FindingKind.MALICIOUS, Severity.CRITICAL, Verdict.BLOCK),
    ],
)
def test_only_a_medium_risk_can_be_lowered(
    kind: FindingKind, severity: Severity, verdict: Verdict
) -> None:
    finding = a_finding(severity, kind)

    assert verdict_of(finding, by=a_judgement(Opinion.PUBLISH), may_lower=True) is verdict


def test_a_finding_lowered_by_a_judge_says_why() -> None:
    quality = a_finding(Severity.LOW, FindingKind.QUALITY)

    lowered, kept = combine(
        (a_finding(Severity.MEDIUM), quality), a_judgement(Opinion.PUBLISH), may_lower=True
    )

    assert lowered.lowered == "the judge (test-model) sees no harm in it: It tidies notes."
    assert lowered.severity is Severity.LOW
    assert kept == quality


def test_an_unsure_judge_lowers_nothing() -> None:
    hesitant = a_judgement(Opinion.PUBLISH, 0.7)

    assert verdict_of(a_finding(Severity.MEDIUM), by=hesitant, may_lower=True) is Verdict.REVIEW
