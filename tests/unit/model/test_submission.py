"""States and transitions: every state can be left or is final (docs/states.md)."""

from datetime import timedelta

import pytest

from tests.cases import all_cases
from tests.casts import a_submission
from tests.clocks import NOON
from vskill_platform.errors import InvalidTransition
from vskill_platform.model.submission import (
    EDGES,
    IN_PROGRESS_STATES,
    STUCK_THRESHOLD,
    TERMINAL_STATES,
    Cause,
    SubmissionState,
    Waiting,
    deadline,
    is_stuck,
    move,
    open_submission,
    reopen,
    wait,
)

CAUSE = Cause(trigger="test", actor="ada", reason="because")
ALL = list(SubmissionState)


def reachable(start: SubmissionState) -> set[SubmissionState]:
    seen, todo = set(), [start]
    while todo:
        state = todo.pop()
        if state not in seen:
            seen.add(state)
            todo += EDGES[state]
    return seen


@all_cases("state", ALL)
def test_every_state_has_its_edges_and_can_be_reached(state: SubmissionState) -> None:
    assert state in EDGES
    assert state in reachable(SubmissionState.RECEIVED)


@all_cases("state", [state for state in ALL if state not in TERMINAL_STATES])
def test_every_state_that_is_no_end_has_a_deadline_and_ways_out(state: SubmissionState) -> None:
    due = deadline(a_submission(state), stuck_threshold=STUCK_THRESHOLD)

    assert due is not None
    assert due > NOON
    assert SubmissionState.PUBLISHED in reachable(state)
    assert SubmissionState.REJECTED in EDGES[state]


@pytest.mark.parametrize("state", sorted(TERMINAL_STATES))
def test_an_end_has_no_deadline_and_can_be_opened_again(state: SubmissionState) -> None:
    assert deadline(a_submission(state), stuck_threshold=STUCK_THRESHOLD) is None
    assert SubmissionState.RECEIVED in EDGES[state]


@pytest.mark.parametrize("state", sorted(IN_PROGRESS_STATES))
def test_recovery_can_bring_every_stuck_state_back_or_to_an_end(state: SubmissionState) -> None:
    assert {SubmissionState.RECEIVED, SubmissionState.REJECTED} <= EDGES[state]


def test_a_move_writes_its_event_and_the_reason() -> None:
    submission = a_submission(events=4)
    later = NOON + timedelta(minutes=1)

    moved, event = move(submission, SubmissionState.TIER1_SCANNING, CAUSE, now=later)

    assert moved.state is SubmissionState.TIER1_SCANNING
    assert (moved.updated_at, moved.reason, moved.events) == (later, "because", 5)
    assert (event.number, event.from_state, event.to_state) == (
        4, SubmissionState.RECEIVED, SubmissionState.TIER1_SCANNING,
    )  # fmt: skip
    assert (event.trigger, event.actor, event.reason, event.at) == (
        "test", "ada", "because", later,
    )  # fmt: skip


def test_the_first_event_comes_from_nowhere() -> None:
    opened, event = open_submission(a_submission(), CAUSE)

    assert event.from_state is None
    assert opened.events == 1


@all_cases("state", ALL)
def test_a_move_along_no_edge_is_refused(state: SubmissionState) -> None:
    submission = a_submission(state)

    for other in set(ALL) - EDGES[state]:
        with pytest.raises(InvalidTransition, match=f"is {state} and cannot become {other}"):
            move(submission, other, CAUSE, now=NOON)


def test_recovery_waits_for_its_back_off() -> None:
    after = NOON + timedelta(minutes=30)
    submission = a_submission(recover_after=after)

    assert deadline(submission, stuck_threshold=STUCK_THRESHOLD) == after


def test_nobody_is_stuck_before_the_threshold() -> None:
    submission = a_submission()

    def stuck_after(**time: float) -> bool:
        now = NOON + timedelta(**time)
        return is_stuck(submission, now=now, stuck_threshold=STUCK_THRESHOLD)

    assert not stuck_after(minutes=4, seconds=59)
    assert stuck_after(minutes=5)


@pytest.mark.parametrize("state", sorted(IN_PROGRESS_STATES))
def test_a_submission_waiting_for_scanners_is_due_at_their_deadline(state: SubmissionState) -> None:
    until = NOON + timedelta(minutes=25)
    waiting = Waiting(scanners=("acme",), until=until)

    waits = wait(a_submission(state), waiting, reason="waits for acme", now=NOON)

    assert deadline(waits, stuck_threshold=STUCK_THRESHOLD) == until
    assert (waits.state, waits.reason, waits.waits) == (state, "waits for acme", 1)
    for minutes, expected in ((10, False), (24.9, False), (25, True)):
        now = NOON + timedelta(minutes=minutes)
        assert is_stuck(waits, now=now, stuck_threshold=STUCK_THRESHOLD) is expected


def test_a_state_change_ends_the_waiting() -> None:
    waiting = Waiting(scanners=("acme",), until=NOON + timedelta(hours=1))
    waits = wait(a_submission(SubmissionState.TIER2_SCANNING), waiting, reason="waits", now=NOON)

    moved, _ = move(waits, SubmissionState.RECEIVED, CAUSE, now=NOON)
    reopened, _ = reopen(waits, CAUSE, now=NOON)

    assert (moved.waiting, moved.waits) == (None, 1)
    assert (reopened.waiting, reopened.waits) == (None, 0)
