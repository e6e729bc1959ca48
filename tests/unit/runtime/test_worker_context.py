"""The env of running work: each task has a separate one (seeds US-003)."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Protocol

import pytest

from vskill_platform.errors import NoWorkerEnv
from vskill_platform.runtime import worker_context
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import (
    get_worker_env,
    run_with_worker_env,
    worker_env_storage,
)
from vskill_platform.settings import Settings
from vskill_platform.stores.db import get_kv


class Context(Protocol):
    """What the probe needs; the original design and ours both have it."""

    def get(self) -> WorkerEnv | None: ...

    async def run(self, env: WorkerEnv, work: Callable[[], Awaitable[None]]) -> None: ...


class OurContext:
    def get(self) -> WorkerEnv | None:
        return get_worker_env()

    async def run(self, env: WorkerEnv, work: Callable[[], Awaitable[None]]) -> None:
        await run_with_worker_env(env, work)


class ModuleVariable:
    """The shape that the seeds did away with: one variable, set and cleared by every batch."""

    def __init__(self) -> None:
        self._env: WorkerEnv | None = None

    def get(self) -> WorkerEnv | None:
        return self._env

    async def run(self, env: WorkerEnv, work: Callable[[], Awaitable[None]]) -> None:
        self._env = env
        try:
            await work()
        finally:
            self._env = None


def many_envs(env: WorkerEnv, count: int) -> list[WorkerEnv]:
    return [replace(env, settings=Settings(node=f"batch-{number}")) for number in range(count)]


async def wrong_reads(context: Context, envs: Sequence[WorkerEnv]) -> int:
    """Run a batch for each env, all at once, of different lengths; count what went wrong."""
    wrong = 0

    async def batch(env: WorkerEnv, turns: int) -> None:
        async def work() -> None:
            nonlocal wrong
            for _ in range(turns):
                wrong += context.get() is not env
                await asyncio.sleep(0)

        await context.run(env, work)

    await asyncio.gather(*(batch(env, 1 + n % 7) for n, env in enumerate(envs)))
    return wrong


async def test_tc060_there_is_no_env_outside_of_a_run() -> None:
    assert get_worker_env() is None


async def test_tc061_work_sees_the_env_it_runs_with(env: WorkerEnv) -> None:
    async def work() -> WorkerEnv | None:
        await asyncio.sleep(0)
        return get_worker_env()

    assert await run_with_worker_env(env, work) is env


async def test_tc062_the_env_is_gone_when_the_work_is_done(env: WorkerEnv) -> None:
    async def work() -> None:
        await asyncio.sleep(0)

    await run_with_worker_env(env, work)

    assert get_worker_env() is None


async def test_tc063_nested_runs_each_see_their_own_env(env: WorkerEnv) -> None:
    outer, inner = many_envs(env, 2)
    seen: list[WorkerEnv | None] = []

    async def inside() -> None:
        seen.append(get_worker_env())

    async def outside() -> None:
        seen.append(get_worker_env())
        await run_with_worker_env(inner, inside)
        seen.append(get_worker_env())

    await run_with_worker_env(outer, outside)

    assert seen == [outer, inner, outer]


async def test_tc058_tc063_concurrent_runs_never_see_each_others_env(env: WorkerEnv) -> None:
    assert await wrong_reads(OurContext(), many_envs(env, 2)) == 0


async def test_a_thousand_concurrent_batches_read_nothing_wrong(env: WorkerEnv) -> None:
    assert await wrong_reads(OurContext(), many_envs(env, 1000)) == 0


async def test_the_old_shape_fails_the_same_probe(env: WorkerEnv) -> None:
    assert await wrong_reads(ModuleVariable(), many_envs(env, 2)) > 0


async def test_a_batch_that_ends_takes_nothing_from_one_in_flight(env: WorkerEnv) -> None:
    long, short = many_envs(env, 2)
    short_ended, long_started = asyncio.Event(), asyncio.Event()

    async def long_work() -> WorkerEnv | None:
        long_started.set()
        await short_ended.wait()
        return get_worker_env()

    async def short_work() -> None:
        await long_started.wait()

    in_flight = asyncio.create_task(run_with_worker_env(long, long_work))
    await run_with_worker_env(short, short_work)
    short_ended.set()

    assert await in_flight is long


async def test_the_env_is_gone_after_an_error(env: WorkerEnv) -> None:
    async def work() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await run_with_worker_env(env, work)

    assert get_worker_env() is None


async def test_the_env_is_back_after_a_cancellation(env: WorkerEnv) -> None:
    outer, inner = many_envs(env, 2)

    async def outside() -> WorkerEnv | None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await run_with_worker_env(inner, asyncio.Event().wait)
        return get_worker_env()

    assert await run_with_worker_env(outer, outside) is outer


async def test_a_thread_of_asyncio_carries_the_env_and_a_bare_executor_does_not(
    env: WorkerEnv,
) -> None:
    async def work() -> tuple[WorkerEnv | None, WorkerEnv | None]:
        loop = asyncio.get_running_loop()
        return await asyncio.to_thread(get_worker_env), await loop.run_in_executor(
            None, get_worker_env
        )

    assert await run_with_worker_env(env, work) == (env, None)


async def test_a_batch_that_is_forgotten_keeps_no_env_alive(env: WorkerEnv) -> None:
    (forgotten,) = many_envs(env, 1)
    task = asyncio.create_task(run_with_worker_env(forgotten, asyncio.Event().wait))
    await asyncio.sleep(0)

    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    del task
    gc.collect()

    assert not [ref for ref in gc.get_referrers(forgotten) if type(ref).__name__ == "Context"]


def test_there_is_no_way_to_set_or_clear_the_env() -> None:
    names = {name for name in vars(worker_context) if "env" in name.lower()}

    assert names == {"WorkerEnv", "worker_env_storage", "get_worker_env", "run_with_worker_env"}
    assert worker_env_storage.get() is None


async def test_a_store_outside_of_an_env_raises_and_falls_through_to_nothing() -> None:
    with pytest.raises(NoWorkerEnv, match="run_with_worker_env"):
        get_kv()
