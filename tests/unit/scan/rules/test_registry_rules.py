"""Rules about what is published: no file shows them, so each has a submission, not samples."""

import re

from tests.cases import all_cases
from tests.tables import ROOT
from vskill_platform.model.verdict import FindingKind, verdict_from
from vskill_platform.scan.apply_policy import rule_kinds
from vskill_platform.scan.rules.explain import explain
from vskill_platform.scan.rules.registry_rules import (
    RegistryRule,
    load_registry_rules,
    registry_finding,
)
from vskill_platform.scan.rules.rules import load_rules

RULES = load_registry_rules()
SIMILARITY_TESTS = (ROOT / "tests/pipeline/test_similarity.py").read_text()


@all_cases("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_rule_says_what_why_and_how_to_fix_it(rule: RegistryRule) -> None:
    text = explain(rule.id.lower()) or ""

    assert re.fullmatch(r"SKR-REG-\d{3}", rule.id)
    assert rule.kind is FindingKind.IMITATION
    assert text.startswith(f"{rule.id}  {rule.title}\n{rule.severity}")
    for section in ("Why", "Fix", "Found", "References"):
        assert f"\n{section}\n" in text
    assert "Not found in" not in text


@all_cases("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_rule_has_a_submission_it_holds_and_one_it_lets_pass(rule: RegistryRule) -> None:
    assert f'"{rule.id}"' in SIMILARITY_TESTS
    assert SIMILARITY_TESTS.count("(S.PUBLISHED, [])") >= 5


def test_ids_are_not_those_of_other_rules() -> None:
    assert not set(RULES) & {rule.id for rule in load_rules()}
    assert set(RULES) <= set(rule_kinds())


def test_a_finding_stays_the_same_while_what_it_is_about_does() -> None:
    one, again = (
        registry_finding("SKR-REG-001", message, about="ada/x") for message in ("97 %", "98 %")
    )
    other = registry_finding("SKR-REG-001", "97 %", about="ben/x")

    assert one.fingerprint == again.fingerprint != other.fingerprint


def test_no_number_of_them_blocks_without_a_person() -> None:
    assert verdict_from(tuple(registry_finding(rule, "m", about="x") for rule in RULES)) == "review"
