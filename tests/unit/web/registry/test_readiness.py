"""`/readyz`: whether this node can serve, checked with a write and within limited time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from httpx import ASGITransport, AsyncClient
from litestar import Litestar

from tests.apps import an_app
from tests.clocks import ManualClock
from tests.probes import ProbingEngine
from vskill_platform.catalogue.catalogue import Catalogue, open_catalogue
from vskill_platform.engines.ports import ChangesPage, Engine
from vskill_platform.errors import EngineError
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import folder_source
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.web.registry.probes import CachedReadiness


@pytest.fixture
def probe(env: WorkerEnv) -> ProbingEngine:
    return ProbingEngine(env.engine)


@pytest.fixture
async def catalogue(env: WorkerEnv) -> AsyncIterator[Catalogue]:
    async with open_catalogue(env) as catalogue:
        await catalogue.wait_until_ready()
        yield catalogue


@pytest.fixture
def app(env: WorkerEnv, probe: ProbingEngine, catalogue: Catalogue) -> Litestar:
    return an_app(replace(env, engine=probe), catalogue=catalogue)


@pytest.fixture
async def client(app: Litestar) -> AsyncIterator[AsyncClient]:
    transport = ASGITransport(cast("Any", app))
    async with AsyncClient(transport=transport, base_url="http://registry") as client:
        yield client


async def fail() -> None:
    raise EngineError("/secret/path: the disk is full")


async def test_a_node_that_can_write_and_search_is_ready(client: AsyncClient) -> None:
    answer = await client.get("/readyz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ready", "problems": []})


async def test_a_node_that_cannot_write_is_not_ready_until_it_can(
    client: AsyncClient, probe: ProbingEngine, clock: ManualClock
) -> None:
    works = probe.before_check
    probe.before_check = fail
    full = await client.get("/readyz")
    probe.before_check = works
    clock.advance(seconds=3)

    free = await client.get("/readyz")

    assert (full.status_code, full.json()["problems"]) == (503, ["the database cannot be written"])
    assert "secret" not in full.text
    assert free.status_code == 200


async def test_however_many_ask_there_is_one_write_in_three_seconds(
    client: AsyncClient, probe: ProbingEngine, clock: ManualClock
) -> None:
    for _ in range(3):
        await asyncio.gather(*(client.get("/readyz") for _ in range(10)))
        clock.advance(seconds=2)

    assert probe.checks == 2


async def test_a_database_that_hangs_is_waited_for_once_and_not_for_long(
    client: AsyncClient, app: Litestar, probe: ProbingEngine
) -> None:
    app.state.readiness = CachedReadiness(timeout_seconds=0.01)
    goes_on = asyncio.Event()

    async def hang() -> None:
        await goes_on.wait()

    probe.before_check = hang
    hanging = [(await client.get("/readyz")).json()["problems"] for _ in range(3)]
    checks = probe.checks
    goes_on.set()
    app.state.readiness._patience_seconds = 60.0

    back = await client.get("/readyz")

    assert hanging == [["the database does not respond"]] * 3
    assert checks == 1
    assert back.status_code == 200


class HeldEngine(ProbingEngine):
    """Lets nobody read the change feed, and so fill an index, before the test says so."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.may_read = asyncio.Event()

    async def read_changes(
        self, *, after: int, checkpoint: str = "", prefixes: Sequence[str] = ()
    ) -> ChangesPage:
        await self.may_read.wait()
        return await super().read_changes(after=after, checkpoint=checkpoint, prefixes=prefixes)


async def test_a_node_whose_index_is_being_built_is_not_ready(env: WorkerEnv) -> None:
    held = HeldEngine(env.engine)
    async with open_catalogue(replace(env, engine=cast("Any", held))) as building:
        transport = ASGITransport(cast("Any", an_app(env, catalogue=building)))
        async with AsyncClient(transport=transport, base_url="http://registry") as client:
            before, page = await client.get("/readyz"), await client.get("/api/v1/skills")
            held.may_read.set()
            await building.wait_until_ready()

            after = await client.get("/readyz")

    assert (before.status_code, page.status_code) == (503, 503)
    assert before.json()["problems"] == ["the search index is being built"]
    assert after.status_code == 200


async def test_work_that_waits_makes_no_node_unready(
    client: AsyncClient, env: WorkerEnv, clock: ManualClock
) -> None:
    await run_with_worker_env(env, lambda: submit(folder_source("/skills/a"), submitter="ada"))
    clock.advance(minutes=6)

    node, queue = await client.get("/readyz"), await client.get("/healthz/queue")

    assert (node.status_code, queue.status_code) == (200, 503)
