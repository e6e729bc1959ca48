"""The policy: parsed strictly, and a suppression covers only what it names."""

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from vskill_platform.errors import ConfigError
from vskill_platform.model.policy import Policy, Suppression, matches, suppress
from vskill_platform.model.read_policy import read_policy
from vskill_platform.model.verdict import (
    SUPPRESSIBLE,
    Finding,
    FindingKind,
    Severity,
    Verdict,
    score,
    verdict_from,
)

TODAY = date(2026, 3, 14)
RULES = {
    "SKR-RUN-001": FindingKind.MALICIOUS,
    "SKR-RUN-002": FindingKind.RISKY,
    "SKR-FILE-002": FindingKind.OPAQUE,
    "MAN-010": FindingKind.QUALITY,
}
GOOD = {
    "rule": '"SKR-RUN-002"',
    "path": '"scripts/*.sh"',
    "skill": '"ada/tools/*"',
    "reason": '"our own installer"',
    "expires": "2026-12-31",
}
_GRAVITY = {Verdict.PASS: 0, Verdict.REVIEW: 1, Verdict.BLOCK: 2}


def toml(**keys: str | None) -> str:
    values = {**GOOD, **keys}
    lines = (f"{key} = {value}" for key, value in values.items() if value is not None)
    return "\n".join(["[[suppressions]]", *lines])


def a_finding(**fields: Any) -> Finding:
    values: dict[str, Any] = {
        "rule": "SKR-RUN-002",
        "severity": Severity.MEDIUM,
        "message": "Code is run.",
        "fix": "Do not.",
        "file": "scripts/setup.sh",
        "kind": FindingKind.RISKY,
    }
    return Finding(**{**values, **fields})


def a_suppression(**fields: Any) -> Suppression:
    values: dict[str, Any] = {
        "rule": "SKR-RUN-002",
        "path": "**",
        "reason": "known",
        "expires": TODAY,
    }
    return Suppression(**{**values, **fields})


def suppressed(finding: Finding, *suppressions: Suppression, name: str = "ada/tools/x") -> Finding:
    policy = Policy(suppressions=suppressions)
    (marked,) = suppress([finding], policy, names=[name], today=TODAY)
    return marked


def test_a_policy_says_what_it_suppresses_why_and_until_when() -> None:
    policy = read_policy(toml(), rules=RULES)

    assert policy.suppressions == (
        Suppression(
            rule="SKR-RUN-002",
            path="scripts/*.sh",
            skill="ada/tools/*",
            reason="our own installer",
            expires=date(2026, 12, 31),
        ),
    )


def test_an_empty_policy_suppresses_nothing() -> None:
    assert read_policy("", rules=RULES) == Policy()


