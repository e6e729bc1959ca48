"""The decision: without I/O, explained, and never more lenient than the policy."""

from datetime import date, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from tests.casts import a_submission
from tests.clocks import NOON
from vskill_platform.model.decision import (
    Decision,
    Outcome,
    PolicySubject,
    check_sizes,
    decide,
    resized,
    subject_of,
)
from vskill_platform.model.policy import (
    KindThresholds,
    Level,
    NamespacePolicy,
    Policy,
    PolicyLimits,
    Suppression,
    Thresholds,
    Trust,
    digest_of,
)
from vskill_platform.model.skill import SkillFile
from vskill_platform.model.source import git_source, upload_source
from vskill_platform.model.verdict import (
    BLOCKING,
    Finding,
    FindingKind,
    Report,
    Severity,
    Verdict,
    verdict_from,
)

TODAY = NOON.date()
ACME = "github.com/acme"
SUBJECT = PolicySubject(
    names=("acme/tools/x",), namespaces=("acme/tools", "github.com/acme/tools"), publisher=ACME
)
_GRAVITY = {Outcome.PUBLISH: 0, Outcome.REVIEW: 1, Outcome.REJECT: 2}
_BY_VERDICT = {
    Verdict.PASS: Outcome.PUBLISH,
    Verdict.REVIEW: Outcome.REVIEW,
    Verdict.BLOCK: Outcome.REJECT,
}
#: From what catches nothing to what catches all.
LEVELS = [Level.NEVER, Level.CRITICAL, Level.HIGH, Level.MEDIUM, Level.LOW, Level.INFO]


def a_finding(
    severity: Severity = Severity.MEDIUM, kind: FindingKind = FindingKind.RISKY, **fields: Any
) -> Finding:
    values: dict[str, Any] = {
        "rule": "SKR-RUN-002", "message": "Code is run.", "fix": "Do not.", "file": "run.sh",
    }  # fmt: skip
    return Finding(severity=severity, kind=kind, **{**values, **fields})


def a_report(*findings: Finding) -> Report:
    return Report(
        submission_id="sub_1",
        verdict=verdict_from(findings),
        findings=findings,
        digest="0" * 64,
        scanner="test",
        checked_at=NOON,
        duration_seconds=0,
    )


def decided(*findings: Finding, policy: Policy | None = None) -> Decision:
    return decide(a_report(*findings), policy or Policy(), SUBJECT, today=TODAY)


def with_thresholds(**fields: Any) -> Policy:
    return Policy(thresholds=Thresholds(**fields))


def test_without_a_policy_nothing_found_is_published() -> None:
    assert decided().outcome is Outcome.PUBLISH
    assert decided().clause == "no finding reaches review_at = medium"


def test_a_decision_names_what_decided() -> None:
    decision = decided(a_finding(line=7), a_finding(Severity.LOW, rule="SKR-X"))

    assert decision.outcome is Outcome.REVIEW
    assert decision.clause == ("SKR-RUN-002 (medium, risky, run.sh:7) reaches review_at = medium")
    assert [item.rule for item in decision.deciding] == ["SKR-RUN-002"]


@all_cases(
    ("policy", "finding", "outcome"),
    [
        (with_thresholds(review_at=Level.LOW), a_finding(Severity.LOW), Outcome.REVIEW),
        (with_thresholds(review_at=Level.HIGH), a_finding(), Outcome.PUBLISH),
        (with_thresholds(reject_at=Level.MEDIUM), a_finding(), Outcome.REJECT),
        (with_thresholds(reject_at=Level.NEVER), a_finding(Severity.CRITICAL), Outcome.REVIEW),
        (
            with_thresholds(risky=KindThresholds(reject_at=Level.MEDIUM)),
            a_finding(),
            Outcome.REJECT,
        ),
        (
            with_thresholds(risky=KindThresholds(reject_at=Level.MEDIUM)),
            a_finding(kind=FindingKind.IMITATION),
            Outcome.REVIEW,
        ),
        (
            with_thresholds(exposure=KindThresholds(review_at=Level.HIGH)),
            a_finding(Severity.CRITICAL, FindingKind.EXPOSURE),
            Outcome.REVIEW,
        ),
    ],
)
def test_thresholds_move_what_is_published(
    policy: Policy, finding: Finding, outcome: Outcome
) -> None:
    assert decided(finding, policy=policy).outcome is outcome


