"""The trust score: computed in one module, never lower for more evidence, and always explained."""

from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from vskill_platform.model.trust import Evidence, TrustTier, derive_trust
from vskill_platform.model.verdict import Verdict

#: From the worst to the best.
VERDICTS: list[Verdict | None] = [None, Verdict.BLOCK, Verdict.REVIEW, Verdict.PASS]
LADDERS: dict[str, list[Any]] = {
    "is_down": [True, False],
    "verdict": VERDICTS,
    "agreement": [0.0, 0.3, 0.5, 0.9, 1.0],
    "approved_by": [None, "rae"],
    "has_provenance": [False, True],
    "published_for": [timedelta(0), timedelta(days=89), timedelta(days=90), timedelta(days=900)],
    "yanked": [7, 1, 0],
}
EVIDENCE = st.builds(
    Evidence, **{name: st.sampled_from(ladder) for name, ladder in LADDERS.items()}
)


@given(evidence=EVIDENCE, name=st.sampled_from(sorted(LADDERS)))
def test_more_evidence_never_makes_less_trust(evidence: Evidence, name: str) -> None:
    ladder = LADDERS[name]
    place = ladder.index(getattr(evidence, name))
    better = msgspec.structs.replace(evidence, **{name: ladder[min(place + 1, len(ladder) - 1)]})

    before, after = derive_trust(evidence), derive_trust(better)

    assert after.tier >= before.tier
    assert after.score >= before.score


@given(evidence=EVIDENCE)
def test_a_score_is_between_nothing_and_all_and_explains_itself(evidence: Evidence) -> None:
    trust = derive_trust(evidence)

    assert 0 <= trust.score <= 100
    assert (trust.tier is TrustTier.BLOCKED) == evidence.is_down
    assert len(trust.words) == 7
    assert all(trust.words)


def test_all_that_can_be_known_makes_a_hundred() -> None:
    best = Evidence(**{name: ladder[-1] for name, ladder in LADDERS.items()})

    assert derive_trust(best).score == 100


@all_cases(
    ("fields", "tier"),
    [
        ({}, TrustTier.UNVERIFIED),
        ({"verdict": Verdict.BLOCK, "approved_by": "rae"}, TrustTier.UNVERIFIED),
        ({"verdict": Verdict.REVIEW}, TrustTier.UNVERIFIED),
        ({"verdict": Verdict.REVIEW, "approved_by": "rae"}, TrustTier.SCANNED),
        ({"verdict": Verdict.PASS}, TrustTier.SCANNED),
        ({"verdict": Verdict.PASS, "agreement": 0.4}, TrustTier.SCANNED),
        ({"verdict": Verdict.PASS, "agreement": 0.9}, TrustTier.JUDGED),
        ({"verdict": Verdict.REVIEW, "agreement": 0.9}, TrustTier.UNVERIFIED),
        ({"verdict": Verdict.REVIEW, "agreement": 0.9, "approved_by": "rae"}, TrustTier.JUDGED),
        ({"verdict": Verdict.PASS, "agreement": 0.9, "approved_by": "rae"}, TrustTier.JUDGED),
        (
            {
                "verdict": Verdict.PASS,
                "agreement": 0.9,
                "approved_by": "rae",
                "has_provenance": True,
            },
            TrustTier.CERTIFIED,
        ),
        ({"verdict": Verdict.PASS, "agreement": 1.0, "is_down": True}, TrustTier.BLOCKED),
    ],
    ids=[
        "nothing known", "stopped", "doubts", "doubts that a person has cleared", "scanned",
        "an unsure judge", "judged", "judged with doubts", "judged and cleared", "reviewed",
        "of known origin too", "blocked",
    ],
)  # fmt: skip
def test_each_tier_rests_on_those_before_it(fields: dict[str, Any], tier: TrustTier) -> None:
    assert derive_trust(Evidence(**fields)).tier is tier
