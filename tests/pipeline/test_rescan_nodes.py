"""Two worker nodes on one database share the rescans of a rules change."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from anyio import CapacityLimiter

from tests.casts import a_skill_folder
from tests.clocks import ManualClock
from tests.pipeline.conftest import Process
from vskill_platform.cron.schedule import RESCAN, run_due_jobs
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Operation
from vskill_platform.engines.ports import BACKGROUND
from vskill_platform.model.source import folder_source
from vskill_platform.publish.rescans import rescan_skills
from vskill_platform.publish.rescans.rescan_skills import (
    current_standard,
    is_rescanned,
    plan_rescan,
)
from vskill_platform.queue import background
from vskill_platform.queue.worker import Worker
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.rescan_store import get_rescans

SLUGS = {"@local/skill-0", "@local/skill-1", "@local/skill-2", "@local/skill-3"}


@pytest.fixture
async def outdated(
    bound: WorkerEnv, process: Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        await process(folder_source(str(a_skill_folder(tmp_path, f"skill-{number}"))))
    monkeypatch.setattr(rescan_skills, "ruleset_version", lambda: "of tomorrow")


@pytest.fixture
async def nodes(
    bound: WorkerEnv, engine_url: str, clock: ManualClock
) -> AsyncIterator[list[WorkerEnv]]:
    """Two nodes with a connection of their own, that check one skill at a time."""
    async with AsyncExitStack() as stack:
        found = []
        for name in ("node-1", "node-2"):
            engine = await open_engine(engine_url, clock=clock)
            stack.push_async_callback(engine.close)
            settings = msgspec.structs.replace(bound.settings, node=name)
            slots = CapacityLimiter(1)
            found.append(replace(bound, engine=engine, settings=settings, scan_slots=slots))
        yield found


@pytest.mark.usefixtures("outdated")
async def test_both_nodes_take_rescans_and_each_skill_is_checked_once(
    nodes: list[WorkerEnv], monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[tuple[str, str]] = []
    both = asyncio.Event()

    async def note(slug: str) -> list[Operation]:
        checked.append((get_settings().node, slug))
        if len({node for node, _ in checked}) == len(nodes):
            both.set()
        await both.wait()  # the other node takes one while this one is busy
        return await plan_rescan(slug)

    monkeypatch.setattr(background, "plan_rescan", note)
    (run,) = await run_due_jobs(nodes[0], jobs=(RESCAN,))

    await asyncio.gather(*(Worker(node).run(asyncio.Event(), drain=True) for node in nodes))
    (done,) = await run_due_jobs(nodes[1], jobs=(RESCAN,))

    assert run.outcome == "4 queued, 0 queued before, 0 left"
    assert {node for node, _ in checked} == {"node-1", "node-2"}
    assert sorted(slug for _, slug in checked) == sorted(SLUGS)
    assert set(await get_rescans(current_standard())) == SLUGS
    assert done.outcome == "all skills were rescanned"
    assert await is_rescanned()


@pytest.mark.usefixtures("outdated")
async def test_a_rescan_whose_node_died_is_done_by_the_other_node(
    nodes: list[WorkerEnv], clock: ManualClock
) -> None:
    dead, alive = nodes
    await run_due_jobs(alive, jobs=(RESCAN,))
    lost = await dead.engine.queue.receive(2, lease=dead.settings.lease, background=True)

    await Worker(alive).run(asyncio.Event(), drain=True)
    before = set(await get_rescans(current_standard()))
    clock.advance(seconds=alive.settings.lease.total_seconds())
    await Worker(alive).run(asyncio.Event(), drain=True)

    assert (len(lost), len(before)) == (2, 2)
    assert set(await get_rescans(current_standard())) == SLUGS
    assert await alive.engine.queue.count_group(BACKGROUND) == 0
