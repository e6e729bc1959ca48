"""The consumer: a batch in a separate env, each message handled independently (seeds US-003)."""

import asyncio
import errno
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from anyio import wait_all_tasks_blocked

from tests.casts import a_submission
from tests.clocks import ManualClock
from tests.probes import ProbingEngine
from tests.unit.queue.conftest import Receive, SubmitSkill
from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.engines.operations import Delivery, Extend, Operation
from vskill_platform.errors import (
    EngineError,
    Overtaken,
    ScanError,
    SourceRefused,
    SourceUnavailable,
)
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.queue import consumer, scan_slots
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.queue.process_submission import process_submission
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import get_worker_env
from vskill_platform.settings import Settings
from vskill_platform.stores.scan_store import get_report
from vskill_platform.stores.submission_messages import queue_submission
from vskill_platform.stores.submission_store import get_history, get_submission

pytestmark = pytest.mark.usefixtures("one_loop")


async def current(submission: Submission) -> Submission:
    stored = await get_submission(submission.id)
    assert stored
    return stored.record


def failing_with(error: Exception) -> Any:
    async def fail(_: Delivery) -> None:
        raise error

    return fail


async def test_a_good_skill_is_published_and_its_message_gone(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive
) -> None:
    submission = await submit_skill("tidy-notes")

    await handle_messages(await receive(), bound)

    published = await current(submission)
    assert published.state is SubmissionState.PUBLISHED
    assert published.slug == "@local/tidy-notes"
    assert set(published.timings) == {"fetch", "check", "compare", "publish"}
    assert [event.to_state for event in await get_history(submission.id)] == [
        SubmissionState.RECEIVED,
        SubmissionState.TIER1_SCANNING,
        SubmissionState.AUTO_APPROVED,
        SubmissionState.PUBLISHED,
    ]
    stats = await bound.engine.queue.stats()
    assert (stats.ready, stats.leased, stats.dead) == (0, 0, 0)


async def test_a_bad_manifest_ends_in_tier1_failed_with_file_and_line(
    bound: WorkerEnv, receive: Receive, tmp_path: Path
) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "SKILL.md").write_text("---\nname: Bad Name\ndescription: x\n---\n")
    result = await submit(folder_source(str(tmp_path / "bad")), submitter="ada")

    await handle_messages(await receive(), bound)

    failed = await current(result.submission)
    assert failed.state is SubmissionState.TIER1_FAILED
    assert "`name: Bad Name` is not a valid name" in failed.reason
    report = await get_report(failed.id)
    assert report
    assert (report.findings[0].file, report.findings[0].line) == ("SKILL.md", 2)


