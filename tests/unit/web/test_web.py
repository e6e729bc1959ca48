"""What the whole application has: health checks, a stylesheet, and correct errors in outages."""

import gc
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from httpx import ASGITransport, AsyncClient

from tests.apps import an_app
from tests.casts import a_published_skill
from tests.clocks import ManualClock
from tests.probes import ProbingEngine
from tests.unit.web.api_cast import token_of
from vskill_platform import __version__
from vskill_platform.errors import EngineError
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import folder_source
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.heartbeat_store import Heartbeat, put_heartbeat
from vskill_platform.stores.skill_store import write_skill
from vskill_platform.web.app import collect_rarely


@pytest.fixture
def probe(env: WorkerEnv) -> ProbingEngine:
    return ProbingEngine(env.engine)


@pytest.fixture
async def client(env: WorkerEnv, probe: ProbingEngine) -> AsyncIterator[AsyncClient]:
    app = ASGITransport(cast("Any", an_app(replace(env, engine=probe))))
    async with AsyncClient(transport=app, base_url="http://registry") as client:
        yield client


async def test_a_process_that_answers_is_alive(client: AsyncClient) -> None:
    answer = await client.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


async def test_a_queue_is_healthy_while_work_gets_done(
    client: AsyncClient, env: WorkerEnv, clock: ManualClock
) -> None:
    healthy = await client.get("/healthz/queue")
    source = folder_source("/skills/a")
    await run_with_worker_env(env, lambda: submit(source, submitter="ada"))
    clock.advance(minutes=6)

    waiting = await client.get("/healthz/queue")

    assert healthy.status_code == 200
    assert waiting.status_code == 503
    assert "no worker is alive" in waiting.json()["problems"][0]


async def test_the_health_of_the_queue_is_what_was_known_a_moment_ago(
    client: AsyncClient, env: WorkerEnv, clock: ManualClock
) -> None:
    before = await client.get("/healthz/queue")
    source = folder_source("/skills/a")
    await run_with_worker_env(env, lambda: submit(source, submitter="ada"))
    at_once = await client.get("/healthz/queue")
    clock.advance(seconds=1)
    later = await client.get("/healthz/queue")

    waiting = [one.json()["queue"]["ready"] for one in (before, at_once, later)]
    assert waiting == [0, 0, 1]


async def test_an_outage_is_a_503_and_never_an_empty_page(
    client: AsyncClient, env: WorkerEnv, probe: ProbingEngine
) -> None:
    await env.engine.commit([write_skill(a_published_skill("@local/x"), expected=0)])
    probe.kv.fails = lambda _: EngineError("/secret/path: disk gone")

    page = await client.get("/skills/@local/x")

    assert page.status_code == 503
    assert page.headers["retry-after"] == "5"
    assert page.headers["content-type"].startswith("application/problem+json")
    assert "secret" not in page.text


async def test_the_stylesheet_is_served(client: AsyncClient) -> None:
    style = await client.get("/static/style.css")

    assert style.status_code == 200
    assert "color-scheme" in style.text


async def test_only_operators_read_on_which_machines_the_workers_run(
    client: AsyncClient, bound: WorkerEnv, clock: ManualClock
) -> None:
    now = clock.now()
    await put_heartbeat(
        Heartbeat(node="node-7", started_at=now, beat_at=now, in_flight=1, handled=9)
    )

    nobody = await client.get("/healthz/queue")
    reader = await client.get("/healthz/queue", headers=await token_of(Role.READER))
    unknown = await client.get("/healthz/queue", headers={"Authorization": "Bearer vsk_unknown"})
    operator = await client.get("/healthz/queue", headers=await token_of(Role.REVIEWER))

    answers = (nobody, reader, unknown, operator)
    assert [answer.status_code for answer in answers] == [200] * 4
    assert [answer.json()["workers"][0]["node"] for answer in answers] == ["", "", "", "node-7"]
    assert {answer.json()["workers"][0]["handled"] for answer in answers} == {9}


async def test_every_page_has_one_menu_its_shortcuts_and_the_version(client: AsyncClient) -> None:
    page = (await client.get("/sign-in", headers={"Accept": "text/html"})).text

    assert page.count('popovertarget="menu"') == page.count('id="menu" popover') == 1
    assert '<dialog id="shortcuts"' in page
    assert f"vskill-platform {__version__}" in page


@pytest.fixture
def collections_restored() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("collections_restored")
def test_a_server_seldom_looks_for_garbage_and_never_among_its_first_objects() -> None:
    collect_rarely()

    threshold, *_ = gc.get_threshold()
    assert threshold >= 10_000
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
