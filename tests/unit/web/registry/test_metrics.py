"""`/metrics`: who may read it, and that dashboard and alerts use existing metrics."""

import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import yaml
from httpx import ASGITransport, AsyncClient

from tests.apps import an_app
from tests.clocks import ManualClock
from tests.people import a_user
from tests.probes import ProbingEngine
from tests.unit.web.api_cast import Registry, browser_of, open_registry, token_of
from tests.webhook_receiver import Receiver, a_receiver, answering
from vskill_platform.base.metrics import (
    count_blob,
    count_commits,
    count_cron_run,
    count_delivery,
    count_killed,
    count_mail,
    count_mirror_fetch,
    count_submission,
    count_verdict,
    observe_stage,
    start_metrics,
)
from vskill_platform.engines.ports import MessageQueue
from vskill_platform.errors import ConfigError, EngineError
from vskill_platform.events.deliver import WAITS, send_events
from vskill_platform.events.manage_webhooks import EndpointChange, add_endpoint, send_test_event
from vskill_platform.model.event import Event, EventData, EventType
from vskill_platform.model.rights import Visitor
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.secret_settings import Secret
from vskill_platform.settings import load_settings
from vskill_platform.stores.db import commit
from vskill_platform.stores.mail_store import Mail, bury_mail, get_mail, new_mail, write_mail
from vskill_platform.stores.webhook_store import (
    WebhookEndpoint,
    get_delivery,
    new_delivery,
    write_delivery,
    write_endpoint,
)

ROOT = Path(__file__).parents[4]
TOKEN = {"Authorization": "Bearer let-me-measure"}


@pytest.fixture(autouse=True)
def measuring() -> None:
    start_metrics()


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    settings = msgspec.structs.replace(bound.settings, metrics_token=Secret("let-me-measure"))
    async with open_registry(replace(bound, settings=settings)) as opened:
        yield opened


async def read(registry: Registry) -> str:
    answer = await registry.client.get("/metrics", headers=TOKEN)
    assert answer.status_code == 200, answer.text
    return answer.text


def value_of(text: str, line: str) -> float:
    (found,) = re.findall(rf"^{re.escape(line)} (\S+)$", text, re.MULTILINE)
    return float(found)


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic let-me-measure"}]
)
async def test_strangers_do_not_see_metrics(registry: Registry, headers: dict[str, str]) -> None:
    answer = await registry.client.get("/metrics", headers=headers)

    assert answer.status_code == 401
    assert "vskill_queue" not in answer.text


@pytest.mark.parametrize("path", ["/metrics", "/healthz/queue"])
async def test_tokens_cannot_be_guessed_without_limit(bound: WorkerEnv, path: str) -> None:
    settings = msgspec.structs.replace(bound.settings, reads_per_minute=2)
    async with open_registry(replace(bound, settings=settings)) as registry:
        guesses = [
            await registry.client.get(path, headers={"Authorization": f"Bearer guess-{number}"})
            for number in range(3)
        ]
        probe = await registry.client.get("/healthz/queue")

    assert [guess.status_code == 429 for guess in guesses] == [False, False, True]
    assert probe.status_code != 429


async def test_operators_see_metrics_and_publishers_do_not(registry: Registry) -> None:
    operator = await token_of(Role.REVIEWER, Scope.OPERATE)
    publisher = await token_of(Role.PUBLISHER)

    assert (await registry.client.get("/metrics", headers=operator)).status_code == 200
    assert (await registry.client.get("/metrics", headers=publisher)).status_code == 401


async def test_no_token_is_not_an_empty_token(bound: WorkerEnv) -> None:
    async with open_registry(bound) as registry:
        answer = await registry.client.get("/metrics", headers={"Authorization": "Bearer "})

    assert answer.status_code == 401


async def test_requests_are_counted_by_route_and_not_by_path(registry: Registry) -> None:
    for path in ("/skills/@acme/one", "/skills/@acme/two", "/no/such/page"):
        await registry.client.get(path)

    text = await read(registry)
    routes = set(re.findall(r'^vskill_http_requests_total\{.*route="([^"]*)"', text, re.MULTILINE))
    assert "/skills/{address}" in routes
    assert "(none)" in routes
    assert "acme" not in text
    assert "/no/such/page" not in text


