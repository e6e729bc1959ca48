"""Workers are killed in the middle of rescans; others do them, and each skill is checked once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.postgres_server import an_own_server
from tests.torture.audit import find_mistakes
from tests.torture.conftest import StartNodes
from tests.torture.nodes import Nodes
from tests.torture.skills import make_skills
from vskill_platform.cron.request_runs import request_full_rescan, request_run
from vskill_platform.cron.schedule import RESCAN
from vskill_platform.errors import Overtaken
from vskill_platform.publish.policy.current_policy import run_with_current_policy
from vskill_platform.publish.policy.edit_policy import PolicyDraft, save_policy
from vskill_platform.publish.rescans.rescan_requests import get_open_rescan_request
from vskill_platform.publish.rescans.rescan_skills import current_standard, is_rescanned
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.db import get_queue
from vskill_platform.stores.rescan_store import get_rescans

_KILLS = 4
_SKILLS = 12
#: A worker is killed up to this long after it has begun a rescan.
_LONGEST_SECONDS = 0.3
#: On a busy machine, with a job that is taken over a minute after each kill.
_PATIENCE_SECONDS = 900.0


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/registry.db"
        return
    with an_own_server() as server:
        yield server.url


async def request_rescan() -> None:
    while await get_open_rescan_request() is None:
        with suppress(Overtaken):  # the job is running
            await request_full_rescan(actor="ada")


async def change_policy() -> None:
    text = '[thresholds]\nreview_at = "high"\n'
    await save_policy(PolicyDraft(text=text, base=0, reason="torture", author="ada"))
    is_asked = False
    while not is_asked:
        with suppress(Overtaken):  # the job is running
            await request_run(RESCAN, actor="ada")
            is_asked = True


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("begin", [request_rescan, change_policy])
async def test_all_skills_are_rescanned_once_although_their_workers_are_killed(
    database_url: str,
    start_nodes: StartNodes,
    monkeypatch: pytest.MonkeyPatch,
    begin: Callable[[], Awaitable[None]],
) -> None:
    monkeypatch.setattr("tests.torture.nodes.PATIENCE_SECONDS", _PATIENCE_SECONDS)
    skills = make_skills(_SKILLS, kind="plain")
    nodes = start_nodes(database_url, workers=2)
    async with nodes.under_load(skills) as load:
        await load.reached(len(skills))
    await nodes.settled()

    async with nodes.platform.env() as env, _counted_rescans(env) as written:
        await run_with_worker_env(env, begin)
        kills = await run_with_worker_env(env, partial(_kill_until_rescanned, nodes))
        rescanned = await run_with_worker_env(env, _rescanned)
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while written.total() < len(rescanned):
                await asyncio.sleep(0.02)

    assert kills > 0
    assert rescanned == sorted(f"@ada/{skill.name}" for skill in skills)
    assert sorted(written.values()) == [1] * len(skills)
    assert await find_mistakes(nodes, skills, load) == []
    assert await nodes.stop() == []


@asynccontextmanager
async def _counted_rescans(env: WorkerEnv) -> AsyncIterator[Counter[str]]:
    """Count how often each result is written."""
    written: Counter[str] = Counter()
    before = await env.engine.revision()

    async def count() -> None:
        async for change in env.engine.changes(after=before, prefixes=["rescan:"]):
            written.update(change.keys)

    counting = asyncio.create_task(count())
    yield written
    counting.cancel()
    with suppress(asyncio.CancelledError):
        await counting


async def _kill_until_rescanned(nodes: Nodes) -> int:
    """Kill all workers whenever they have rescans, a few times; return how often."""
    kills, dice = 0, Random(1)
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while not await run_with_current_policy(is_rescanned):
            done = len(await _rescanned())
            has_more = done >= 3 * kills  # since the last kill
            if kills < _KILLS and has_more and (await get_queue().stats()).background.leased:
                await asyncio.sleep(dice.uniform(0, _LONGEST_SECONDS))
                for worker in nodes.workers:
                    await asyncio.to_thread(worker.kill)
                    worker.restart()
                kills += 1
            await asyncio.sleep(0.02)
    return kills


async def _rescanned() -> list[str]:
    async def find() -> list[str]:
        return sorted(await get_rescans(current_standard()))

    return await run_with_current_policy(find)
