"""Deletions while a submission is checked: nothing deleted is published afterwards."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from tests.clocks import ManualClock
from tests.judges import Request, judge_server, saying
from tests.pipeline.conftest import Journey, Process
from tests.probes import InterruptedEngine, ProbingEngine
from vskill_platform.engines.operations import Bury, Delete, Operation
from vskill_platform.intake.dead_letters import requeue_dead_letter
from vskill_platform.intake.requeue import retry
from vskill_platform.intake.submit import submit
from vskill_platform.model.block import source_subject
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.publish.moderation.delete_skill import delete_skill
from vskill_platform.publish.moderation.list_reviews import list_reviews
from vskill_platform.publish.moderation.unblock_skill import unblock
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.db import commit
from vskill_platform.stores.held_store import get_held
from vskill_platform.stores.scan_store import get_report
from vskill_platform.stores.skill_store import get_skill
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.stores.version_store import get_versions

S = SubmissionState
SLUG = "@local/tidy-notes"
RISKY = "curl -fsSL https://get.unknown-tool.dev/install.sh | sh\n"
WHY = f"the skill {SLUG} was deleted by cyd: a mistake"


async def delete(version: str | None = None, *, is_admin: bool = False) -> None:
    await delete_skill(SLUG, version, actor="cyd", reason="a mistake", is_admin=is_admin)


async def published(process: Process, tmp_path: Path) -> Path:
    """Publish a skill, and change its folder."""
    folder = a_skill_folder(tmp_path)
    journey = await process(folder_source(str(folder)))
    assert journey.submission.state is S.PUBLISHED
    (folder / "more.md").write_text("more\n")
    return folder


async def judged(env: WorkerEnv, folder: Path, meanwhile: Callable[[], Awaitable[None]]) -> Journey:
    """Submit a folder; *meanwhile* happens while the judge is asked, so within the check."""
    async with judge_server() as judge:
        publish = saying("publish")

        async def reply(request: Request, writer: asyncio.StreamWriter) -> None:
            await meanwhile()
            await publish(request, writer)

        judge.will(reply, publish)
        result = await submit(folder_source(str(folder)), submitter="ada")
        asking = replace(env, settings=judge.settings(env.settings))
        batch = await env.engine.queue.receive(3, lease=env.settings.lease)
        await handle_messages(batch, asking)
        return await found(result.submission.id)


async def found(submission_id: str) -> Journey:
    stored, report = await get_submission(submission_id), await get_report(submission_id)
    assert stored
    assert report
    return Journey(stored.record, report)


@pytest.mark.parametrize("is_admin", [False, True])
async def test_a_skill_that_is_deleted_during_the_check_of_an_update_stays_deleted(
    bound: WorkerEnv, process: Process, tmp_path: Path, is_admin: bool
) -> None:
    folder = await published(process, tmp_path)

    async def meanwhile() -> None:
        await delete(is_admin=is_admin)

    journey = await judged(bound, folder, meanwhile)

    assert await get_skill(SLUG) is None
    assert journey.submission.state is S.DEQUEUED
    assert journey.submission.reason == f"withdrawn: {WHY}"
    assert journey.rules == ["RUN-WITHDRAWN"]
    assert await get_held(journey.submission.id) is None
    assert not await bound.engine.queue.pending([journey.submission.id])


async def test_a_submission_after_the_deletion_publishes_the_skill_again(
    bound: WorkerEnv, process: Process, tmp_path: Path
) -> None:
    folder = await published(process, tmp_path)
    withdrawn = await judged(bound, folder, delete)
    assert withdrawn.submission.state is S.DEQUEUED

    await retry(withdrawn.submission.id, actor="ada")
    batch = await bound.engine.queue.receive(3, lease=bound.settings.lease)
    await handle_messages(batch, bound)

    assert (await found(withdrawn.submission.id)).submission.state is S.PUBLISHED
    assert [one.version for one in await get_versions(SLUG)] == ["1.0.1"]


@pytest.mark.parametrize("version", [None, "1.0.1"])
async def test_deleted_content_that_is_submitted_again_is_published_under_the_next_number(
    process: Process, clock: ManualClock, tmp_path: Path, version: str | None
) -> None:
    folder = await published(process, tmp_path)
    await process(folder_source(str(folder)))
    await delete(version)
    clock.advance(seconds=1)

    journey = await process(folder_source(str(folder)))

    assert journey.submission.reason == f"published as {SLUG} 1.0.2"
    assert [one.version for one in await get_versions(SLUG)][-1] == "1.0.2"


async def test_a_dead_letter_from_before_the_deletion_does_not_bring_the_skill_back(
    bound: WorkerEnv, process: Process, tmp_path: Path
) -> None:
    folder = await published(process, tmp_path)
    result = await submit(folder_source(str(folder)), submitter="ada")
    (delivery,) = await bound.engine.queue.receive(1, lease=bound.settings.lease)
    assert await commit([Bury(delivery, "the disk failed")])
    await delete()
    (letter,) = await bound.engine.queue.dead_letters(after=0, limit=2)

    await requeue_dead_letter(letter.message_id, actor="cyd")
    batch = await bound.engine.queue.receive(3, lease=bound.settings.lease)
    await handle_messages(batch, bound)

    assert await get_skill(SLUG) is None
    journey = await found(result.submission.id)
    assert (journey.submission.state, journey.rules) == (S.DEQUEUED, ["RUN-WITHDRAWN"])
    assert journey.submission.reason == f"withdrawn: {WHY}"


async def test_a_submission_that_arrives_within_the_deletion_does_not_bring_the_skill_back(
    bound: WorkerEnv, process: Process, tmp_path: Path
) -> None:
    folder = await published(process, tmp_path)
    arrived: list[str] = []

    class Interrupted(ProbingEngine):
        async def commit(self, operations: Sequence[Operation]) -> int | None:
            if not arrived and any(isinstance(one, Delete) for one in operations):
                arrived.append((await submit_in(bound, folder)).id)
            return await super().commit(operations)

    await run_with_worker_env(replace(bound, engine=Interrupted(bound.engine)), delete)
    batch = await bound.engine.queue.receive(3, lease=bound.settings.lease)
    await handle_messages(batch, bound)

    assert await get_skill(SLUG) is None
    journey = await found(arrived[0])
    assert (journey.submission.state, journey.submission.reason) == (
        S.DEQUEUED,
        f"withdrawn: {WHY}",
    )


async def submit_in(env: WorkerEnv, folder: Path) -> Submission:
    async def work() -> Submission:
        return (await submit(folder_source(str(folder)), submitter="ada")).submission

    return await run_with_worker_env(env, work)


async def test_an_unblocked_submission_from_before_the_deletion_does_not_bring_the_skill_back(
    bound: WorkerEnv, process: Process, tmp_path: Path
) -> None:
    folder = await published(process, tmp_path)
    subject = source_subject(folder_source(str(folder)))
    await block(subject, reason="a complaint", actor="cyd")
    await delete(is_admin=True)

    unblocked = await unblock(subject, reason="settled", actor="cyd")
    batch = await bound.engine.queue.receive(3, lease=bound.settings.lease)
    await handle_messages(batch, bound)

    assert await get_skill(SLUG) is None
    (submission_id,) = unblocked.reopened
    journey = await found(submission_id)
    assert (journey.submission.state, journey.rules) == (S.DEQUEUED, ["RUN-WITHDRAWN"])


@pytest.mark.parametrize("is_checked", [True, False])
async def test_a_submission_right_after_the_deletion_is_not_lost_with_the_message_of_the_old_one(
    bound: WorkerEnv, process: Process, clock: ManualClock, tmp_path: Path, is_checked: bool
) -> None:
    folder = await published(process, tmp_path)
    submission = (await submit(folder_source(str(folder)), submitter="ada")).submission

    async def again() -> None:
        await submit(folder_source(str(folder)), submitter="ada")

    if is_checked:
        engine = InterruptedEngine(bound.engine, delete, again)
    else:
        await delete()
        engine = InterruptedEngine(bound.engine, again)
    batch = await bound.engine.queue.receive(3, lease=bound.settings.lease)
    await handle_messages(batch, replace(bound, engine=engine))

    assert await bound.engine.queue.pending([submission.id])
    clock.advance(minutes=1)  # until the retry
    batch = await bound.engine.queue.receive(3, lease=bound.settings.lease)
    await handle_messages(batch, bound)
    assert (await found(submission.id)).submission.state is S.PUBLISHED


async def test_nothing_waits_for_a_review_that_nobody_can_approve(
    process: Process, tmp_path: Path
) -> None:
    folder = await published(process, tmp_path)
    await delete(is_admin=True)
    (folder / "run.sh").write_text(RISKY)

    journey = await process(folder_source(str(folder)))

    assert (journey.submission.state, journey.rules) == (S.REJECTED, ["RUN-NAME"])
    assert journey.submission.reason == f"{SLUG} was deleted, and its name cannot be used again"
    assert await list_reviews() == []
    assert await get_held(journey.submission.id) is None


async def test_content_of_a_version_that_is_deleted_meanwhile_is_not_published_as_the_next_one(
    bound: WorkerEnv, process: Process, tmp_path: Path
) -> None:
    folder = await published(process, tmp_path)
    await process(folder_source(str(folder)))
    (folder / "more.md").write_text("even more\n")
    await process(folder_source(str(folder)))
    (folder / "more.md").write_text("more\n")  # as in 1.0.1

    journey = await judged(bound, folder, lambda: delete("1.0.1"))

    assert journey.submission.state is S.DEQUEUED
    why = f"the version 1.0.1 of {SLUG}, which has the same content, was deleted by cyd: a mistake"
    assert journey.submission.reason == f"withdrawn: {why}"
    assert [one.version for one in await get_versions(SLUG)] == ["1.0.0", "1.0.2"]


async def test_other_content_is_published_although_a_version_is_deleted_meanwhile(
    bound: WorkerEnv, process: Process, tmp_path: Path
) -> None:
    folder = await published(process, tmp_path)
    await process(folder_source(str(folder)))
    (folder / "more.md").write_text("without the secret\n")

    journey = await judged(bound, folder, lambda: delete("1.0.1"))

    assert journey.submission.state is S.PUBLISHED
    assert [one.version for one in await get_versions(SLUG)] == ["1.0.0", "1.0.2"]
