"""Records past their retention are removed completely, and nothing that is still needed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.casts import a_submission
from tests.clocks import ManualClock
from tests.contracts.asking import LEASE, list_all
from tests.unit.web.pages_cast import FILES, put_skill
from vskill_platform.cron import prune as module
from vskill_platform.cron.prune import (
    prune,
    prune_audit,
    prune_dead_letters,
    prune_failed_submissions,
    prune_yanked,
)
from vskill_platform.cron.prune_preview import preview_prune
from vskill_platform.engines.operations import Acknowledge, Bury, Put
from vskill_platform.intake.submit import SubmitKind, submit
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import Cause, Submission, SubmissionState
from vskill_platform.model.verdict import Report, Verdict
from vskill_platform.publish.moderation.yank_version import yank_version
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.audit_store import list_audit, write_audit
from vskill_platform.stores.db import commit, get_now, get_queue
from vskill_platform.stores.end_submission import reject_submission, unverified
from vskill_platform.stores.external_scan_dispatch import dispatch_external_scan
from vskill_platform.stores.scan_store import write_report_of_published
from vskill_platform.stores.submission_messages import queue_submission
from vskill_platform.stores.submission_set_store import (
    SubmissionSet,
    get_submission_set,
    put_submission_set,
)
from vskill_platform.stores.submission_store import get_submission, write_submission
from vskill_platform.stores.version_store import get_versions

SOURCE = folder_source("/skills/a")
FINDING = unverified(rule="RUN-X", message="It broke.", fix="Repair it.")
CAUSE = Cause(trigger="check", actor="node", reason="it broke")


def a_report(submission_id: str) -> Report:
    return Report(
        submission_id=submission_id,
        verdict=Verdict.BLOCK,
        findings=(FINDING,),
        digest="0" * 64,
        scanner="tier1",
        checked_at=get_now(),
        duration_seconds=0,
    )


async def a_rejected_submission(name: str = "a") -> str:
    """Submit a skill, and end it as a worker would."""
    submitted = await submit(folder_source(f"/skills/{name}"), submitter="ada")
    (delivery,) = await get_queue().receive(1, lease=LEASE)
    found = await get_submission(submitted.submission.id)
    assert found
    assert await commit([*reject_submission(found, CAUSE, FINDING), Acknowledge(delivery)])
    return submitted.submission.id


async def a_stored(**fields: Any) -> Submission:
    """Store a submission that ended long ago, or something that is nearly one."""
    fields = {"state": SubmissionState.REJECTED, "updated_at": get_now(), **fields}
    submission = a_submission(fields.pop("state"), **fields)
    assert await commit(write_submission(submission, [], expected=0))
    return submission


async def test_a_failed_submission_goes_with_all_that_belongs_to_it(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    submission_id = await a_rejected_submission()
    clock.advance(days=91)

    removed = await prune_failed_submissions()

    assert removed == 1
    assert [key for key in await list_all(bound.engine) if submission_id in key] == []
    assert (await submit(SOURCE, submitter="ben")).kind is SubmitKind.CREATED


async def test_it_stays_until_its_time_has_come(bound: WorkerEnv, clock: ManualClock) -> None:
    submission_id = await a_rejected_submission()
    before = await list_all(bound.engine)
    clock.advance(days=89)

    assert await prune_failed_submissions() == 0
    assert await list_all(bound.engine) == before
    assert await get_submission(submission_id)


@pytest.mark.parametrize(
    "fields",
    [
        *({"state": state} for state in SubmissionState if state not in module._FAILED_STATES),
        {"slug": "@local/a"},
    ],
    ids=str,
)
@pytest.mark.usefixtures("bound")
async def test_pruning_keeps_submissions_in_progress_blocked_or_published(
    clock: ManualClock, fields: dict[str, Any]
) -> None:
    submission = await a_stored(**fields)
    clock.advance(days=1000)

    assert await prune_failed_submissions() == 0
    assert await get_submission(submission.id)


async def _was_published(submission: Submission) -> None:
    await commit(write_report_of_published(a_report(submission.id)))


async def _is_queued(submission: Submission) -> None:
    await commit([queue_submission(submission)])


async def _has_a_dead_letter(submission: Submission) -> None:
    await _is_queued(submission)
    (delivery,) = await get_queue().receive(1, lease=LEASE)
    await commit([Bury(delivery, "given up")])


async def _is_being_scanned(submission: Submission) -> None:
    await dispatch_external_scan(submission.id, "scanner")


@pytest.mark.parametrize(
    "happens", [_was_published, _is_queued, _has_a_dead_letter, _is_being_scanned]
)
@pytest.mark.usefixtures("bound")
async def test_pruning_keeps_submissions_with_references(
    clock: ManualClock, happens: Callable[[Submission], Any]
) -> None:
    submission = await a_stored()
    await happens(submission)
    clock.advance(days=1000)

    assert await prune_failed_submissions() == 0
    assert await get_submission(submission.id)


@pytest.mark.usefixtures("bound")
async def test_a_set_loses_its_removed_members_and_goes_with_the_last(clock: ManualClock) -> None:
    first = [(await a_stored(set_id="set_1")).id for _ in range(3)]
    clock.advance(days=91)
    last = await a_stored(set_id="set_1")
    members = SubmissionSet(
        id="set_1", source="x", submission_ids=(*first, last.id), submitter="ada",
        updated_at=get_now(),
    )  # fmt: skip
    await put_submission_set(members)

    removed = await prune_failed_submissions()
    rest = await get_submission_set("set_1")
    clock.advance(days=91)
    await prune_failed_submissions()

    assert removed == 3
    assert rest
    assert rest.submission_ids == (last.id,)
    assert await get_submission_set("set_1") is None


@pytest.mark.usefixtures("bound")
async def test_a_run_does_a_part_of_it_and_the_next_ones_go_on(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    monkeypatch.setattr(module, "_PAGES", 2)
    for number in range(9):
        published = {"slug": "@local/x"} if number % 2 else {}
        await a_stored(submission_id=f"sub_{number}", **published)
    clock.advance(days=91)

    removed = [await prune_failed_submissions() for _ in range(4)]

    assert removed == [2, 2, 1, 0]


async def test_a_record_that_cannot_be_read_keeps_no_other(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    await bound.engine.commit([Put("sub:sub_0", b"{")])
    await a_stored(submission_id="sub_1")
    clock.advance(days=91)

    assert await prune_failed_submissions() == 1


async def test_nothing_is_removed_where_everything_is_kept(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    await a_rejected_submission()
    await commit([write_audit("block add", "x", actor="ada", reason="")])
    before = await list_all(bound.engine)
    clock.advance(days=10_000)
    forever = msgspec.structs.replace(
        bound.settings, keep_failed=timedelta(0), keep_dead_letters=timedelta(0)
    )

    async def prune() -> list[int]:
        return [
            await prune_failed_submissions(), await prune_dead_letters(), await prune_audit()
        ]  # fmt: skip

    assert await run_with_worker_env(replace(bound, settings=forever), prune) == [0, 0, 0]
    assert await list_all(bound.engine) == before


@pytest.mark.usefixtures("bound")
async def test_old_dead_letters_go_and_young_ones_stay(clock: ManualClock) -> None:
    await _has_a_dead_letter(await a_stored())
    clock.advance(days=91)
    await _has_a_dead_letter(young := await a_stored())

    dropped = await prune_dead_letters()

    assert dropped == 1
    assert [letter.key for letter in await get_queue().dead_letters()] == [young.id]


async def test_old_audit_records_go_and_young_ones_stay(
    bound: WorkerEnv, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    kept = msgspec.structs.replace(bound.settings, keep_audit=timedelta(days=400))
    for number in range(5):
        await commit([write_audit("block add", f"old {number}", actor="ada", reason="")])
    clock.advance(days=401)
    await commit([write_audit("block add", "young", actor="ada", reason="")])

    removed = await run_with_worker_env(replace(bound, settings=kept), prune_audit)

    assert removed == 5
    assert [record.subject for record in (await list_audit()).records] == ["young"]


async def test_the_preview_counts_what_goes_and_removes_nothing(
    bound: WorkerEnv, clock: ManualClock, tmp_path: Path
) -> None:
    settings = msgspec.structs.replace(
        bound.settings, keep_audit=timedelta(days=400), keep_yanked=timedelta(days=100)
    )
    env = replace(bound, settings=settings)
    rejected = await a_rejected_submission()
    await _has_a_dead_letter(await a_stored())
    for files in (FILES, {**FILES, "more.md": "more"}):
        await put_skill(bound, tmp_path, files=files)
    await yank_version("ada/notes/tidy", "1.0.0", reason="it broke", actor="ada")
    clock.advance(days=401)
    await a_rejected_submission("b")

    first = await run_with_worker_env(env, preview_prune)
    second = await run_with_worker_env(env, preview_prune)
    audited = len((await list_audit()).records)
    await run_with_worker_env(env, prune)
    after = await run_with_worker_env(env, preview_prune)

    assert first == second
    counts = {row.kind: row.count for row in first}
    assert counts == {
        "failed submissions": 1, "dead letters": 1, "audit records": audited,
        "yanked versions": 1, "held files": 0, "stored uploads": 0,
    }  # fmt: skip
    assert all(row.bytes > 0 for row in first if row.count)
    assert [row.count for row in after] == [0] * len(after)
    assert await get_submission(rejected) is None


async def test_versions_that_were_yanked_long_ago_are_deleted_but_never_the_last_one(
    bound: WorkerEnv, clock: ManualClock, tmp_path: Path
) -> None:
    env = replace(
        bound, settings=msgspec.structs.replace(bound.settings, keep_yanked=timedelta(days=100))
    )
    slug = "ada/notes/tidy"
    for files in (FILES, {**FILES, "more.md": "more"}):
        await put_skill(bound, tmp_path, files=files)
    for version in ("1.0.0", "1.0.1"):
        await yank_version(slug, version, reason="it broke", actor="ada")

    young = await run_with_worker_env(env, prune_yanked)
    clock.advance(days=101)
    kept = await prune_yanked()  # by default they are kept
    removed = await run_with_worker_env(env, prune_yanked)
    again = await run_with_worker_env(env, prune_yanked)

    assert (young, kept, removed, again) == (0, 0, 1, 0)
    assert [version.version for version in await get_versions(slug)] == ["1.0.1"]
