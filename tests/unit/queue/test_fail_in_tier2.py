"""Failures in tier 2: retried, then left to a reviewer; final errors stay final."""

import msgspec
import pytest

from tests.people import close_namespace
from tests.unit.queue.conftest import Receive, SubmitSkill
from vskill_platform.engines.operations import Delivery
from vskill_platform.errors import DeadlineExceeded, JudgeFailed, ScanError, SlugTaken
from vskill_platform.model.submission import Cause, Submission, SubmissionState, move
from vskill_platform.queue.claim_submission import claim_submission, find_submission
from vskill_platform.queue.fail_submission import fail_submission
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.deleted_skill_store import DeletedSkill, write_deleted_skill
from vskill_platform.stores.submission_store import get_submission, write_submission


async def in_tier2(delivery: Delivery, *, tries: int) -> Submission:
    found = await find_submission(delivery)
    assert found
    claimed = await claim_submission(found, delivery)
    cause = Cause(trigger="check", actor="node-1", reason="asked")
    asked, event = move(claimed.record, SubmissionState.TIER2_SCANNING, cause, now=get_now())
    moved = msgspec.structs.replace(asked, tries=tries, counted=None)
    assert await commit(write_submission(moved, [event], expected=claimed.revision))
    return moved


@pytest.mark.parametrize(
    ("error", "attempt", "state"),
    [
        (JudgeFailed("no answer"), 1, SubmissionState.RECEIVED),
        (JudgeFailed("no answer"), 4, SubmissionState.NEEDS_REVIEW),
        (DeadlineExceeded("too slow"), 4, SubmissionState.NEEDS_REVIEW),
        (ScanError("broke"), 4, SubmissionState.NEEDS_REVIEW),
        (ZeroDivisionError("oops"), 4, SubmissionState.NEEDS_REVIEW),
        (SlugTaken("taken"), 1, SubmissionState.REJECTED),
    ],
)
async def test_a_failure_in_tier_2_never_rejects_a_submission(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    error: Exception,
    attempt: int,
    state: SubmissionState,
) -> None:
    await submit_skill("tidy-notes")
    (delivery,) = await receive()
    submission = await in_tier2(delivery, tries=attempt - 1)

    await fail_submission(delivery, error)

    stored = await get_submission(submission.id)
    assert stored
    assert stored.record.state is state
    assert stored.record.reason
    stats = await bound.engine.queue.stats()
    is_tried_again, is_left = state == "RECEIVED", state == "NEEDS_REVIEW"
    assert (stats.delayed, stats.leased, stats.dead) == (is_tried_again, 0, is_left)


async def test_a_failure_in_tier_2_rejects_what_no_reviewer_could_approve(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive
) -> None:
    await submit_skill("tidy-notes")
    (delivery,) = await receive()
    submission = await in_tier2(delivery, tries=3)
    await close_namespace("@local")

    await fail_submission(delivery, JudgeFailed("no answer"))

    stored = await get_submission(submission.id)
    assert stored
    assert stored.record.state is SubmissionState.REJECTED
    assert stored.record.reason.startswith("the namespace @local was deleted")
    stats = await bound.engine.queue.stats()
    assert (stats.ready, stats.delayed, stats.leased, stats.dead) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("is_before", "state", "reason"),
    [
        (True, SubmissionState.REJECTED, "@local/tidy-notes was deleted, and its name cannot"),
        (False, SubmissionState.DEQUEUED, "withdrawn: the skill @local/tidy-notes was deleted by"),
    ],
    ids=["before it was submitted", "during its check"],
)
async def test_a_failure_in_tier_2_ends_the_submission_of_a_deleted_skill(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    is_before: bool,
    state: SubmissionState,
    reason: str,
) -> None:
    mark = DeletedSkill(
        slug="@local/tidy-notes", versions=1, version="1.0.0", is_private=False, reason="law",
        by="cyd", at=get_now(),
    )  # fmt: skip
    deletion = [write_deleted_skill(mark)]
    if is_before:
        await commit(deletion)
    await submit_skill("tidy-notes")
    (delivery,) = await receive()
    submission = await in_tier2(delivery, tries=3)
    if not is_before:
        await commit(deletion)

    await fail_submission(delivery, JudgeFailed("no answer"))

    stored = await get_submission(submission.id)
    assert stored
    assert stored.record.state is state
    assert stored.record.reason.startswith(reason)
    stats = await bound.engine.queue.stats()
    assert (stats.ready, stats.delayed, stats.leased, stats.dead) == (0, 0, 0, 0)