@all_cases(
    ("text", "complaint"),
    [
        ("[[suppressions", "it is not valid TOML"),
        ("supressions = []", 'the policy: "supressions" is unknown .did you mean "suppressions"'),
        ("colour = 1", 'the policy: "colour" is unknown; allowed: suppressions'),
        ("suppressions = 1", r'"suppressions" must be an array of tables'),
        (toml(ruel='"x"'), 'suppression 1: "ruel" is unknown .did you mean "rule"'),
        (toml(who='"x"'), '"who" is unknown; allowed: rule, path, skill, reason, expires'),
        (toml(rule=None), 'suppression 1: "rule" is missing; give it a string in quotes'),
        (toml(path=None), 'suppression 1: "path" is missing'),
        (toml(reason=None), 'suppression 1: "reason" is missing'),
        (toml(expires=None), 'suppression 1: "expires" is missing; give it a date such as'),
        (toml(rule="7"), 'suppression 1: "rule" must be a string in quotes'),
        (toml(reason='"  "'), 'suppression 1: "reason" is empty'),
        (toml(path='""'), 'suppression 1: "path" is empty'),
        (toml(path='"/scripts/x.sh"'), '"path" is relative to the skill\'s folder'),
        (toml(expires='"2026-12-31"'), '"expires" must be a date such as 2026-12-31, without'),
        (toml(expires="2026-12-31T10:00:00Z"), '"expires" must be a date'),
        (toml(rule='"SKR-RUN-999"'), 'there is no rule "SKR-RUN-999"; `vskill-platform scan'),
        (toml(rule='"skr-run-002"'), 'there is no rule "skr-run-002"'),
        (toml(rule='"MAN-010"'), "MAN-010 reports an invalid or unreadable file"),
        (toml(rule='"SKR-FILE-002"'), "SKR-FILE-002 reports an invalid or unreadable file"),
        (f"{toml()}\n{toml(rule=None)}", 'suppression 2: "rule" is missing'),
    ],
)  # fmt: skip
def test_an_error_names_the_problem_and_the_fix(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read_policy(text, rules=RULES)


@all_cases(
    ("glob", "path", "is_match"),
    [
        ("run.sh", "run.sh", True),
        ("run.sh", "scripts/run.sh", False),
        ("*.sh", "scripts/run.sh", False),
        ("scripts/*.sh", "scripts/run.sh", True),
        ("scripts/*", "scripts/deep/run.sh", False),
        ("scripts/**", "scripts/deep/run.sh", True),
        ("**/run.sh", "run.sh", True),
        ("**/run.sh", "a/b/run.sh", True),
        ("**/run.sh", "a/b/other-run.sh", False),
        ("r?n.sh", "run.sh", True),
        ("r?n.sh", "r/n.sh", False),
        ("run.sh", "run_sh", False),
        ("[ab].sh", "a.sh", False),
        ("*", "two\nlines", True),
    ],
)
def test_a_star_stays_in_its_folder_and_two_do_not(glob: str, path: str, is_match: bool) -> None:
    assert matches(glob, path) is is_match


@all_cases(
    ("fields", "does"),
    [
        ({}, True),
        ({"rule": "SKR-RUN-001"}, False),
        ({"path": "scripts/*.sh"}, True),
        ({"path": "*.sh"}, False),
        ({"skill": "ada/**"}, True),
        ({"skill": "ben/**"}, False),
        ({"expires": TODAY - timedelta(days=1)}, False),
    ],
)
def test_a_suppression_holds_where_it_says(fields: dict[str, Any], does: bool) -> None:
    assert suppressed(a_finding(), a_suppression(**fields)).is_suppressed is does


def test_a_finding_without_a_file_cannot_be_suppressed() -> None:
    assert not suppressed(a_finding(file=None), a_suppression()).is_suppressed


@pytest.mark.parametrize("kind", sorted(set(FindingKind) - SUPPRESSIBLE))
def test_opaque_and_invalid_findings_cannot_be_suppressed(kind: FindingKind) -> None:
    marked = suppressed(a_finding(kind=kind), a_suppression())

    assert marked.suppression is None
    assert verdict_from((marked,)) is verdict_from((a_finding(kind=kind),))


def test_an_expired_suppression_is_reported_and_does_nothing() -> None:
    marked = suppressed(a_finding(), a_suppression(expires=date(2026, 3, 13)))

    assert marked.suppression
    assert marked.suppression.in_words() == ("expired on 2026-03-13; reason was: known")
    assert verdict_from((marked,)) is Verdict.REVIEW


def test_of_several_the_one_that_lasts_is_shown() -> None:
    marked = suppressed(
        a_finding(),
        a_suppression(expires=TODAY - timedelta(days=9), reason="old"),
        a_suppression(expires=TODAY + timedelta(days=9), reason="new"),
        a_suppression(expires=TODAY, reason="now"),
    )

    assert marked.suppression
    assert (marked.suppression.reason, marked.is_suppressed) == ("new", True)


names = st.sampled_from(["SKR-RUN-001", "SKR-RUN-002", "SKR-LEAK-001", "MAN-010"])
files = st.sampled_from([None, "SKILL.md", "scripts/run.sh", "docs/deep/x.md"])
findings = st.lists(
    st.builds(
        Finding,
        rule=names,
        severity=st.sampled_from(Severity),
        message=st.just("m"),
        fix=st.just("f"),
        file=files,
        kind=st.sampled_from(FindingKind),
    ),
    max_size=8,
)
suppressions = st.lists(
    st.builds(
        Suppression,
        rule=names,
        path=st.sampled_from(["**", "*", "SKILL.md", "scripts/*", "**/*.md"]),
        skill=st.sampled_from(["**", "ada/*", "ben/*"]),
        reason=st.just("r"),
        expires=st.dates(TODAY - timedelta(days=3), TODAY + timedelta(days=3)),
    ),
    max_size=6,
).map(tuple)


def under(found: list[Finding], *policies: tuple[Suppression, ...]) -> tuple[Finding, ...]:
    policy = Policy(suppressions=sum(policies, ()))
    return suppress(found, policy, names=["ada/x"], today=TODAY)


@given(findings, suppressions, suppressions)
def test_more_suppressions_never_make_a_verdict_worse(
    found: list[Finding], some: tuple[Suppression, ...], more: tuple[Suppression, ...]
) -> None:
    few, many = under(found, some), under(found, some, more)

    assert (
        _GRAVITY[verdict_from(many)]
        <= _GRAVITY[verdict_from(few)]
        <= _GRAVITY[verdict_from(tuple(found))]
    )
    assert score(many) <= score(few) <= score(tuple(found))
    assert len(many) == len(found)


@given(findings, suppressions, suppressions)
def test_an_expired_suppression_equals_none(
    found: list[Finding], some: tuple[Suppression, ...], more: tuple[Suppression, ...]
) -> None:
    expired = tuple(item for item in more if item.is_expired(TODAY))
    without, with_it = under(found, some), under(found, some, expired)

    assert verdict_from(with_it) is verdict_from(without)
    assert score(with_it) == score(without)
    assert [item.is_suppressed for item in with_it] == [item.is_suppressed for item in without]


@given(findings, suppressions)
def test_form_and_gaps_weigh_the_same_under_any_policy(
    found: list[Finding], some: tuple[Suppression, ...]
) -> None:
    firm = [item for item in found if item.kind not in SUPPRESSIBLE]

    assert list(under(firm, some)) == firm