def test_two_high_findings_reject_unless_the_policy_says_otherwise() -> None:
    two = [
        a_finding(Severity.HIGH, FindingKind.MALICIOUS, rule=rule) for rule in ("SKR-A", "SKR-B")
    ]

    assert decided(*two).outcome is Outcome.REJECT
    assert "two_grave_reject" in decided(*two).clause
    assert decided(*two, policy=with_thresholds(two_grave_reject=False)).outcome is Outcome.REVIEW


def test_unreadable_content_is_never_published_whatever_the_thresholds() -> None:
    lenient = with_thresholds(
        review_at=Level.CRITICAL,
        reject_at=Level.NEVER,
        opaque=KindThresholds(review_at=Level.NEVER, reject_at=Level.NEVER),
    )

    assert decided(a_finding(kind=FindingKind.OPAQUE), policy=lenient).outcome is Outcome.REVIEW
    opaque = a_finding(Severity.CRITICAL, FindingKind.OPAQUE)
    assert decided(opaque, policy=lenient).outcome is Outcome.REJECT


def test_an_unfinished_check_needs_review() -> None:
    unverified = a_finding(Severity.INFO, FindingKind.UNVERIFIED, rule="RUN-JUDGE")

    assert decided(unverified).outcome is Outcome.REVIEW
    assert "a check did not finish" in decided(unverified).clause


def test_a_manifest_that_cannot_be_used_is_rejected_under_any_policy() -> None:
    broken = a_finding(Severity.HIGH, FindingKind.QUALITY, rule="MAN-010")
    lenient = with_thresholds(review_at=Level.CRITICAL, reject_at=Level.NEVER)

    assert decided(broken, policy=lenient).outcome is Outcome.REJECT


def test_with_trust_medium_risks_only_inform() -> None:
    policy = Policy(trust=Trust(publishers=(ACME,)))

    decision = decided(a_finding(), policy=policy)

    assert (decision.outcome, decision.is_by_trust) == (Outcome.PUBLISH, True)
    assert "is ignored because github.com/acme is exempt from review" in decision.clause
    assert not decided(policy=policy).is_by_trust


@all_cases(
    "finding",
    [
        a_finding(Severity.HIGH),
        a_finding(kind=FindingKind.MALICIOUS),
        a_finding(kind=FindingKind.OPAQUE),
        a_finding(kind=FindingKind.IMITATION),
        a_finding(kind=FindingKind.UNVERIFIED),
        a_finding(rule="JUDGE-002"),
    ],
    ids=["graver", "malicious", "opaque", "imitation", "unverified", "the judge's doubt"],
)
def test_trust_buys_nothing_else(finding: Finding) -> None:
    policy = Policy(trust=Trust(publishers=(ACME,)))

    assert decided(a_finding(), finding, policy=policy).outcome is Outcome.REVIEW


def test_another_publisher_is_not_trusted() -> None:
    policy = Policy(trust=Trust(publishers=("git.example/acme",)))

    assert decided(a_finding(), policy=policy).outcome is Outcome.REVIEW


@pytest.mark.parametrize(
    ("match", "outcome"),
    [
        ("acme/*", Outcome.REJECT),
        ("github.com/acme/*", Outcome.REJECT),
        ("git.example/acme/*", Outcome.REVIEW),
        ("ben/*", Outcome.REVIEW),
    ],
)
def test_a_namespace_has_its_own_decisions(match: str, outcome: Outcome) -> None:
    strict = with_thresholds(reject_at=Level.MEDIUM)
    policy = Policy(namespaces=(NamespacePolicy(match=match, policy=strict),))

    assert decided(a_finding(), policy=policy).outcome is outcome


def test_the_first_namespace_that_matches_holds() -> None:
    strict = with_thresholds(reject_at=Level.MEDIUM)
    policy = Policy(
        namespaces=(
            NamespacePolicy(match="acme/tools", policy=Policy()),
            NamespacePolicy(match="acme/*", policy=strict),
        )
    )

    assert decided(a_finding(), policy=policy).outcome is Outcome.REVIEW


