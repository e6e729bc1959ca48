"""The schedule: one node runs a job, each job fails alone."""

import asyncio
import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.clocks import ManualClock
from vskill_platform.cron import run_lease, schedule
from vskill_platform.cron.request_runs import request_run
from vskill_platform.cron.run_lease import LEASE
from vskill_platform.cron.schedule import (
    JOBS,
    CronJob,
    run_cron,
    run_due_jobs,
    run_job_now,
)
from vskill_platform.engines.operations import Delete, Operation, Put
from vskill_platform.errors import EngineError, FeedTrimmed, OutcomeUnknown, Overtaken
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import get_worker_env
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.cron_store import (
    CronRun,
    get_cron_run,
    get_cron_runs,
    get_cursor,
    put_cron_run,
)


def a_job(name: str, run: Any, *, budget: timedelta = timedelta(minutes=1)) -> CronJob:
    return CronJob(name, timedelta(minutes=1), budget, run)


async def done() -> str:
    return "done"


async def broken() -> str:
    raise ValueError("broken")


async def endless() -> str:
    await asyncio.Event().wait()
    return "never"


async def test_a_due_job_runs_once_and_again_after_its_interval(
    env: WorkerEnv, clock: ManualClock
) -> None:
    jobs = (a_job("a", done),)
    first = await run_due_jobs(env, jobs=jobs)
    too_early = await run_due_jobs(env, jobs=jobs)
    clock.advance(minutes=1)

    again = await run_due_jobs(env, jobs=jobs)

    assert [run.outcome for run in first] == ["done"]
    assert too_early == []
    assert len(again) == 1


async def test_of_two_nodes_one_runs_the_job(env: WorkerEnv) -> None:
    jobs = (a_job("a", done),)

    runs = await asyncio.gather(*(run_due_jobs(env, jobs=jobs) for _ in range(8)))

    assert sum(len(run) for run in runs) == 1


HALF_AN_HOUR = timedelta(minutes=30)


async def test_a_job_whose_node_was_killed_is_taken_over_when_its_lease_ends(
    env: WorkerEnv, bound: WorkerEnv, clock: ManualClock
) -> None:
    job, now = CronJob("a", timedelta(hours=6), HALF_AN_HOUR, done), clock.now()
    await put_cron_run(CronRun(job="a", node="killed", started_at=now, renewed_at=now))

    clock.advance(seconds=LEASE.total_seconds())
    while_it_may_run = await run_due_jobs(env, jobs=(job,))
    clock.advance(seconds=1)
    runs = await asyncio.gather(*(run_due_jobs(env, jobs=(job,)) for _ in range(2)))

    assert while_it_may_run == []
    assert sorted(len(run) for run in runs) == [0, 1]


@pytest.mark.parametrize("renewed_minutes_before", [None, 1])
async def test_a_job_of_the_release_before_is_taken_over_after_its_budget(
    env: WorkerEnv, bound: WorkerEnv, clock: ManualClock, renewed_minutes_before: int | None
) -> None:
    job, now = CronJob("a", timedelta(hours=6), HALF_AN_HOUR, done), clock.now()
    # It renews nothing, but keeps the field of the run before, which it does not know.
    kept = now - timedelta(minutes=renewed_minutes_before) if renewed_minutes_before else None
    await put_cron_run(CronRun(job="a", node="older", started_at=now, renewed_at=kept))

    clock.advance(seconds=HALF_AN_HOUR.total_seconds())
    while_it_may_run = await run_due_jobs(env, jobs=(job,))
    clock.advance(seconds=11)

    assert while_it_may_run == []
    assert len(await run_due_jobs(env, jobs=(job,))) == 1


