"""The worker: limits, draining, stopping, outages, heartbeats."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from anyio import CapacityLimiter

from tests.casts import count_in_state
from tests.clocks import ManualClock
from tests.unit.queue.conftest import SubmitSkill
from vskill_platform.base.clock import SystemClock
from vskill_platform.engines.operations import Delivery
from vskill_platform.errors import EngineError
from vskill_platform.model.submission import SubmissionState
from vskill_platform.queue import consumer, worker
from vskill_platform.queue.process_submission import process_submission
from vskill_platform.queue.worker import Worker
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.heartbeat_store import get_heartbeats

pytestmark = pytest.mark.usefixtures("one_loop")


async def test_a_drained_queue_leaves_nothing_behind(
    bound: WorkerEnv, submit_skill: SubmitSkill
) -> None:
    for number in range(7):
        await submit_skill(f"skill-{number}")

    await Worker(bound).run(asyncio.Event(), drain=True)

    assert await count_in_state(SubmissionState.PUBLISHED) == 7
    stats = await bound.engine.queue.stats()
    assert (stats.ready, stats.leased, stats.delayed) == (0, 0, 0)


async def test_batches_and_messages_in_flight_keep_their_bounds(
    bound: WorkerEnv, submit_skill: SubmitSkill, monkeypatch: pytest.MonkeyPatch
) -> None:
    roomy = replace(bound, scan_slots=CapacityLimiter(15))
    for number in range(45):
        await submit_skill(f"skill-{number}")
    running, gate = 0, asyncio.Event()
    full = asyncio.Event()

    async def wait_for_release(_: Delivery) -> None:
        nonlocal running
        running += 1
        if running == 30:
            full.set()
        await gate.wait()
        running -= 1

    monkeypatch.setattr(consumer, "process_submission", wait_for_release)
    stop = asyncio.Event()
    run = asyncio.create_task(Worker(roomy).run(stop))
    await full.wait()
    for _ in range(50):
        await asyncio.sleep(0)
    in_flight = running
    stop.set()
    gate.set()
    await run

    assert in_flight == 30
    assert (await bound.engine.queue.stats()).ready == 15


async def test_a_stop_lets_what_runs_come_to_its_end(
    bound: WorkerEnv, submit_skill: SubmitSkill, monkeypatch: pytest.MonkeyPatch
) -> None:
    await submit_skill("tidy-notes")
    started, stop = asyncio.Event(), asyncio.Event()

    async def announce(delivery: Delivery) -> None:
        started.set()
        await stop.wait()
        await process_submission(delivery)

    monkeypatch.setattr(consumer, "process_submission", announce)
    run = asyncio.create_task(Worker(bound).run(stop))
    await started.wait()
    stop.set()
    await run

    assert await count_in_state(SubmissionState.PUBLISHED) == 1


async def test_messages_that_do_not_finish_in_the_grace_period_are_released(
    bound: WorkerEnv, submit_skill: SubmitSkill, monkeypatch: pytest.MonkeyPatch
) -> None:
    await submit_skill("tidy-notes")
    started, stop = asyncio.Event(), asyncio.Event()
    hasty = replace(
        bound, settings=msgspec.structs.replace(bound.settings, stop_grace=timedelta(0))
    )

    async def hang(_: Delivery) -> None:
        started.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(consumer, "process_submission", hang)
    run = asyncio.create_task(Worker(hasty).run(stop))
    await started.wait()
    stop.set()
    await run

    stats = await bound.engine.queue.stats()
    assert (stats.ready, stats.leased) == (1, 0)


async def test_a_queue_that_fails_for_a_while_does_not_end_the_worker(
    bound: WorkerEnv, submit_skill: SubmitSkill, monkeypatch: pytest.MonkeyPatch, logs: list[Any]
) -> None:
    await submit_skill("tidy-notes")
    monkeypatch.setattr(worker, "PAUSE_AFTER_ERROR_SECONDS", 0)
    receive = bound.engine.queue.receive
    failures = iter([EngineError("down"), EngineError("down")])

    async def fail_at_first(*arguments: Any, **options: Any) -> list[Delivery]:
        if error := next(failures, None):
            raise error
        return await receive(*arguments, **options)

    monkeypatch.setattr(bound.engine.queue, "receive", fail_at_first)
    stop = asyncio.Event()
    run = asyncio.create_task(Worker(bound).run(stop))
    async with asyncio.timeout(60):
        async for change in bound.engine.changes(after=0):
            if "skill:@local/tidy-notes" in change.keys:
                break
    stop.set()
    await run

    outages = [event for event in logs if event["event"] == "queue does not answer"]
    assert len(outages) == 2


async def test_a_worker_gives_signs_of_life(
    bound: WorkerEnv, submit_skill: SubmitSkill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "HEARTBEAT_EVERY_SECONDS", 0.001)
    await submit_skill("tidy-notes")
    stop = asyncio.Event()
    run = asyncio.create_task(Worker(bound).run(stop))

    async with asyncio.timeout(60):
        async for change in bound.engine.changes(after=0):
            beats = await get_heartbeats() if "heartbeat:node-1" in change.keys else []
            if any(beat.handled for beat in beats):
                break
    stop.set()
    await run

    (beat,) = await get_heartbeats()
    assert (beat.node, beat.handled) == ("node-1", 1)
    assert beat.last_handled_at is not None


async def test_a_paused_queue_is_left_alone(
    bound: WorkerEnv, submit_skill: SubmitSkill, clock: ManualClock
) -> None:
    await submit_skill("tidy-notes")
    await bound.engine.queue.pause(timedelta(minutes=10))

    await Worker(bound).run(asyncio.Event(), drain=True)
    paused = await count_in_state(SubmissionState.RECEIVED)
    clock.advance(minutes=10)
    await Worker(bound).run(asyncio.Event(), drain=True)

    assert paused == 1
    assert await count_in_state(SubmissionState.PUBLISHED) == 1


def test_the_real_clock_has_a_time_zone() -> None:
    assert SystemClock().now().utcoffset() == timedelta(0)
