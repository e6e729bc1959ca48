"""The description of a version in words."""

from datetime import timedelta

import pytest

from tests.clocks import NOON
from vskill_platform.model.trust import Evidence
from vskill_platform.model.verdict import Verdict
from vskill_platform.stores.repo_health_store import RepoHealth, RepoStatus
from vskill_platform.web.skills.checklist import Check, checklist, verdict_in_words


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        (Evidence(verdict=Verdict.PASS), Check("good", "Passed all checks")),
        (
            Evidence(verdict=Verdict.REVIEW, approved_by="rae"),
            Check("good", "Approved by rae after review"),
        ),
        (Evidence(verdict=Verdict.REVIEW), Check("warn", "Has findings that nobody reviewed")),
        (
            Evidence(verdict=Verdict.BLOCK, approved_by="rae"),
            Check("bad", "Fails the current checks"),
        ),
        (Evidence(), Check("", "No report is stored")),
        (Evidence(is_down=True, verdict=Verdict.PASS), Check("bad", "Blocked: do not install")),
    ],
    ids=["passed", "approved", "doubted", "fails", "unknown", "blocked"],
)
def test_the_verdict_is_one_sentence(evidence: Evidence, verdict: Check) -> None:
    assert verdict_in_words(evidence) == verdict


def test_without_a_judge_the_judge_is_not_mentioned() -> None:
    evidence = Evidence(verdict=Verdict.PASS)

    without = [check.words for check in checklist(evidence, None, has_judge=False)]
    with_one = [check.words for check in checklist(evidence, None, has_judge=True)]

    assert not any("judge" in words.lower() for words in without)
    assert "Not approved by the LLM judge" in with_one


def test_a_passed_scan_does_not_claim_that_nothing_was_found() -> None:
    """Low findings do not change the verdict."""
    scanned, *_ = checklist(Evidence(verdict=Verdict.PASS), None, has_judge=False)

    assert scanned == Check("good", "Scanned: passed")


def test_everything_that_holds_is_good() -> None:
    evidence = Evidence(
        verdict=Verdict.PASS, agreement=0.9, approved_by="rae", has_provenance=True,
        published_for=timedelta(days=90),
    )  # fmt: skip
    online = RepoHealth(status=RepoStatus.ONLINE, checked_at=NOON)

    assert {check.tone for check in checklist(evidence, online, has_judge=True)} == {"good"}


def test_the_age_of_a_skill_is_in_the_units_of_all_ages() -> None:
    ages = [
        checklist(Evidence(published_for=timedelta(hours=hours)), None, has_judge=False)[-1].words
        for hours in (3, 25, 49)
    ]

    assert ages == [
        "First published 3 h ago",
        "First published 1 day ago",
        "First published 2 days ago",
    ]


def test_the_checklist_of_an_upload_names_no_commit() -> None:
    words = [check.words for check in checklist(Evidence(), None, has_judge=False)]

    assert "Uploaded files: no source to compare with" in words
    assert not any("commit" in one for one in words)
