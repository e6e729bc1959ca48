"""Background messages: any worker takes them, after submissions; retried, then a dead letter."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest
from anyio import CapacityLimiter

from tests.casts import count_in_state
from tests.clocks import NOON, ManualClock
from tests.unit.queue.conftest import SubmitSkill
from vskill_platform import __version__
from vskill_platform.cron.rescan import send_rescans
from vskill_platform.engines.operations import Acknowledge, Delivery, Operation, Send
from vskill_platform.engines.ports import BACKGROUND
from vskill_platform.errors import EngineError, OutOfResources, ScanError
from vskill_platform.intake.dead_letters import drop_dead_letter, requeue_dead_letter
from vskill_platform.model.record import RECORD_FORMAT
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.rescans import rescan_skills
from vskill_platform.publish.rescans.rescan_skills import current_standard, is_rescanned
from vskill_platform.queue import background, consumer
from vskill_platform.queue.background_worker import TURN_SECONDS, BackgroundWorker
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.queue.health import check_health
from vskill_platform.queue.process_submission import process_submission
from vskill_platform.queue.worker import Worker
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.background_store import RescanMessage, get_failures
from vskill_platform.stores.cron_store import CronRun, get_cron_run, put_cron_run
from vskill_platform.stores.db import commit
from vskill_platform.stores.node_store import Node, put_node
from vskill_platform.stores.rescan_store import get_rescans

pytestmark = pytest.mark.usefixtures("one_loop")

SLUGS = ["@local/skill-0", "@local/skill-1", "@local/skill-2"]


@pytest.fixture
async def outdated(
    bound: WorkerEnv, submit_skill: SubmitSkill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Publish three skills, and change the rules afterwards."""
    for number in range(3):
        await submit_skill(f"skill-{number}")
    await Worker(bound).run(asyncio.Event(), drain=True)
    monkeypatch.setattr(rescan_skills, "ruleset_version", lambda: "of tomorrow")


async def work(env: WorkerEnv) -> None:
    await Worker(env).run(asyncio.Event(), drain=True)


async def receive_one(env: WorkerEnv) -> Delivery:
    (delivery,) = await env.engine.queue.receive(1, lease=env.settings.lease, background=True)
    return delivery


async def rescanned() -> list[str]:
    return sorted(await get_rescans(current_standard()))


@pytest.mark.usefixtures("outdated")
async def test_each_outdated_skill_is_rescanned_once_by_the_workers(bound: WorkerEnv) -> None:
    said = [await send_rescans(), await send_rescans()]
    await work(bound)
    done = await send_rescans()

    assert said == ["3 queued, 0 queued before, 0 left", "0 queued, 3 queued before, 0 left"]
    assert await rescanned() == SLUGS
    assert done == "all skills were rescanned"
    assert await is_rescanned()
    assert await bound.engine.queue.count_group(BACKGROUND) == 0


@pytest.mark.usefixtures("outdated")
async def test_a_message_that_got_lost_is_sent_again(bound: WorkerEnv) -> None:
    await send_rescans()
    await bound.engine.commit([Acknowledge(await receive_one(bound))])
    await work(bound)
    missing = set(SLUGS) - set(await rescanned())

    said = await send_rescans()
    await work(bound)

    assert len(missing) == 1
    assert said == "1 queued, 0 queued before, 0 left"
    assert await rescanned() == SLUGS


