"""Workers are killed in the middle of rescans; others do them, and each skill is checked."""

import asyncio
from contextlib import suppress
from functools import partial

import pytest

from tests.postgres_server import OwnServer
from tests.torture.audit import find_mistakes
from tests.torture.conftest import StartNodes
from tests.torture.nodes import Nodes
from tests.torture.skills import make_skills
from vskill_platform.cron.schedule import ask_for_rescan
from vskill_platform.errors import Overtaken
from vskill_platform.publish.moderation.rescan_skills import (
    current_standard,
    get_open_rescan_request,
    is_rescanned,
)
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.db import get_queue
from vskill_platform.stores.rescan_store import get_rescans

_KILLS = 4


@pytest.mark.timeout(900)
async def test_all_skills_are_rescanned_although_their_workers_are_killed(
    server: OwnServer, start_nodes: StartNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.torture.nodes.PATIENCE_SECONDS", 600.0)
    skills = make_skills(12, kind="plain")
    nodes = start_nodes(server.url, workers=2)
    async with nodes.under_load(skills) as load:
        await load.reached(len(skills))
    await nodes.settled()

    async with nodes.platform.env() as env:
        kills = await run_with_worker_env(env, partial(_kill_during_a_rescan, nodes))
        rescanned = await run_with_worker_env(env, _rescanned)

    assert kills > 0
    assert rescanned == sorted(f"@ada/{skill.name}" for skill in skills)
    assert await find_mistakes(nodes, skills, load) == []
    assert await nodes.stop() == []


async def _kill_during_a_rescan(nodes: Nodes) -> int:
    """Kill all workers whenever they have rescans, a few times; return how often."""
    kills = 0
    async with asyncio.timeout(600):
        while await get_open_rescan_request() is None:
            with suppress(Overtaken):  # the job is running
                await ask_for_rescan(actor="ada")
        while not await is_rescanned():
            done = len(await _rescanned())
            has_more = done >= 3 * kills  # since the last kill
            if kills < _KILLS and has_more and (await get_queue().stats()).background.leased:
                for worker in nodes.workers:
                    await asyncio.to_thread(worker.kill)
                    worker.restart()
                kills += 1
            await asyncio.sleep(0.02)
    return kills


async def _rescanned() -> list[str]:
    return sorted(await get_rescans(current_standard()))