async def test_tc065_concurrent_batches_with_different_envs_are_isolated(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("skill-a", "skill-b"):
        await submit_skill(name)
    first, second = await receive()
    envs = {first.key: replace(bound, settings=Settings(node="batch-a")),
            second.key: replace(bound, settings=Settings(node="batch-b"))}  # fmt: skip
    seen: dict[str | None, set[object]] = {first.key: set(), second.key: set()}
    both_run = asyncio.Barrier(2)

    async def watched(delivery: Delivery) -> None:
        seen[delivery.key].add(get_worker_env())
        await both_run.wait()
        await process_submission(delivery)
        seen[delivery.key].add(get_worker_env())

    monkeypatch.setattr(consumer, "process_submission", watched)
    await asyncio.gather(*(handle_messages([item], envs[item.key]) for item in (first, second)))

    assert seen == {key: {env} for key, env in envs.items()}
    for delivery, node in ((first, "batch-a"), (second, "batch-b")):
        assert delivery.key
        _, *moved = await get_history(delivery.key)
        assert {event.actor for event in moved} == {node}


async def test_one_failing_message_does_not_touch_its_siblings(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    tmp_path: Path,
    logs: list[dict[str, str]],
) -> None:
    good = [await submit_skill("skill-a"), await submit_skill("skill-b")]
    gone = (await submit(folder_source(str(tmp_path / "gone")), submitter="ada")).submission

    await handle_messages(await receive(), bound)

    states = [(await current(submission)).state for submission in [*good, gone]]
    assert states == [
        SubmissionState.PUBLISHED, SubmissionState.PUBLISHED, SubmissionState.REJECTED,
    ]  # fmt: skip
    failed = [event for event in logs if event["event"] == "processing failed"]
    assert [event["submission"] for event in failed] == [gone.id]


async def test_a_passing_fault_is_tried_again_with_growing_delay(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submission = await submit_skill("tidy-notes")
    monkeypatch.setattr(consumer, "process_submission", failing_with(SourceUnavailable("no net")))

    for attempt in (1, 2, 3):
        (delivery,) = await receive()
        assert delivery.attempt == attempt
        await handle_messages([delivery], bound)
        waiting = await current(submission)
        assert waiting.state is SubmissionState.RECEIVED
        assert waiting.reason == f"will be retried in {10 * attempt} s: no net"
        clock.advance(seconds=10 * attempt - 1)
        assert await receive() == []
        clock.advance(seconds=1)
    await handle_messages(await receive(), bound)

    rejected = await current(submission)
    assert rejected.state is SubmissionState.REJECTED
    assert rejected.reason == "failed after 4 attempts: no net"
    (letter,) = await bound.engine.queue.dead_letters()
    assert (letter.key, letter.reason) == (submission.id, rejected.reason)


@pytest.mark.parametrize(
    ("error", "rule", "is_final"),
    [
        (SourceRefused("too big"), "RUN-SOURCE", True),
        (SourceUnavailable("no net"), "RUN-SOURCE", False),
        (ScanError("broke"), "RUN-SCANNER", False),
        (EngineError("down"), "RUN-DATABASE", False),
        (ZeroDivisionError("oops"), "RUN-INTERNAL", False),
    ],
)
async def test_every_end_has_a_reason_and_a_finding(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    rule: str,
    is_final: bool,
) -> None:
    submission = await submit_skill("tidy-notes")
    monkeypatch.setattr(consumer, "process_submission", failing_with(error))

    deliveries = 0
    while batch := await receive():
        deliveries += 1
        await handle_messages(batch, bound)
        clock.advance(minutes=1)

    rejected = await current(submission)
    assert deliveries == (1 if is_final else 4)
    assert rejected.state is SubmissionState.REJECTED
    assert rejected.reason
    report = await get_report(submission.id)
    assert report
    assert [finding.rule for finding in report.findings] == [rule]
    assert report.findings[0].fix


async def test_internal_errors_are_not_shown_to_the_submitter(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    monkeypatch: pytest.MonkeyPatch,
    logs: list[Any],
) -> None:
    submission = await submit_skill("tidy-notes")
    monkeypatch.setattr(
        consumer, "process_submission", failing_with(ZeroDivisionError("secret path"))
    )

    await handle_messages(await receive(), bound)

    assert "secret path" not in (await current(submission)).reason
    assert any("secret path" in event.get("error", "") for event in logs)


async def test_a_message_that_takes_too_long_is_stopped(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submission = await submit_skill("tidy-notes")
    impatient = replace(bound, settings=replace_deadline(bound.settings, milliseconds=10))

    async def hang(_: Delivery) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(consumer, "process_submission", hang)
    await handle_messages(await receive(), impatient)

    waiting = await current(submission)
    assert waiting.state is SubmissionState.RECEIVED
    assert "not finished within 0.01 s" in waiting.reason


async def test_a_delivery_that_was_replaced_changes_nothing(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive, clock: ManualClock
) -> None:
    submission = await submit_skill("tidy-notes")
    late = await receive()
    clock.advance(seconds=86)
    await handle_messages(await receive(), bound)
    before = await current(submission)

    await handle_messages(late, bound)

    assert await current(submission) == before


async def test_a_message_of_a_finished_submission_is_put_away(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive, clock: ManualClock
) -> None:
    submission = await submit_skill("tidy-notes")
    await handle_messages(await receive(), bound)
    before = await current(submission)

    unknown = a_submission(submission_id="sub_unknown")
    await bound.engine.commit([queue_submission(submission), queue_submission(unknown)])
    await handle_messages(await receive(), bound)

    assert await current(submission) == before
    assert (await bound.engine.queue.stats()).leased == 0


async def test_a_worker_that_did_not_finish_leaves_a_trace(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive, clock: ManualClock
) -> None:
    submission = await submit_skill("tidy-notes")
    probe = ProbingEngine(bound.engine)
    commits = 0

    def die_at_the_last_commit(_: object) -> None:
        nonlocal commits
        commits += 1
        if commits > 1:
            raise EngineError("the disk is gone")

    probe.before_commit = die_at_the_last_commit
    await handle_messages(await receive(), replace(bound, engine=probe))
    clock.advance(seconds=86)
    await handle_messages(await receive(), bound)

    triggers = [event.trigger for event in await get_history(submission.id)]
    assert triggers == ["submit", "claim", "redeliver", "claim", "check", "publish"]
    assert (await current(submission)).state is SubmissionState.PUBLISHED


async def test_a_worker_that_stops_hands_its_messages_back_uncounted(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await submit_skill("tidy-notes")
    started = asyncio.Event()

    async def hang(_: Delivery) -> None:
        started.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(consumer, "process_submission", hang)
    batch = asyncio.create_task(handle_messages(await receive(), bound))
    await started.wait()
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch

    (delivery,) = await receive()
    assert delivery.attempt == 1


def replace_deadline(settings: Settings, **time: float) -> Settings:
    return msgspec.structs.replace(settings, message_deadline=timedelta(**time))


async def test_waiting_for_a_scan_slot_costs_neither_an_attempt_nor_the_lease(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A flood of slow skills must not use up the attempts of an honest one behind them."""
    submission = await submit_skill("tidy-notes")
    monkeypatch.setattr(scan_slots, "PART_OF_LEASE", 0.0001)
    probe, extended = ProbingEngine(bound.engine), asyncio.Event()
    extensions = 0

    def let_time_pass(operations: Sequence[Operation]) -> None:
        nonlocal extensions
        if any(isinstance(operation, Extend) for operation in operations):
            extensions += 1
            if extensions <= 5:  # after that it stays, or it would go back while somebody asks
                clock.advance(seconds=60)  # more than half of a lease
        if extensions == 5:
            extended.set()

    probe.before_commit = let_time_pass
    others = [object() for _ in range(int(bound.scan_slots.total_tokens))]
    for other in others:
        bound.scan_slots.acquire_on_behalf_of_nowait(other)
    handling = asyncio.create_task(handle_messages(await receive(), replace(bound, engine=probe)))
    await extended.wait()
    stolen = await receive()
    for other in others:
        bound.scan_slots.release_on_behalf_of(other)
    await handling

    published = await current(submission)
    assert stolen == []
    assert (published.state, published.attempts) == (SubmissionState.PUBLISHED, 1)
    assert [event.trigger for event in await get_history(submission.id)] == [
        "submit", "claim", "check", "publish",
    ]  # fmt: skip


async def hold_scan_slot(delivery: Delivery) -> None:
    async with scan_slots.scan_slot(delivery, Stopwatch()):
        pass


async def test_the_deadline_is_paused_while_it_waits_for_a_scan_slot(
    bound: WorkerEnv, submit_skill: SubmitSkill, receive: Receive
) -> None:
    await submit_skill("tidy-notes")
    (delivery,) = await receive()
    for _ in range(int(bound.scan_slots.total_tokens)):
        bound.scan_slots.acquire_on_behalf_of_nowait(object())

    async with asyncio.timeout(60) as limit:
        token = scan_slots.message_limit.set(limit)
        waiting = asyncio.create_task(hold_scan_slot(delivery))
        await wait_all_tasks_blocked()
        while_waiting = limit.when()
        waiting.cancel()
        await asyncio.wait([waiting])
        scan_slots.message_limit.reset(token)

    assert while_waiting is None
    assert limit.when() is not None


async def test_a_message_that_another_worker_has_meanwhile_is_left_to_it(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await submit_skill("tidy-notes")
    monkeypatch.setattr(scan_slots, "PART_OF_LEASE", 0.0001)
    (late,) = await receive()
    clock.advance(seconds=86)
    await receive()
    for _ in range(int(bound.scan_slots.total_tokens)):
        bound.scan_slots.acquire_on_behalf_of_nowait(object())

    with pytest.raises(Overtaken, match="another worker"):
        await hold_scan_slot(late)


async def test_a_machine_that_is_out_of_resources_rejects_nothing(
    bound: WorkerEnv,
    submit_skill: SubmitSkill,
    receive: Receive,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = msgspec.structs.replace(bound.settings, retry_delay=timedelta(0))
    submission = await submit_skill("tidy-notes")
    with monkeypatch.context() as patch:
        error = OSError(errno.EMFILE, "Too many open files")
        patch.setattr(consumer, "process_submission", failing_with(error))
        for _ in range(10):
            await handle_messages(await receive(), replace(bound, settings=settings))
    handed_back = await current(submission)

    await handle_messages(await receive(), bound)

    assert (handed_back.state, handed_back.tries) == (SubmissionState.RECEIVED, 0)
    assert (await current(submission)).state is SubmissionState.PUBLISHED