@pytest.mark.usefixtures("outdated")
async def test_a_skill_that_was_rescanned_meanwhile_is_not_checked_again(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    await send_rescans()
    await work(bound)
    body = msgspec.json.encode(RescanMessage(SLUGS[0]))
    await bound.engine.commit([Send(body, key="late", group=BACKGROUND)])

    def fail(*_: object, **__: object) -> None:
        pytest.fail("checked twice")

    monkeypatch.setattr(rescan_skills, "check_version", fail)
    await work(bound)

    assert await bound.engine.queue.count_group(BACKGROUND) == 0


@pytest.mark.usefixtures("outdated")
async def test_rescans_are_figures_of_their_own(bound: WorkerEnv, clock: ManualClock) -> None:
    await send_rescans()
    clock.advance(days=1)

    health = await check_health()

    assert health.problems == ()
    assert (health.queue.ready, health.queue.oldest_ready_age) == (0, None)
    assert health.background_pending == 3


@pytest.mark.usefixtures("outdated")
async def test_a_worker_that_finds_no_more_makes_the_job_due(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    await put_cron_run(
        CronRun(job="rescan", node="n", started_at=clock.now(), ended_at=clock.now())
    )
    await send_rescans()

    await work(bound)

    run = await get_cron_run("rescan")
    assert run
    assert run.record.asked_at == clock.now()


@pytest.mark.usefixtures("outdated")
async def test_an_older_node_keeps_messages_from_being_sent(bound: WorkerEnv) -> None:
    await put_node(a_node("old", record_format=RECORD_FORMAT - 1))

    said = await send_rescans()

    assert said == "waiting until all nodes run this release"
    assert await bound.engine.queue.count_group(BACKGROUND) == 0


@pytest.mark.usefixtures("outdated")
async def test_a_node_with_older_rules_leaves_rescans_to_others(bound: WorkerEnv) -> None:
    await send_rescans()
    await put_node(a_node(bound.settings.node))
    await put_node(a_node("newer", version="999.0.0"))
    stop = asyncio.Event()
    worker = BackgroundWorker(bound, lambda: 0)

    running = asyncio.create_task(worker.run(stop))
    while worker.rules_asked_at < 0:
        await asyncio.sleep(0)
    stop.set()
    await running

    stats = await bound.engine.queue.stats()
    assert (stats.background.ready, stats.background.leased) == (3, 0)


@pytest.mark.usefixtures("outdated")
async def test_draining_ends_although_rescans_are_left_to_a_newer_node(bound: WorkerEnv) -> None:
    await send_rescans()
    await put_node(a_node("newer", version="999.0.0"))

    async with asyncio.timeout(60):
        await work(bound)

    stats = await bound.engine.queue.stats()
    assert (stats.background.ready, stats.background.leased) == (3, 0)


def a_node(name: str, *, version: str = __version__, record_format: int = RECORD_FORMAT) -> Node:
    return Node(
        node=name, started_at=NOON, beat_at=NOON, roles=("worker",), version=version, rules="r",
        policy="p", record_format=record_format,
    )  # fmt: skip


@pytest.mark.usefixtures("outdated")
async def test_a_failure_is_retried_then_buried_and_not_sent_again(
    bound: WorkerEnv, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(slug: str) -> list[Operation]:
        if slug == SLUGS[0]:
            raise EngineError("the disk is broken")
        return await rescan_skills.plan_rescan(slug)

    with monkeypatch.context() as broken:
        broken.setattr(background, "plan_rescan", fail)
        await send_rescans()
        for _ in range(bound.settings.max_retries + 1):
            await work(bound)
            clock.advance(hours=1)
        said = await send_rescans()
    (letter,) = await bound.engine.queue.dead_letters()
    failures = await get_failures(RescanMessage)

    await requeue_dead_letter(letter.message_id, actor="cyd")
    await work(bound)

    assert said == "all skills were rescanned; 1 rescan failed, see the dead letters"
    assert (letter.key, letter.reason) == (f"rescan_skill:{SLUGS[0]}", "the disk is broken")
    assert letter.attempts == bound.settings.max_retries + 1
    assert failures[SLUGS[0]].reason == "the disk is broken"
    assert await get_failures(RescanMessage) == {}
    assert await rescanned() == SLUGS


@pytest.mark.usefixtures("outdated")
async def test_a_dropped_failure_stays_known(bound: WorkerEnv, clock: ManualClock) -> None:
    await send_rescans()
    delivery = await receive_one(bound)
    for _ in range(bound.settings.max_retries + 20):  # each time the worker dies
        clock.advance(seconds=bound.settings.lease.total_seconds())
        received = await bound.engine.queue.receive(9, lease=bound.settings.lease, background=True)
        delivery = next(each for each in received if each.message_id == delivery.message_id)

    await handle_messages([delivery], bound)
    (letter,) = await bound.engine.queue.dead_letters()
    await drop_dead_letter(letter.message_id, actor="cyd")

    assert letter.reason == f"it was delivered {delivery.attempt - 1} times without a result"
    assert await bound.engine.queue.dead_letters() == []
    assert len(await get_failures(RescanMessage)) == 1
    (audit,) = (await list_audit()).records
    assert audit.subject == letter.key


@pytest.mark.usefixtures("outdated")
async def test_a_stopped_worker_returns_its_rescan_at_once(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, stop = asyncio.Event(), asyncio.Event()

    async def hang(_: str) -> list[Operation]:
        started.set()
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr(background, "plan_rescan", hang)
    await send_rescans()
    running = asyncio.create_task(Worker(bound).run(stop))
    await started.wait()
    stop.set()
    await running
    again = await bound.engine.queue.receive(9, lease=bound.settings.lease, background=True)

    assert [each.attempt for each in again] == [1, 1, 1]


@pytest.mark.usefixtures("outdated")
async def test_a_machine_without_resources_returns_the_rescan_uncounted(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: str) -> list[Operation]:
        raise OutOfResources("no processes")

    monkeypatch.setattr(background, "plan_rescan", fail)
    settings = msgspec.structs.replace(bound.settings, retry_delay=timedelta(0))
    await send_rescans()
    delivery = await receive_one(bound)

    await handle_messages([delivery], replace(bound, settings=settings))

    assert (await receive_one(bound)).attempt == 1


@pytest.mark.usefixtures("outdated")
async def test_the_log_names_the_message_of_a_rescan_that_failed(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch, logs: list[dict[str, str]]
) -> None:
    async def fail(_: str) -> list[Operation]:
        raise ScanError("a scanner broke")

    monkeypatch.setattr(background, "plan_rescan", fail)
    await send_rescans()
    delivery = await receive_one(bound)

    await handle_messages([delivery], bound)

    (event,) = [event for event in logs if event["event"] == "processing failed"]
    assert event["message"] == delivery.key
    assert "submission" not in event


@pytest.mark.usefixtures("outdated")
async def test_a_rescan_that_takes_long_keeps_its_lease(
    bound: WorkerEnv, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    extended = asyncio.Event()

    async def watch(operations: list[Operation]) -> int | None:
        revision = await commit(operations)
        if type(operations[0]).__name__ == "Extend":
            extended.set()
        return revision

    async def wait(_: str) -> list[Operation]:
        await extended.wait()
        return []

    monkeypatch.setattr(background, "PART_OF_LEASE", 0)
    monkeypatch.setattr(background, "commit", watch)
    monkeypatch.setattr(background, "plan_rescan", wait)
    await send_rescans()

    await handle_messages([await receive_one(bound)], bound)

    assert await bound.engine.queue.count_group(BACKGROUND) == 2


@pytest.mark.usefixtures("outdated")
async def test_a_rescan_that_another_worker_has_is_left_to_it(
    bound: WorkerEnv, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled = asyncio.Event()

    async def hang(_: str) -> list[Operation]:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return []

    monkeypatch.setattr(background, "PART_OF_LEASE", 0)
    monkeypatch.setattr(background, "plan_rescan", hang)
    await send_rescans()
    first = await receive_one(bound)
    clock.advance(seconds=bound.settings.lease.total_seconds())
    others = await bound.engine.queue.receive(9, lease=bound.settings.lease, background=True)

    await handle_messages([first], bound)

    assert cancelled.is_set()
    assert first.message_id in {each.message_id for each in others}
    assert (await bound.engine.queue.stats()).background.leased == 3


@pytest.mark.parametrize("group", [BACKGROUND, "ada"])
async def test_a_kind_of_message_that_only_newer_nodes_know_is_left_to_them(
    bound: WorkerEnv, clock: ManualClock, group: str
) -> None:
    body = b'{"type":"of_tomorrow","slug":"x"}'
    await bound.engine.commit([Send(body, key="of tomorrow", group=group)])
    attempts = 0
    while not await bound.engine.queue.dead_letters():
        await work(bound)
        clock.advance(minutes=4)
        attempts += 1

    (letter,) = await bound.engine.queue.dead_letters()
    await drop_dead_letter(letter.message_id, actor="cyd")

    assert attempts == 6
    assert letter.reason.startswith("no worker knows this kind of message")


@pytest.mark.usefixtures("outdated")
async def test_a_message_that_older_nodes_postponed_is_still_processed(
    bound: WorkerEnv, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await send_rescans()
    with monkeypatch.context() as older:
        older.setattr(background, "read_background", lambda _: None)
        for _ in range(5):
            await work(bound)
            clock.advance(minutes=4)

    await work(bound)

    assert await bound.engine.queue.dead_letters() == []
    assert await rescanned() == SLUGS


@pytest.mark.usefixtures("outdated")
async def test_submissions_come_first_and_rescans_use_half_of_the_slots(
    bound: WorkerEnv, submit_skill: SubmitSkill, monkeypatch: pytest.MonkeyPatch
) -> None:
    four = replace(bound, scan_slots=CapacityLimiter(4))
    running = most = 0
    two, gate, submitted = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def wait_for_release(_: str) -> list[Operation]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            two.set()
        await gate.wait()
        running -= 1
        return []

    async def note(delivery: Delivery) -> None:
        await process_submission(delivery)
        submitted.set()

    monkeypatch.setattr(background, "plan_rescan", wait_for_release)
    monkeypatch.setattr(consumer, "process_submission", note)
    await send_rescans()
    stop = asyncio.Event()
    worker = asyncio.create_task(Worker(four).run(stop))
    await two.wait()
    await submit_skill("urgent")
    await submitted.wait()  # while rescans wait at the gate
    gate.set()
    stop.set()
    await worker

    assert most == 2
    assert await count_in_state(SubmissionState.PUBLISHED) == 4


@pytest.mark.parametrize(
    ("submissions", "seconds_since_last", "expected"),
    [(0, 0.0, 2), (2, 0.0, 2), (3, 0.0, 1), (4, 0.0, 0), (8, 0.0, 0), (8, TURN_SECONDS, 1)],
)
async def test_rescans_get_unused_slots_and_a_turn_now_and_then(
    bound: WorkerEnv, submissions: int, seconds_since_last: float, expected: int
) -> None:
    four = replace(bound, scan_slots=CapacityLimiter(4))
    worker = BackgroundWorker(four, lambda: submissions)

    assert worker.free_slots(seconds_since_last=seconds_since_last) == expected


@pytest.mark.usefixtures("outdated")
async def test_a_scanner_that_breaks_means_not_verified_and_no_dead_letter(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise ScanError("the check failed")

    monkeypatch.setattr("vskill_platform.publish.versions.check_version.check_skill", broken)
    await send_rescans()

    await work(bound)

    assert {one.new for one in (await get_rescans(current_standard())).values()} == {"review"}
    assert await bound.engine.queue.dead_letters() == []
