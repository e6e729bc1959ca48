"""Health: being alive is not enough, work must finish."""

from datetime import timedelta

from tests.clocks import ManualClock
from tests.unit.queue.conftest import SubmitSkill
from vskill_platform.queue.health import check_health
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.heartbeat_store import Heartbeat, put_heartbeat


async def beat(clock: ManualClock, *, handled_ago: timedelta | None) -> None:
    now = clock.now()
    await put_heartbeat(
        Heartbeat(
            node="n",
            started_at=now - timedelta(hours=1),
            beat_at=now,
            in_flight=0,
            handled=0,
            last_handled_at=now - handled_ago if handled_ago is not None else None,
        )
    )


async def test_an_empty_queue_is_healthy_without_workers(bound: WorkerEnv) -> None:
    assert (await check_health()).problems == ()


async def test_work_that_waits_without_a_worker_is_a_problem(
    bound: WorkerEnv, submit_skill: SubmitSkill, clock: ManualClock
) -> None:
    await submit_skill("tidy-notes")
    at_first = await check_health()

    clock.advance(minutes=5)
    health = await check_health()

    assert at_first.problems == ()
    assert health.problems == ("work has been waiting for 300 s and no worker is alive",)


async def test_alive_but_nothing_done_while_work_waits_is_a_problem(
    bound: WorkerEnv, submit_skill: SubmitSkill, clock: ManualClock
) -> None:
    await submit_skill("tidy-notes")
    clock.advance(minutes=6)
    await beat(clock, handled_ago=None)

    (problem,) = (await check_health()).problems

    assert "1 live worker, but none of it finishes" in problem


async def test_a_long_queue_that_moves_is_no_problem(
    bound: WorkerEnv, submit_skill: SubmitSkill, clock: ManualClock
) -> None:
    await submit_skill("tidy-notes")
    clock.advance(minutes=6)
    await beat(clock, handled_ago=timedelta(seconds=3))

    assert (await check_health()).problems == ()


async def test_a_pause_is_no_problem(
    bound: WorkerEnv, submit_skill: SubmitSkill, clock: ManualClock
) -> None:
    await submit_skill("tidy-notes")
    await bound.engine.queue.pause(timedelta(hours=1))
    clock.advance(minutes=6)

    assert (await check_health()).problems == ()