async def test_the_queue_and_the_index_are_read_when_asked(registry: Registry) -> None:
    text = await read(registry)

    assert value_of(text, 'vskill_queue_messages{state="ready"}') == 0
    assert value_of(text, "vskill_database_up") == 1
    assert value_of(text, "vskill_index_ready") == 1
    assert value_of(text, "vskill_index_lag_seconds") >= 0


async def test_mails_and_deliveries_that_wait_or_failed_are_counted_with_their_age(
    registry: Registry, clock: ManualClock
) -> None:
    endpoint = WebhookEndpoint(
        id="ep_1", url="https://a.example", namespace="", owner="cyd", secret="",
        created_at=clock.now(),
    )  # fmt: skip
    mails = [new_mail("test", "ada@example.org") for _ in range(3)]
    waiting = new_delivery(endpoint, an_event(clock))
    failed = msgspec.structs.replace(new_delivery(endpoint, an_event(clock)), state="failed")
    await commit([*map(write_mail, mails), write_endpoint(endpoint, expected=0)])
    await commit([*bury_mail(mails[0], expected=await revision_of(mails[0]))])
    await commit([write_delivery(waiting), write_delivery(failed)])
    clock.advance(minutes=2)

    text = await read(registry)

    values = {
        name: value_of(text, f"vskill_{name}")
        for kind in ("mails", "webhook_deliveries")
        for name in (f"{kind}_waiting", f"{kind}_failed", f"{kind}_oldest_seconds")
    }
    assert values == {
        "mails_waiting": 2,
        "mails_failed": 1,
        "mails_oldest_seconds": 120,
        "webhook_deliveries_waiting": 1,
        "webhook_deliveries_failed": 1,
        "webhook_deliveries_oldest_seconds": 120,
    }


async def test_each_attempt_to_deliver_an_event_is_counted_by_its_outcome(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    async with a_receiver() as receiver:
        settings = msgspec.structs.replace(
            bound.settings,
            metrics_token=Secret("let-me-measure"),
            webhook_private_hosts=receiver.origin,
        )
        async with open_registry(replace(bound, settings=settings)) as registry:
            before = delivery_counts(await read(registry))
            await run_with_worker_env(registry.env, lambda: send_two_events(receiver, clock))

            counted = delivery_counts(await read(registry)) - before

    assert counted == Counter(delivered=1, retried=1 + len(WAITS), failed=1)


async def send_two_events(receiver: Receiver, clock: ManualClock) -> None:
    """Send an event that arrives at the second attempt, then one that never arrives."""
    owner = Visitor(user=await a_user(Role.ADMIN), via="session")
    made = await add_endpoint(receiver.url, namespace="", owner=owner, chosen=EndpointChange())
    broken, fine = answering("500 Broken"), answering("204 No Content")
    for answers in ((broken, fine), (broken,) * (len(WAITS) + 1)):
        sent = await send_test_event(made.endpoint.id, actor="cyd")
        for answer in answers:
            receiver.answer = answer
            await send_events()
            stored = await get_delivery(sent.id)
            assert stored
            wait = stored.record.due_at - clock.now()
            clock.advance(seconds=max(wait.total_seconds(), 0))


def delivery_counts(text: str) -> Counter[str]:
    pattern = r'^vskill_webhook_deliveries_total\{outcome="(\w+)"\} (\S+)$'
    found = re.findall(pattern, text, re.MULTILINE)
    return Counter({outcome: int(float(count)) for outcome, count in found})


async def revision_of(mail: Mail) -> int:
    stored = await get_mail(mail.id)
    assert stored
    return stored.revision


def an_event(clock: ManualClock) -> Event:
    return Event(id="evt_1", type=EventType.TEST, at=clock.now(), data=EventData())


@pytest.mark.parametrize("token", ["short", "x" * 15])
def test_a_short_token_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match="VSKILL_METRICS_TOKEN must have 16 characters or more"):
        load_settings({"VSKILL_METRICS_TOKEN": token})


