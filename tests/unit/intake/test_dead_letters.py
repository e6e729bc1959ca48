"""Dead letters: requeued with their submission, or dropped without it."""

import pytest

from tests.casts import a_submission
from tests.clocks import ManualClock
from vskill_platform.engines.operations import Bury, Send
from vskill_platform.errors import NotFound, SourceUnavailable
from vskill_platform.intake.dead_letters import drop_dead_letter, requeue_dead_letter
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.queue.fail_submission import fail_submission
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.submission_messages import queue_submission
from vskill_platform.stores.submission_store import get_history, get_submission


async def a_dead_letter(env: WorkerEnv, clock: ManualClock) -> tuple[int, str]:
    """Let a submission fail until it is a dead letter; return both ids."""
    source = folder_source("/skills/tidy-notes")
    submission = (await submit(source, submitter="ada")).submission
    while batch := await env.engine.queue.receive(1, lease=env.settings.lease):
        await fail_submission(batch[0], SourceUnavailable("no net"))
        clock.advance(minutes=1)
    (letter,) = await env.engine.queue.dead_letters()
    return letter.message_id, submission.id


async def test_a_requeued_letter_opens_its_submission_again(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    letter, submission_id = await a_dead_letter(bound, clock)

    requeued = await requeue_dead_letter(letter, actor="cyd")

    assert requeued
    assert (requeued.state, requeued.attempts) == (SubmissionState.RECEIVED, 0)
    (delivery,) = await bound.engine.queue.receive(1, lease=bound.settings.lease)
    assert (delivery.key, delivery.attempt) == (submission_id, 1)
    assert (await get_history(submission_id))[-1].actor == "cyd"
    assert await bound.engine.queue.dead_letters() == []


async def test_a_dropped_letter_leaves_its_submission_with_the_reason(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    letter, submission_id = await a_dead_letter(bound, clock)

    await drop_dead_letter(letter, actor="cyd")

    stored = await get_submission(submission_id)
    assert stored
    assert stored.record.state is SubmissionState.REJECTED
    assert await bound.engine.queue.dead_letters() == []


async def test_an_unknown_letter_is_not_found(bound: WorkerEnv) -> None:
    with pytest.raises(NotFound, match="no dead letter 7"):
        await requeue_dead_letter(7, actor="cyd")
    with pytest.raises(NotFound, match="no dead letter 7"):
        await drop_dead_letter(7, actor="cyd")


async def test_a_letter_whose_submission_is_gone_can_be_requeued(bound: WorkerEnv) -> None:
    send: Send = queue_submission(a_submission(submission_id="sub_gone"))
    await bound.engine.commit([send])
    (delivery,) = await bound.engine.queue.receive(1, lease=bound.settings.lease)
    await bound.engine.commit([Bury(delivery, "lost")])

    assert await requeue_dead_letter(delivery.message_id, actor="cyd") is None
    assert (await bound.engine.queue.stats()).ready == 1
