"""Intake: stored and queued in one commit, once, however many ask."""

import asyncio
from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from tests.probes import ProbingEngine
from vskill_platform.engines.ports import Acknowledge
from vskill_platform.errors import EngineError, InvalidInput
from vskill_platform.intake.read_source import read_source
from vskill_platform.intake.submit import SubmitKind, submit
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import Cause, SubmissionState, move
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.submission_store import (
    get_history,
    get_submission,
    get_submission_index,
    write_submission,
)

SOURCE = folder_source("/skills/tidy-notes")


async def test_a_new_source_is_stored_and_queued(bound: WorkerEnv) -> None:
    result = await submit(SOURCE, submitter="ada")

    assert result.kind is SubmitKind.CREATED
    stored = await get_submission(result.submission.id)
    assert stored
    assert stored.record == result.submission
    assert await bound.engine.queue.pending([result.submission.id]) == {result.submission.id}
    (event,) = await get_history(result.submission.id)
    assert (event.from_state, event.to_state, event.actor) == (
        None, SubmissionState.RECEIVED, "ada",
    )  # fmt: skip


async def test_twenty_equal_submissions_at_once_make_one_record(bound: WorkerEnv) -> None:
    results = await asyncio.gather(*(submit(SOURCE, submitter="ada") for _ in range(20)))

    kinds = [result.kind for result in results]
    assert kinds.count(SubmitKind.CREATED) == 1
    assert kinds.count(SubmitKind.PENDING) == 19
    assert len({result.submission.id for result in results}) == 1
    assert len((await get_submission_index()).submissions) == 1
    assert (await bound.engine.queue.stats()).ready == 1


async def test_a_store_that_fails_stores_and_queues_nothing(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = ProbingEngine(bound.engine)

    def fail(_: object) -> None:
        raise EngineError("disk full")

    probe.before_commit = fail
    monkeypatch.setattr("vskill_platform.stores.db.bound_env", lambda: _with(bound, probe))

    with pytest.raises(EngineError, match="disk full"):
        await submit(SOURCE, submitter="ada")

    monkeypatch.undo()
    assert (await get_submission_index()).submissions == []
    assert (await bound.engine.queue.stats()).ready == 0


async def test_a_finished_submission_starts_again_with_the_same_id(bound: WorkerEnv) -> None:
    first = await submit(SOURCE, submitter="ada")
    await _end(bound, first.submission.id)

    again = await submit(SOURCE, submitter="ben")

    assert again.kind is SubmitKind.REQUEUED
    assert again.submission.id == first.submission.id
    assert again.submission.state is SubmissionState.RECEIVED
    assert await bound.engine.queue.pending([first.submission.id]) == {first.submission.id}
    assert [event.actor for event in await get_history(first.submission.id)] == [
        "ada", "operator", "ben",
    ]  # fmt: skip


async def test_twenty_resubmissions_at_once_open_it_once(bound: WorkerEnv) -> None:
    first = await submit(SOURCE, submitter="ada")
    await _end(bound, first.submission.id)

    results = await asyncio.gather(*(submit(SOURCE, submitter="ben") for _ in range(20)))

    assert [result.kind for result in results].count(SubmitKind.REQUEUED) == 1
    assert len(await get_history(first.submission.id)) == 3


def test_a_folder_or_a_git_url_is_read(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)

    assert read_source(str(folder)).url == str(folder)
    assert read_source("https://git.example/a/b", path="c").key == "https://git.example/a/b#c"


def test_anything_else_is_refused_with_advice(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)

    with pytest.raises(InvalidInput, match="neither a folder here nor a git URL"):
        read_source("nowhere/at/all")
    with pytest.raises(InvalidInput, match="submit the folder that holds"):
        read_source(str(folder / "SKILL.md"))
    with pytest.raises(InvalidInput, match="there is no folder 'x'"):
        read_source(str(folder), path="x")
    with pytest.raises(InvalidInput, match="inside of the repo"):
        read_source(str(folder), path="../x")


def _with(env: WorkerEnv, engine: ProbingEngine) -> WorkerEnv:
    return WorkerEnv(
        engine=engine, settings=env.settings, clock=env.clock, scan_slots=env.scan_slots
    )


async def _end(env: WorkerEnv, submission_id: str) -> None:
    stored = await get_submission(submission_id)
    assert stored
    cause = Cause(trigger="test", actor="operator", reason="enough")
    ended, event = move(stored.record, SubmissionState.DEQUEUED, cause, now=env.clock.now())
    (delivery,) = await env.engine.queue.receive(1, lease=env.settings.lease)
    done = [*write_submission(ended, [event], expected=stored.revision), Acknowledge(delivery)]
    assert await env.engine.commit(done) is not None