class NoQueue(ProbingEngine):
    @property
    def queue(self) -> MessageQueue:
        raise EngineError("the disk is gone")


async def test_a_database_that_does_not_answer_is_a_metric_and_no_error(
    registry: Registry, bound: WorkerEnv
) -> None:
    env = replace(registry.env, engine=NoQueue(bound.engine))
    transport = ASGITransport(cast("Any", an_app(env, catalogue=registry.catalogue)))
    async with AsyncClient(transport=transport, base_url="http://registry") as client:
        answer = await client.get("/metrics", headers=TOKEN)

    assert answer.status_code == 200
    assert value_of(answer.text, "vskill_database_up") == 0
    assert "vskill_queue_messages" not in answer.text


async def test_commits_are_counted_with_the_size_of_their_group(registry: Registry) -> None:
    await token_of(Role.READER)  # before the first commit of a process there is no counter
    before = await read(registry)
    await token_of(Role.PUBLISHER)

    after = await read(registry)
    for line in ('vskill_engine_commits_total{outcome="written"}',
                 "vskill_engine_commit_group_size_count"):  # fmt: skip
        assert value_of(after, line) > value_of(before, line)


@pytest.mark.usefixtures("database_file")
async def test_the_dashboard_the_alerts_and_the_docs_name_metrics_that_exist(
    registry: Registry,
) -> None:
    observe_stage("fetch", 0.1)
    count_submission("PUBLISHED")
    count_verdict("PASS")
    count_cron_run("prune", is_failure=False, seconds=1, at=registry.env.clock.now())
    count_killed("cancelled")
    count_blob("read", "ok", 1)
    count_mail("sent")
    count_delivery("delivered")
    count_mirror_fetch("hub", "find", "ok")
    count_commits([1], 0.1)
    await registry.client.get("/")
    text = await read(registry)
    existing = set(re.findall(r"^(vskill_[a-z_]+)", text, re.MULTILINE))

    dashboard = (ROOT / "deploy/monitoring/grafana.json").read_text()
    alerts = (ROOT / "deploy/monitoring/alerts.yaml").read_text()
    named = set(re.findall(r"\bvskill_[a-z_]+", dashboard + alerts))
    documented = set(re.findall(r"^\| `(vskill_[a-z_]+)`", _docs(), re.MULTILINE))
    types = dict(re.findall(r"^# TYPE (vskill_\w+) (\w+)$", text, re.MULTILINE))
    assert named <= existing
    assert documented == {name for name in types if not name.endswith("_created")}
    assert len(yaml.safe_load(alerts)["groups"][0]["rules"]) > 5
    assert len(msgspec.json.decode(dashboard)["panels"]) > 10


async def test_counters_of_alerts_exist_before_the_first_failure(registry: Registry) -> None:
    """Prometheus sees no increase when a counter begins with its first failure."""
    count_cron_run("prune", is_failure=False, seconds=1, at=registry.env.clock.now())
    text = await read(registry)
    alerts = (ROOT / "deploy/monitoring/alerts.yaml").read_text()
    asked = set(re.findall(r'(vskill_\w+_total)\{(\w+="[^"]+")\}', alerts))

    missing = [
        (name, label)
        for name, label in asked
        # The names of mirrors are not known before.
        if name != "vskill_mirror_fetches_total"
        and not re.search(rf"^{name}\{{[^}}]*{re.escape(label)}", text, re.MULTILINE)
    ]

    assert ("vskill_mails_total", 'outcome="failed"') in asked
    assert missing == []


@pytest.mark.usefixtures("database_file")
async def test_the_space_on_disks_is_measured(registry: Registry) -> None:
    text = await read(registry)

    assert value_of(text, 'vskill_disk_free_bytes{of="database"}') > 0
    assert value_of(text, "vskill_database_bytes") > 0


@pytest.mark.usefixtures("database_file")
async def test_the_dashboard_shows_the_size_of_the_database(registry: Registry) -> None:
    page = await registry.get("/admin", headers=await browser_of(Role.ADMIN))

    assert "free for the database" in page.text


def _docs() -> str:
    return (ROOT / "docs/monitoring.md").read_text()
