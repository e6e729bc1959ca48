"""Submitting: stored and queued in one commit, once, also if many submit at the same time."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from tests.casts import a_skill_folder
from tests.probes import ProbingEngine
from tests.repos import a_repo, commit_all
from vskill_platform.engines.operations import Acknowledge
from vskill_platform.errors import DiskNearlyFull, EngineError
from vskill_platform.fetch.fetch_source import fetched
from vskill_platform.intake.submit import SubmitKind, submit
from vskill_platform.model.source import Source, folder_source, git_source
from vskill_platform.model.submission import Cause, Submission, SubmissionState, move
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


@pytest.mark.usefixtures("database_file")
async def test_on_an_almost_full_disk_a_submission_is_refused_and_a_known_one_is_answered(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = await submit(SOURCE, submitter="ada")
    almost_full = SimpleNamespace(f_frsize=1, f_blocks=1024**4, f_bavail=1024**2)
    monkeypatch.setattr(os, "statvfs", lambda _: almost_full)

    with pytest.raises(DiskNearlyFull):
        await submit(folder_source("/skills/other"), submitter="ada")

    again = await submit(SOURCE, submitter="ada")
    assert (again.kind, again.submission) == (SubmitKind.PENDING, known.submission)
    assert len((await get_submission_index()).submissions) == 1


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


async def test_a_blocked_source_stays_blocked(bound: WorkerEnv) -> None:
    first = await submit(SOURCE, submitter="ada")
    await _end(bound, first.submission.id, SubmissionState.BLOCKED)

    results = await asyncio.gather(*(submit(SOURCE, submitter="ben") for _ in range(20)))

    assert {result.kind for result in results} == {SubmitKind.BLOCKED}
    assert {result.submission.state for result in results} == {SubmissionState.BLOCKED}
    assert (await bound.engine.queue.stats()).ready == 0


async def test_twenty_concurrent_submissions_get_one_record(bound: WorkerEnv) -> None:
    await submit(folder_source("/skills/another"), submitter="cyd")

    results = await asyncio.gather(*(submit(SOURCE, submitter="ada") for _ in range(20)))

    assert all(result.submission == results[0].submission for result in results)
    assert {result.position for result in results} == {2}


async def test_the_position_in_the_queue_is_shown(bound: WorkerEnv) -> None:
    sources = [folder_source(f"/skills/{name}") for name in ("one", "two", "three")]

    places = [(await submit(source, submitter="ada")).position for source in sources]
    await bound.engine.queue.receive(1, lease=bound.settings.lease)
    again = [(await submit(source, submitter="ada")).position for source in sources]

    assert places == [1, 2, 3]
    assert again == [0, 1, 2]


async def test_an_unchanged_folder_that_is_published_is_verified_already(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    source = folder_source(str(a_skill_folder(tmp_path)))
    first = await _publish(bound, source)

    results = await asyncio.gather(*(submit(source, submitter="ben") for _ in range(20)))

    assert {result.kind for result in results} == {SubmitKind.ALREADY_VERIFIED}
    assert {result.submission.id for result in results} == {first.id}
    assert {result.position for result in results} == {None}
    assert (await bound.engine.queue.stats()).ready == 0


async def test_a_changed_folder_that_is_published_is_queued_again(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path)
    first = await _publish(bound, folder_source(str(folder)))
    (folder / "more.md").write_text("more")

    again = await submit(folder_source(str(folder)), submitter="ben")

    assert (again.kind, again.submission.id) == (SubmitKind.REQUEUED, first.id)
    assert again.position == 1


async def test_a_published_folder_that_is_gone_is_queued_and_fails_in_the_pipeline(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path)
    await _publish(bound, folder_source(str(folder)))
    (folder / "SKILL.md").unlink()
    folder.rmdir()

    again = await submit(folder_source(str(folder)), submitter="ben")

    assert again.kind is SubmitKind.REQUEUED


async def test_an_unchanged_repo_is_known_by_its_tree_though_other_commits_came(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    repo = tmp_path / "repo"
    a_skill_folder(repo)
    source = git_source(a_repo(repo), "tidy-notes")
    await _publish(bound, source)
    (repo / "README.md").write_text("about something else")
    commit_all(repo)

    unchanged = await submit(source, submitter="ben")
    (repo / "tidy-notes" / "more.md").write_text("more")
    commit_all(repo)
    changed = await submit(source, submitter="ben")

    assert unchanged.kind is SubmitKind.ALREADY_VERIFIED
    assert changed.kind is SubmitKind.REQUEUED


async def test_an_unchanged_submission_in_review_stays_in_review(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path)
    source = folder_source(str(folder))
    await _publish(bound, source, end=SubmissionState.NEEDS_REVIEW)

    unchanged = await submit(source, submitter="ben")
    (folder / "more.md").write_text("more")
    changed = await submit(source, submitter="ben")

    assert unchanged.kind is SubmitKind.PENDING
    assert unchanged.submission.state is SubmissionState.NEEDS_REVIEW
    assert changed.kind is SubmitKind.REQUEUED


async def test_another_ref_is_another_submission_of_the_same_skill(bound: WorkerEnv) -> None:
    newest = git_source("https://git.example/ada/notes")
    stable = git_source("https://git.example/ada/notes", ref="v1")

    results = [await submit(source, submitter="ada") for source in (newest, stable)]

    assert {result.kind for result in results} == {SubmitKind.CREATED}
    assert newest.owner_key == stable.owner_key


async def _publish(
    env: WorkerEnv, source: Source, *, end: SubmissionState = SubmissionState.PUBLISHED
) -> Submission:
    """Process a source to the state *end*, as a worker would."""
    submission = (await submit(source, submitter="ada")).submission
    async with fetched(source) as snapshot:
        submission = msgspec.structs.replace(
            submission, digest=snapshot.digest, tree_sha=snapshot.tree_sha
        )
    stored = await get_submission(submission.id)
    assert stored
    events = []
    last = end if end is SubmissionState.NEEDS_REVIEW else SubmissionState.AUTO_APPROVED
    for state in dict.fromkeys((SubmissionState.TIER1_SCANNING, last, end)):
        cause = Cause(trigger="test", actor="node-1", reason="passed")
        submission, event = move(submission, state, cause, now=env.clock.now())
        events.append(event)
    (delivery,) = await env.engine.queue.receive(1, lease=env.settings.lease)
    written = write_submission(submission, events, expected=stored.revision)
    assert await env.engine.commit([*written, Acknowledge(delivery)]) is not None
    return submission


def _with(env: WorkerEnv, engine: ProbingEngine) -> WorkerEnv:
    return WorkerEnv(
        engine=engine, settings=env.settings, clock=env.clock, scan_slots=env.scan_slots
    )


async def _end(
    env: WorkerEnv, submission_id: str, state: SubmissionState = SubmissionState.DEQUEUED
) -> None:
    stored = await get_submission(submission_id)
    assert stored
    cause = Cause(trigger="test", actor="operator", reason="enough")
    ended, event = move(stored.record, state, cause, now=env.clock.now())
    (delivery,) = await env.engine.queue.receive(1, lease=env.settings.lease)
    done = [*write_submission(ended, [event], expected=stored.revision), Acknowledge(delivery)]
    assert await env.engine.commit(done) is not None
