"""Workers that die: whose attempt counts, and how a skill that kills them ends."""

import asyncio
from typing import Any

import pytest

from tests.clocks import ManualClock
from tests.unit.queue.conftest import Receive, SubmitSkill
from vskill_platform.engines.operations import Delivery
from vskill_platform.errors import Overtaken, SourceUnavailable
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.queue import consumer
from vskill_platform.queue.claim_submission import (
    END_AFTER_LOST,
    SUSPECT_AFTER_LOST,
    TRIES_ALONE,
    claim_submission,
    find_submission,
    release_submission,
)
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.submission_store import get_submission

pytestmark = pytest.mark.usefixtures("one_loop")

#: Longer than a lease.
_GONE = {"minutes": 30}


async def current(submission: Submission) -> Submission:
    stored = await get_submission(submission.id)
    assert stored
    return stored.record


async def begin_check(delivery: Delivery) -> None:
    """Do what a worker does up to its check; then it dies."""
    found = await find_submission(delivery)
    assert found
    await claim_submission(found, delivery)


async def die_beside(receive: Receive, clock: ManualClock, *, times: int) -> None:
    for _ in range(times):
        assert await receive()
        clock.advance(**_GONE)


async def die_with_it(receive: Receive, clock: ManualClock, *, times: int) -> None:
    for _ in range(times):
        (delivery,) = await receive()
        await begin_check(delivery)
        clock.advance(**_GONE)


async def test_deaths_before_its_check_began_are_not_held_against_a_skill(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive, clock: ManualClock
) -> None:
    submission = await submit_skill("tidy-notes")
    await die_beside(receive, clock, times=SUSPECT_AFTER_LOST)

    await handle_messages(await receive(), bound)

    published = await current(submission)
    assert published.state is SubmissionState.PUBLISHED
    assert published.attempts == 1


async def test_deaths_beside_it_take_no_retry_from_a_skill(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def no_net(_: Delivery) -> None:
        raise SourceUnavailable("no net")

    submission = await submit_skill("tidy-notes")
    await die_beside(receive, clock, times=bound.settings.max_retries + 1)
    monkeypatch.setattr(consumer, "process_submission", no_net)

    await handle_messages(await receive(), bound)

    waiting = await current(submission)
    assert waiting.state is SubmissionState.RECEIVED
    assert waiting.reason == "will be retried in 10 s: no net"


async def test_a_suspect_is_checked_once_more_with_no_other_check_beside_it(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive, clock: ManualClock
) -> None:
    submission, other = await submit_skill("tidy-notes"), object()
    await die_with_it(receive, clock, times=bound.settings.max_retries + 1)
    bound.scan_slots.acquire_on_behalf_of_nowait(other)

    handling = asyncio.create_task(handle_messages(await receive(), bound))
    while not bound.scan_slots.statistics().tasks_waiting:
        await asyncio.sleep(0)
    while_other_runs = await current(submission)
    bound.scan_slots.release_on_behalf_of(other)
    await handling

    assert while_other_runs.tries == bound.settings.max_retries + 1
    assert (await current(submission)).state is SubmissionState.PUBLISHED
    assert bound.scan_slots.borrowed_tokens == 0


async def test_a_skill_that_kills_its_worker_alone_too_ends_as_a_dead_letter(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive, clock: ManualClock
) -> None:
    submission = await submit_skill("tidy-notes")
    await die_with_it(receive, clock, times=bound.settings.max_retries + 1 + TRIES_ALONE)

    await handle_messages(await receive(), bound)

    rejected = await current(submission)
    assert rejected.state is SubmissionState.REJECTED
    assert rejected.reason == (
        "the worker crashed 7 times while processing it, even when it ran alone"
    )
    (letter,) = await bound.engine.queue.dead_letters()
    assert letter.key == submission.id


async def test_a_skill_that_kills_its_worker_before_the_check_ends_too(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive, clock: ManualClock
) -> None:
    submission = await submit_skill("tidy-notes")
    await die_beside(receive, clock, times=END_AFTER_LOST + 1)

    await handle_messages(await receive(), bound)

    assert (await current(submission)).state is SubmissionState.REJECTED
    assert len(await bound.engine.queue.dead_letters()) == 1


@pytest.mark.parametrize("deaths", [SUSPECT_AFTER_LOST + 1, END_AFTER_LOST])
async def test_a_suspect_that_is_harmless_is_published_however_late(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    clock: ManualClock,
    deaths: int,
) -> None:
    submission = await submit_skill("tidy-notes")
    await die_beside(receive, clock, times=deaths)

    await handle_messages(await receive(), bound)

    assert (await current(submission)).state is SubmissionState.PUBLISHED


async def test_two_suspects_at_once_wait_for_each_other_and_both_are_published(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive, clock: ManualClock
) -> None:
    submissions = [await submit_skill(name) for name in ("skill-a", "skill-b")]
    for _ in range(bound.settings.max_retries + 1):
        for delivery in await receive():
            await begin_check(delivery)
        clock.advance(**_GONE)

    await handle_messages(await receive(), bound)

    states = [(await current(submission)).state for submission in submissions]
    assert states == [SubmissionState.PUBLISHED, SubmissionState.PUBLISHED]


async def test_a_stop_gives_the_running_try_back(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive, clock: ManualClock
) -> None:
    submission = await submit_skill("tidy-notes")
    await die_with_it(receive, clock, times=1)
    (delivery,) = await receive()
    await begin_check(delivery)
    while_checked = (await current(submission)).tries

    await release_submission(delivery)

    released = await current(submission)
    assert (while_checked, released.tries) == (2, 1)
    assert released.state is SubmissionState.RECEIVED
    assert [again.attempt for again in await receive()] == [2]


async def test_a_stop_before_the_check_forgives_no_earlier_death(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive, clock: ManualClock
) -> None:
    submission = await submit_skill("tidy-notes")
    await die_with_it(receive, clock, times=1)
    (delivery,) = await receive()
    before = await current(submission)

    await release_submission(delivery)

    assert await current(submission) == before
    assert before.tries == 1


async def test_another_worker_that_has_the_message_is_not_disturbed_by_a_late_release(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    clock: ManualClock,
    logs: list[Any],
) -> None:
    submission = await submit_skill("tidy-notes")
    (late,) = await receive()
    await begin_check(late)
    clock.advance(**_GONE)
    (delivery,) = await receive()
    await begin_check(delivery)
    before = await current(submission)

    await release_submission(late)

    assert await current(submission) == before
    assert any("another worker has it" in event["event"] for event in logs)


async def test_being_overtaken_by_another_worker_never_costs_a_try(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def overtaken(_: Delivery) -> None:
        raise Overtaken("somebody else was faster")

    submission = await submit_skill("tidy-notes")
    with monkeypatch.context() as patch:
        patch.setattr(consumer, "process_submission", overtaken)
        for _ in range(bound.settings.max_retries + 2):
            await handle_messages(await receive(), bound)
            clock.advance(**_GONE)
    waiting = await current(submission)

    await handle_messages(await receive(), bound)

    assert waiting.tries == 0
    assert (await current(submission)).state is SubmissionState.PUBLISHED