async def test_a_job_that_takes_long_is_left_to_its_node(
    bound: WorkerEnv, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lease, "RENEW_EVERY_SECONDS", 0.001)
    others: list[list[CronRun]] = []

    async def long() -> str:
        for _ in range(3):
            clock.advance(seconds=LEASE.total_seconds())
            while (await get_cron_runs())[0].renewed_at != clock.now():
                await asyncio.sleep(0.001)
            others.append(await run_due_jobs(bound, jobs=(job,)))
        return "done"

    job = CronJob("a", timedelta(hours=6), HALF_AN_HOUR, long)

    (run,) = await run_due_jobs(bound, jobs=(job,))

    assert run.outcome == "done"
    assert others == [[], [], []]
    assert (await get_cron_runs())[0].ended_at == clock.now()


async def test_a_job_that_another_node_has_taken_over_is_stopped(
    bound: WorkerEnv, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lease, "RENEW_EVERY_SECONDS", 0.001)
    theirs = CronRun(job="a", node="node-2", started_at=clock.now() + timedelta(minutes=1))

    async def overtaken() -> str:
        is_taken = None
        while is_taken is None:  # the lease may just have been renewed
            last = await get_cron_run("a")
            assert last
            is_taken = await put_cron_run(theirs, expected=last.revision)
        return await endless()

    (run,) = await run_due_jobs(bound, jobs=(a_job("a", overtaken),))

    assert run.outcome.startswith("stopped: its node could not report for too long")
    assert await get_cron_runs() == [theirs]


async def test_a_renewal_whose_answer_was_lost_does_not_stop_the_job(
    bound: WorkerEnv, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lease, "RENEW_EVERY_SECONDS", 0.001)
    commit, is_renewed = bound.engine.commit, asyncio.Event()
    renewals = 0

    async def losing(operations: Sequence[Operation]) -> int | None:
        nonlocal renewals
        revision = await commit(operations)
        renewals += 1
        if renewals == 1:
            raise OutcomeUnknown("lost")
        is_renewed.set()
        return revision

    async def long() -> str:
        monkeypatch.setattr(bound.engine, "commit", losing)
        await is_renewed.wait()
        return "done"

    (run,) = await run_due_jobs(bound, jobs=(a_job("a", long),))

    assert run.outcome == "done"
    assert (await get_cron_runs())[0].outcome == "done"


async def test_a_job_whose_node_cannot_renew_its_lease_is_stopped_before_it_ends(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lease, "RENEW_EVERY_SECONDS", 0.001)
    monkeypatch.setattr(run_lease, "LEASE", timedelta(seconds=0.01))

    async def down(_: object) -> None:
        raise EngineError("down")

    async def long() -> str:
        with monkeypatch.context() as outage:
            outage.setattr(bound.engine, "commit", down)
            return await endless()

    (run,) = await run_due_jobs(bound, jobs=(a_job("a", long),))

    assert run.outcome.startswith("stopped: its node could not report for too long")


async def test_a_job_that_fails_or_hangs_does_not_touch_the_others(bound: WorkerEnv) -> None:
    jobs = (
        a_job("bad", broken),
        a_job("slow", endless, budget=timedelta(milliseconds=10)),
        a_job("good", done),
    )

    runs = {run.job: run for run in await run_due_jobs(bound, jobs=jobs)}

    assert runs["bad"].is_failure
    assert runs["bad"].outcome == "ValueError: broken"
    assert runs["slow"].is_failure
    assert not runs["good"].is_failure
    assert {run.job: run.outcome for run in await get_cron_runs()}["bad"] == "ValueError: broken"


async def test_every_job_runs_with_the_env_in_reach(env: WorkerEnv) -> None:
    async def look() -> str:
        return str(get_worker_env() is env)

    (run,) = await run_due_jobs(env, jobs=(a_job("look", look),))

    assert run.outcome == "True"
    assert get_worker_env() is None


async def test_a_clock_that_jumps_back_does_not_stop_the_jobs(
    env: WorkerEnv, clock: ManualClock
) -> None:
    await run_due_jobs(env, jobs=(a_job("a", done),))

    clock.advance(days=-1)

    assert len(await run_due_jobs(env, jobs=(a_job("a", done),))) == 1


