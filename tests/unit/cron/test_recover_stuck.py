"""Recovery: requeued within a budget, then rejected with a reason; safe to run twice."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from tests.casts import a_submission
from tests.clocks import ManualClock
from vskill_platform.cron.recover_stuck import recover_stuck_submissions
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Acknowledge
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import IN_PROGRESS_STATES, Submission, SubmissionState
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.scan_store import get_report
from vskill_platform.stores.submission_store import get_history, get_submission, write_submission

SOURCE = folder_source("/skills/tidy-notes")


async def stranded(env: WorkerEnv, state: SubmissionState = SubmissionState.RECEIVED) -> Submission:
    """Store a submission that no message will ever move."""
    submission = a_submission(state)
    await env.engine.commit(write_submission(submission, [], expected=0))
    return submission


async def current(submission: Submission) -> Submission:
    stored = await get_submission(submission.id)
    assert stored
    return stored.record


async def lose_message(env: WorkerEnv) -> None:
    (delivery,) = await env.engine.queue.receive(1, lease=env.settings.lease)
    await env.engine.commit([Acknowledge(delivery)])


async def test_every_stuck_state_is_requeued(bound: WorkerEnv, clock: ManualClock) -> None:
    submissions = [await stranded(bound, state) for state in sorted(IN_PROGRESS_STATES)]
    clock.advance(minutes=5)

    outcome = await recover_stuck_submissions()

    assert outcome == "5 stuck, 0 still queued, 5 requeued, 0 rejected, 0 failed"
    ids = {submission.id for submission in submissions}
    assert await bound.engine.queue.pending(ids) == ids
    assert {(await current(item)).state for item in submissions} == {SubmissionState.RECEIVED}


async def test_nothing_is_touched_before_its_time(bound: WorkerEnv, clock: ManualClock) -> None:
    submission = await stranded(bound)
    clock.advance(minutes=4, seconds=59)

    await recover_stuck_submissions()

    assert await current(submission) == submission


async def test_a_message_that_waits_or_is_leased_is_left_alone(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    submission = (await submit(SOURCE, submitter="ada")).submission
    clock.advance(minutes=6)
    waiting = await recover_stuck_submissions()
    await bound.engine.queue.receive(1, lease=timedelta(hours=1))

    leased = await recover_stuck_submissions()

    assert waiting == leased == "1 stuck, 1 still queued, 0 requeued, 0 rejected, 0 failed"
    assert await current(submission) == submission


async def test_the_budget_is_three_with_growing_back_off_then_a_reasoned_end(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    submission = await stranded(bound)
    recovered_at = []
    start = clock.now()

    for _ in range(60):
        clock.advance(minutes=1)
        if "1 requeued" in await recover_stuck_submissions():
            recovered_at.append(clock.now() - start)
            await lose_message(bound)

    minutes = [moment // timedelta(minutes=1) for moment in recovered_at]
    assert minutes == [5, 10, 20]  # at the threshold, then 5 (not less than it) and 10 later
    rejected = await current(submission)
    assert rejected.state is SubmissionState.REJECTED
    assert "it was requeued 3 times" in rejected.reason
    report = await get_report(submission.id)
    assert report
    assert report.findings[0].rule == "RUN-STUCK"
    triggers = [event.trigger for event in await get_history(submission.id)]
    assert triggers == ["recover"] * 4


async def test_running_it_again_at_once_changes_nothing_more(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    submission = await stranded(bound)
    clock.advance(minutes=6)
    await recover_stuck_submissions()
    after_once = await current(submission)

    for _ in range(24):
        await recover_stuck_submissions()

    assert await current(submission) == after_once
    assert (await bound.engine.queue.stats()).ready == 1


async def test_two_nodes_at_once_bring_each_back_once(bound: WorkerEnv, clock: ManualClock) -> None:
    submissions = [await stranded(bound) for _ in range(20)]
    clock.advance(minutes=6)
    second_engine = await open_engine(bound.settings.database_url, clock=clock)
    nodes = [bound, replace(bound, engine=second_engine)]

    await asyncio.gather(*(run_with_worker_env(env, recover_stuck_submissions) for env in nodes))
    await second_engine.close()

    assert (await bound.engine.queue.stats()).ready == 20
    for submission in submissions:
        assert (await current(submission)).recoveries == 1
        assert len(await get_history(submission.id)) == 1


async def test_a_clock_that_jumps_back_leaves_nothing_stuck(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    submission = await stranded(bound)

    clock.advance(days=-1)
    await bound.engine.commit([])  # any write notices
    await recover_stuck_submissions()

    assert await bound.engine.queue.pending([submission.id]) == {submission.id}
