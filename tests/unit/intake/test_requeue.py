"""Retrying finished submissions and requeueing stuck ones."""

from pathlib import Path

import pytest

from tests.casts import a_skill_folder, a_submission, stored
from tests.clocks import ManualClock
from vskill_platform.engines.operations import Acknowledge
from vskill_platform.errors import InvalidTransition, NotFound
from vskill_platform.intake.requeue import requeue, requeue_all_stuck, requeue_each, retry
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.submit import submit
from vskill_platform.intake.take_upload import take_folder
from vskill_platform.intake.withdraw import withdraw
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.upload_store import KEPT_FOR

SOURCE = folder_source("/skills/tidy-notes")


async def _take_message(env: WorkerEnv) -> None:
    (delivery,) = await env.engine.queue.receive(1, lease=env.settings.lease)
    assert await env.engine.commit([Acknowledge(delivery)]) is not None


async def test_an_ended_submission_is_queued_again_under_its_id(bound: WorkerEnv) -> None:
    submission = (await submit(SOURCE, submitter="ada")).submission
    await _take_message(bound)
    await withdraw(submission.id, actor="ada", reason="wrong")

    opened = await retry(submission.id, actor="ada")

    assert (opened.id, opened.state) == (submission.id, SubmissionState.RECEIVED)
    assert await bound.engine.queue.pending([submission.id]) == {submission.id}


async def test_a_submission_in_progress_cannot_be_retried(bound: WorkerEnv) -> None:
    submission = (await submit(SOURCE, submitter="ada")).submission

    with pytest.raises(InvalidTransition, match="it is already in progress"):
        await retry(submission.id, actor="ada")
    with pytest.raises(NotFound):
        await retry("sub_0", actor="ada")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (SubmissionState.BLOCKED, "it is blocked"),
        (SubmissionState.PUBLISHED, "it is published"),
        (SubmissionState.NEEDS_REVIEW, "it needs review"),
    ],
    ids=["blocked", "published", "in review"],
)
async def test_an_end_that_another_try_does_not_change_says_what_does(
    bound: WorkerEnv, state: SubmissionState, words: str
) -> None:
    submission = a_submission(state)
    await stored(bound.engine, submission)

    with pytest.raises(InvalidTransition, match=words):
        await retry(submission.id, actor="ada")


async def test_files_that_are_gone_are_asked_for_again(
    bound: WorkerEnv, clock: ManualClock, tmp_path: Path
) -> None:
    upload = await take_folder(a_skill_folder(tmp_path / "tidy-notes"))
    offer = SubmissionRequest(source=upload.source, upload=upload.content)
    submission = (await submit(offer, submitter="ada")).submission
    await withdraw(submission.id, actor="ada", reason="wrong")
    clock.advance(days=KEPT_FOR.days, seconds=1)

    with pytest.raises(NotFound, match="upload them again"):
        await retry(submission.id, actor="ada")


async def test_all_stuck_submissions_are_requeued_and_recorded(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    stuck = [
        (await submit(folder_source(f"/skills/{name}"), submitter="ada")).submission.id
        for name in ("one", "two")
    ]
    for _ in stuck:
        await _take_message(bound)
    clock.advance(seconds=bound.settings.stuck_threshold.total_seconds())

    done, failed = await requeue_all_stuck(actor="cyd")

    assert {submission.id for submission in done} == set(stuck)
    assert not failed
    assert await bound.engine.queue.pending(stuck) == set(stuck)
    assert {record.actor for record in (await list_audit()).records} == {"cyd"}


async def test_one_that_cannot_be_requeued_does_not_stop_the_others(bound: WorkerEnv) -> None:
    ended = (await submit(SOURCE, submitter="ada")).submission.id
    await withdraw(ended, actor="ada", reason="wrong")
    other = (await submit(folder_source("/skills/other"), submitter="ada")).submission.id

    done, failed = await requeue_each([ended, "sub_0", other, other], actor="cyd")

    assert [submission.id for submission in done] == [other]
    assert [reason.partition(":")[0] for reason in failed] == [ended, "sub_0"]


async def test_a_finished_submission_is_not_stuck(bound: WorkerEnv) -> None:
    submission = (await submit(SOURCE, submitter="ada")).submission
    await withdraw(submission.id, actor="ada", reason="wrong")

    with pytest.raises(InvalidTransition):
        await requeue(submission.id, actor="cyd")