async def test_a_database_that_is_down_ends_no_cron(
    env: WorkerEnv, monkeypatch: pytest.MonkeyPatch, logs: list[Any]
) -> None:
    async def down(_: object) -> None:
        raise EngineError("down")

    monkeypatch.setattr(env.engine, "commit", down)

    assert await run_due_jobs(env, jobs=(a_job("a", done),)) == []
    assert any(event["event"].startswith("cron job not recorded") for event in logs)


async def test_a_job_that_never_ends_delays_no_other_job(
    bound: WorkerEnv, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "LOOK_EVERY_SECONDS", 0.001)
    stop, runs = asyncio.Event(), 0

    async def quick() -> str:
        nonlocal runs
        runs += 1
        clock.advance(minutes=1)  # so it is due again at the next look
        if runs == 3:
            stop.set()
        return "done"

    jobs = (a_job("slow", endless, budget=timedelta(minutes=30)), a_job("quick", quick))
    await run_cron(bound, stop, jobs=jobs)

    assert runs == 3


async def test_a_stop_cancels_the_jobs_at_once_and_makes_them_due_again(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = asyncio.Event()

    async def slow() -> str:
        stop.set()
        return await endless()

    job = a_job("slow", slow, budget=timedelta(minutes=30))
    await run_cron(bound, stop, jobs=(job,))

    (stopped,) = await get_cron_runs()
    assert stopped.ended_at is not None
    assert stopped.outcome == "stopped with its server; it will be restarted"
    assert not stopped.is_failure
    assert len(await run_due_jobs(bound, jobs=(a_job("slow", done),))) == 1


async def test_a_job_that_ignores_the_stop_is_abandoned_after_the_grace(
    bound: WorkerEnv, logs: list[Any]
) -> None:
    stop, let_go = asyncio.Event(), asyncio.Event()
    short = msgspec.structs.replace(bound.settings, stop_grace=timedelta(milliseconds=20))
    env = dataclasses.replace(bound, settings=short)
    ended: list[str] = []

    async def stubborn() -> str:
        stop.set()
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()
        ended.append("stubborn")
        return "at last"

    await run_cron(env, stop, jobs=(a_job("stubborn", stubborn), a_job("other", endless)))
    ended_by_the_stop = list(ended)
    let_go.set()
    (left,) = [task for task in asyncio.all_tasks() if task.get_name() == "cron stubborn"]
    await asyncio.wait([left])

    assert ended_by_the_stop == []
    assert ended == ["stubborn"]
    abandoned = [
        event["job"] for event in logs if event["event"] == "cron job did not stop in time"
    ]
    assert "cron stubborn" in abandoned  # on a busy machine the other one, too


async def test_a_job_that_ignores_its_budget_is_a_failure_and_never_runs_twice_at_once(
    bound: WorkerEnv, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "LOOK_EVERY_SECONDS", 0.001)
    monkeypatch.setattr(schedule, "CLEAN_UP_SECONDS", 0.001)
    stop, let_go, starts, other_runs = asyncio.Event(), asyncio.Event(), 0, 0
    seen: list[tuple[int, list[str]]] = []

    async def stubborn() -> str:
        nonlocal starts
        starts += 1
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()
        if starts == 2:
            stop.set()
        return "at last"

    async def other() -> str:
        nonlocal other_runs
        clock.advance(minutes=1)
        failed = [run.outcome for run in await get_cron_runs() if run.is_failure]
        other_runs += bool(failed)
        if other_runs == 3:  # it was due three times since, and still the first one runs
            seen.append((starts, failed))
            let_go.set()
        return "done"

    short = a_job("stubborn", stubborn, budget=timedelta(milliseconds=1))
    await run_cron(bound, stop, jobs=(short, a_job("other", other)))

    assert seen == [
        (1, ["not finished within its budget of 0.001s; it was cancelled but is still running"])
    ]
    assert starts == 2


async def test_an_error_in_the_schedule_itself_ends_the_cron_and_is_raised(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_clock() -> None:
        raise ZeroDivisionError("no time")

    monkeypatch.setattr(schedule, "get_now", broken_clock)

    with pytest.raises(ZeroDivisionError):
        await run_cron(bound, asyncio.Event(), jobs=(a_job("a", done),))


async def test_an_interrupted_rescan_can_be_started_again_at_once(bound: WorkerEnv) -> None:
    started = asyncio.Event()

    async def slow() -> str:
        started.set()
        return await endless()

    run = asyncio.create_task(run_job_now(a_job("rescan", slow)))
    await started.wait()
    run.cancel()
    await asyncio.wait([run])

    assert (await run_job_now(a_job("rescan", done))).outcome == "done"


async def test_the_real_jobs_run_on_an_empty_database(env: WorkerEnv) -> None:
    runs = await run_due_jobs(env)

    assert {run.job for run in runs} == {job.name for job in JOBS}
    assert not any(run.is_failure for run in runs)


async def test_recovery_runs_every_minute_and_no_job_outlasts_its_interval() -> None:
    by_name = {job.name: job for job in JOBS}

    assert by_name["recover-stuck"].every == timedelta(minutes=1)
    assert all(job.budget < job.every for job in JOBS)


async def test_pruning_removes_what_has_served_its_time(env: WorkerEnv, clock: ManualClock) -> None:
    soon = clock.now() + timedelta(minutes=1)
    await env.engine.commit([Put("a", b"1", expires_at=soon), Put("b", b"2"), Put("c", b"3")])
    await env.engine.commit([Delete("c")])
    clock.advance(days=8)
    await run_due_jobs(env)

    assert (await env.engine.kv.list_keys("")).keys[0] == "b"
    with pytest.raises(FeedTrimmed):
        await anext(env.engine.changes(after=0))


async def test_a_job_that_somebody_asks_for_is_due_at_once(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    job = a_job("a", done)
    await request_run(job, actor="cyd")  # it never ran before
    first = await run_due_jobs(bound, jobs=(job,))
    clock.advance(seconds=1)
    not_due = await run_due_jobs(bound, jobs=(job,))
    await request_run(job, actor="cyd")

    again = await run_due_jobs(bound, jobs=(job,))

    assert (len(first), not_due, len(again)) == (1, [], 1)
    assert [(one.actor, one.action) for one in (await list_audit()).records] == [("cyd", "a")] * 2


async def test_a_job_that_runs_is_not_asked_for_until_its_lease_has_ended(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    job, now = a_job("a", done), clock.now()
    await put_cron_run(CronRun(job="a", node="node-2", started_at=now, renewed_at=now))

    with pytest.raises(Overtaken, match=r"has been running since .*, or until 12:00:45 UTC if it"):
        await request_run(job, actor="cyd")
    clock.advance(seconds=46)  # it was killed
    await request_run(job, actor="cyd")

    assert len(await run_due_jobs(bound, jobs=(job,))) == 1


async def test_a_job_whose_record_cannot_be_read_runs_and_replaces_it(
    bound: WorkerEnv,
) -> None:
    await bound.engine.commit([Put("cron:a", b"\xc1 nonsense")])
    jobs = (a_job("a", done),)

    first = await run_due_jobs(bound, jobs=jobs)
    too_early = await run_due_jobs(bound, jobs=jobs)

    assert [run.outcome for run in first] == ["done"]
    assert too_early == []
    assert [run.outcome for run in await get_cron_runs()] == ["done"]


async def test_a_job_whose_record_cannot_be_read_can_be_asked_for_and_started(
    bound: WorkerEnv,
) -> None:
    await bound.engine.commit([Put("cron:a", b"\xc1 nonsense"), Put("cron:b", b"{}")])

    await request_run(a_job("a", done), actor="cyd")
    asked = await run_due_jobs(bound, jobs=(a_job("a", done),))
    started = await run_job_now(a_job("b", done))

    assert [run.outcome for run in (*asked, started)] == ["done", "done"]


async def test_a_cursor_that_cannot_be_read_means_the_beginning(bound: WorkerEnv) -> None:
    await bound.engine.commit([Put("cron-cursor:a", b"\xc1 nonsense")])

    assert await get_cursor("a") is None