def test_a_suppression_of_the_new_policy_counts_and_one_of_the_old_does_not() -> None:
    known = Suppression(rule="SKR-RUN-002", path="**", reason="known", expires=TODAY)

    first = decided(a_finding(), policy=Policy(suppressions=(known,)))

    assert (first.outcome, first.clause) == (
        Outcome.PUBLISH, "no finding reaches review_at = medium, 1 suppressed",
    )  # fmt: skip


def test_a_subject_is_known_by_slug_source_and_host() -> None:
    git = msgspec.structs.replace(
        a_submission(), source=git_source("https://git.example/Acme/Tools", "skills/x"), slug="old"
    )
    upload = msgspec.structs.replace(
        a_submission(), source=upload_source("x", "0" * 64, namespace="@acme")
    )

    subject = subject_of(git, skill_name="x")

    assert subject.namespaces == ("git.example/acme/tools",)
    assert subject.publisher == "git.example/acme"
    assert set(subject.names) == {
        "https://git.example/Acme/Tools", "https://git.example/Acme/Tools/skills/x",
        "git.example/acme/tools/x", "old",
    }  # fmt: skip
    assert subject_of(upload).namespaces == ("@acme",)


@pytest.mark.parametrize(
    ("url", "namespaces"),
    [
        ("https://github.com/acme/tools", ("acme/tools", "github.com/acme/tools")),
        ("https://git.example/acme/tools", ("git.example/acme/tools",)),
        ("https://git.example/mallory/acme/tools", ("git.example/mallory/acme/tools",)),
    ],
)
def test_a_group_below_another_account_is_not_that_of_its_name(
    url: str, namespaces: tuple[str, ...]
) -> None:
    source = git_source(url, "x")

    assert subject_of(msgspec.structs.replace(a_submission(), source=source)).namespaces == (
        namespaces
    )


def some_files(*sizes: int) -> tuple[SkillFile, ...]:
    return tuple(
        SkillFile(path=f"{number}.md", size=size, sha256="", is_executable=False)
        for number, size in enumerate(sizes)
    )


def test_limits_of_the_policy_are_findings_that_reject() -> None:
    files = some_files(10, 300)

    found = check_sizes(files, PolicyLimits(max_files=1, max_file_bytes=100, max_total_bytes=200))

    assert [item.message for item in found] == [
        "There are 2 files; this registry's limit is 1.",
        "All files have 310 bytes; this registry's limit is 200.",
        "1.md has 300 bytes; this registry's limit is 100.",
    ]
    assert decided(*found).outcome is Outcome.REJECT
    assert check_sizes(files, PolicyLimits()) == ()
    assert resized(found, files, PolicyLimits(max_files=2)) == ()


def test_a_policy_is_named_by_what_it_says() -> None:
    assert digest_of(Policy()) == ""
    assert digest_of(with_thresholds(review_at=Level.LOW)) == digest_of(
        with_thresholds(review_at=Level.LOW)
    )
    assert digest_of(with_thresholds(review_at=Level.LOW)) != digest_of(
        with_thresholds(review_at=Level.HIGH)
    )


# What holds for every report and every policy.

rules = st.sampled_from(["SKR-RUN-001", "SKR-RUN-002", "SKR-LEAK-001", "MAN-010", "JUDGE-002"])
findings = st.lists(
    st.builds(
        Finding,
        rule=rules,
        severity=st.sampled_from(Severity),
        message=st.just("m"),
        fix=st.just("f"),
        file=st.sampled_from([None, "SKILL.md", "run.sh"]),
        kind=st.sampled_from(FindingKind),
    ),
    max_size=6,
)
levels = st.sampled_from(LEVELS)
of_a_kind = st.builds(KindThresholds, review_at=st.none() | levels, reject_at=st.none() | levels)
thresholds = st.builds(
    Thresholds,
    review_at=levels,
    reject_at=levels,
    two_grave_reject=st.booleans(),
    malicious=of_a_kind,
    risky=of_a_kind,
    opaque=of_a_kind,
    imitation=of_a_kind,
    exposure=of_a_kind,
)
trusts = st.builds(
    Trust,
    publishers=st.sampled_from([(), (ACME,), ("github.com/ben",)]),
    kinds=st.sets(st.sampled_from([FindingKind.RISKY, FindingKind.IMITATION])).map(tuple),
    up_to=st.sampled_from([Level.HIGH, Level.MEDIUM, Level.LOW]),
)
suppressions = st.lists(
    st.builds(
        Suppression,
        rule=rules,
        path=st.sampled_from(["**", "run.sh"]),
        reason=st.just("r"),
        expires=st.dates(TODAY - timedelta(days=1), TODAY + timedelta(days=1)),
    ),
    max_size=3,
).map(tuple)
policies = st.builds(Policy, thresholds=thresholds, trust=trusts, suppressions=suppressions)


