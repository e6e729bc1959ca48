"""The words that the pages use for moments and risks, and the order of a history."""

import pytest

from tests.clocks import NOON
from vskill_platform.model.submission import StateEvent, SubmissionState
from vskill_platform.web.html.templating import (
    decision_words,
    first_sentences,
    group_runs,
    lowered_words,
    risk_words,
    sentence,
)


def test_the_history_is_grouped_by_run_and_the_newest_is_first() -> None:
    states = ("RECEIVED", "TIER1_SCANNING", "TIER1_FAILED", "RECEIVED", "TIER1_SCANNING")
    history = [
        StateEvent(
            submission_id="sub_1", number=number, from_state=None, to_state=SubmissionState(state),
            trigger="x", actor="ada", reason="", at=NOON,
        )
        for number, state in enumerate(states)
    ]  # fmt: skip

    assert [[event.number for event in run] for run in group_runs(history)] == [[4, 3], [2, 1, 0]]


def test_a_message_is_capitalized_unless_it_starts_with_a_name() -> None:
    texts = ("the skill is new", "sub_1 is unknown", "ada/notes was renamed", "`a_b` is wrong")

    assert [sentence(text) for text in texts] == [
        "The skill is new", "sub_1 is unknown", "ada/notes was renamed",
        "<code>a_b</code> is wrong",
    ]  # fmt: skip


def test_a_lowered_finding_has_its_reason_in_words() -> None:
    by_judge = "the judge (m) sees no harm in it: fine"

    assert lowered_words("role=sample") == "in a test or a sample"
    assert lowered_words(by_judge) == by_judge


@pytest.mark.parametrize(
    ("score", "words"),
    [(None, "—"), (0, "none"), (10, "low"), (40, "medium"), (80, "high"), (100, "critical")],
)
def test_risk_is_described_in_words(score: int | None, words: str) -> None:
    assert risk_words(score) == words


def test_a_decision_is_described_without_the_names_of_thresholds() -> None:
    said = decision_words("SKR-RUN-002 (medium, risky, run.sh:1) reaches reject_at = medium")

    assert said == "SKR-RUN-002 (medium, risky, run.sh:1) reaches medium, the level for rejection"
    assert decision_words("no finding reaches review_at = high, 1 suppressed") == (
        "no finding reaches high, the level for review, 1 suppressed"
    )


def test_a_long_description_is_split_after_whole_sentences_that_fit() -> None:
    short = "Joins two files. Use it for exports."
    sentences = "Joins two files. " * 20
    one_sentence = "joins " * 60
    one_word = "j" * 300

    assert first_sentences(short) == (short, "")
    head, rest = first_sentences(sentences)
    assert len(head) < 240 < len(head + rest)
    assert head.endswith("files.")
    assert f"{head} {rest}" == sentences
    assert first_sentences(one_sentence)[0].endswith("joins …")
    assert first_sentences(one_word) == (f"{one_word[:240]} …", f"… {one_word[240:]}")