def stricter_level(level: Level, steps: int) -> Level:
    return LEVELS[min(LEVELS.index(level) + steps, len(LEVELS) - 1)]


def stricter(policy: Policy, draw: st.DataObject) -> Policy:
    """Make a policy stricter in some of the ways there are."""
    steps = st.integers(0, 5)

    def level(of: Level) -> Level:
        return stricter_level(of, draw.draw(steps))

    def of_kind(kind: KindThresholds) -> KindThresholds:
        # A level that is left out is that of all, which moves by itself.
        return KindThresholds(
            review_at=level(kind.review_at) if kind.review_at else None,
            reject_at=level(kind.reject_at) if kind.reject_at else None,
        )

    old = policy.thresholds
    kinds = {
        name: of_kind(getattr(old, name))
        for name in ("malicious", "risky", "opaque", "imitation", "exposure")
    }
    return Policy(
        thresholds=Thresholds(
            review_at=level(old.review_at),
            reject_at=level(old.reject_at),
            two_grave_reject=old.two_grave_reject or draw.draw(st.booleans()),
            **kinds,
        ),
        trust=msgspec.structs.replace(
            policy.trust,
            publishers=policy.trust.publishers if draw.draw(st.booleans()) else (),
            kinds=policy.trust.kinds[: draw.draw(st.integers(0, 2))],
            up_to=level(policy.trust.up_to),
        ),
        suppressions=policy.suppressions[: draw.draw(st.integers(0, 3))],
    )


def gravity(found: list[Finding], policy: Policy, today: date = TODAY) -> int:
    return _GRAVITY[decide(a_report(*found), policy, SUBJECT, today=today).outcome]


@given(findings)
def test_no_policy_is_what_the_verdict_says(found: list[Finding]) -> None:
    decision = decided(*found)

    is_broken = any(
        item.kind is FindingKind.QUALITY and item.severity in BLOCKING for item in found
    )
    expected = Outcome.REJECT if is_broken else _BY_VERDICT[verdict_from(tuple(found))]
    if expected is Outcome.PUBLISH and any(item.kind is FindingKind.UNVERIFIED for item in found):
        expected = Outcome.REVIEW
    assert decision.outcome is expected
    assert not decision.is_by_trust


@given(findings, policies, st.data())
def test_a_stricter_policy_never_publishes_more(
    found: list[Finding], policy: Policy, draw: st.DataObject
) -> None:
    assert gravity(found, stricter(policy, draw)) >= gravity(found, policy)


@given(findings, findings, policies)
def test_more_findings_never_raise_the_verdict(
    found: list[Finding], more: list[Finding], policy: Policy
) -> None:
    assert gravity([*found, *more], policy) >= gravity(found, policy)


@given(findings, policies)
def test_trust_never_lets_through_what_would_be_rejected(
    found: list[Finding], policy: Policy
) -> None:
    untrusting = msgspec.structs.replace(policy, trust=Trust())

    with_trust, without = decided(*found, policy=policy), decided(*found, policy=untrusting)

    assert (with_trust.outcome is Outcome.REJECT) is (without.outcome is Outcome.REJECT)
    assert with_trust.is_by_trust is (with_trust.outcome is not without.outcome)


@given(findings, policies)
def test_every_decision_against_a_skill_names_its_findings(
    found: list[Finding], policy: Policy
) -> None:
    decision = decided(*found, policy=policy)

    assert decision.clause
    if decision.outcome is not Outcome.PUBLISH:
        assert decision.deciding
        assert len(decision.reasons) == len(decision.deciding)
        assert decision.deciding[0].rule in decision.clause


@given(findings, policies)
def test_a_gap_is_never_published(found: list[Finding], policy: Policy) -> None:
    gap = a_finding(Severity.MEDIUM, FindingKind.OPAQUE)

    assert decided(*found, gap, policy=policy).outcome is not Outcome.PUBLISH
