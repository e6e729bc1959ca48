"""A block at any moment: nothing of it is published, and no other published skill is lost."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.casts import a_skill_folder, a_submission, stored
from tests.clocks import ManualClock
from tests.pipeline.conftest import Process
from tests.probes import InterruptedEngine
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.fetch.fetch_source import fetched
from vskill_platform.intake.submit import SubmitKind, submit
from vskill_platform.model.block import (
    BlockSubject,
    digest_subject,
    name_subject,
    publisher_subject,
    source_subject,
)
from vskill_platform.model.lookalike import name_marks
from vskill_platform.model.source import Source, folder_source, git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.moderation import block_skill
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.publish.moderation.block_subject import read_blocked_source
from vskill_platform.publish.moderation.unblock_skill import unblock
from vskill_platform.publish.versions.find_version import find_archive, find_version
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores import records
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.block_store import get_block, list_blocks
from vskill_platform.stores.scan_store import get_report
from vskill_platform.stores.similarity_store import find_by_marks, get_similarity_record
from vskill_platform.stores.skill_store import enumerate_published_skills
from vskill_platform.stores.submission_store import get_history, get_submission
from vskill_platform.stores.version_store import get_archive, get_versions

SLUG = "@local/tidy-notes"
KINDS = ["digest", "source", "name", "publisher"]


async def subject_of(kind: str, source: Source) -> BlockSubject:
    async with fetched(source) as snapshot:
        digest = snapshot.digest
    subjects = {
        "digest": digest_subject(digest),
        "source": source_subject(source),
        "name": name_subject(source, "tidy-notes"),
        "publisher": publisher_subject("@local"),
    }
    return subjects[kind]


async def work(env: WorkerEnv) -> None:
    batch = await env.engine.queue.receive(3, lease=env.settings.lease)
    await handle_messages(batch, env)


async def state_of(submission_id: str) -> SubmissionState:
    stored = await get_submission(submission_id)
    assert stored
    return stored.record.state


@pytest.mark.parametrize("kind", KINDS)
async def test_a_block_takes_down_what_is_published_and_keeps_the_evidence(
    process: Process, tmp_path: Path, kind: str
) -> None:
    source = folder_source(str(a_skill_folder(tmp_path)))
    journey = await process(source)
    subject = await subject_of(kind, source)

    done = await block(subject, reason="steals keys", actor="cyd")

    assert (done.taken_down, done.ended) == ((SLUG,), (journey.submission.id,))
    assert await enumerate_published_skills() == []
    assert await get_similarity_record(SLUG) is None
    assert await find_by_marks(name_marks("tidy-notes")) == []
    with pytest.raises(NotAllowed, match=r"no longer available: blocked .* steals keys"):
        await find_version(SLUG)
    stored = await get_submission(journey.submission.id)
    assert stored
    assert stored.record.state is SubmissionState.BLOCKED
    assert "steals keys" in stored.record.reason
    report = await get_report(journey.submission.id)
    assert report
    assert report.digest == journey.report.digest
    assert [item.rule for item in report.findings] == ["RUN-BLOCKED", *journey.rules]
    assert (report.verdict, report.score) == (journey.report.verdict, journey.report.score)
    (version,) = await get_versions(SLUG)
    assert await get_archive(version.archive_sha256)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_queued_submission_is_blocked_without_a_fetch(
    bound: WorkerEnv, process: Process, tmp_path: Path, kind: str
) -> None:
    folder = a_skill_folder(tmp_path)
    source = folder_source(str(folder))
    await process(source)
    subject = await subject_of(kind, source)
    (folder / "more.md").write_text("more")
    again = await submit(source, submitter="ada")
    assert again.kind is SubmitKind.REQUEUED

    done = await block(subject, reason="steals keys", actor="cyd")
    await work(bound)

    assert done.ended == (again.submission.id,)
    assert await state_of(again.submission.id) is SubmissionState.BLOCKED
    assert len(await get_versions(SLUG)) == 1
    assert (await bound.engine.queue.stats()).ready == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_a_block_between_the_check_and_the_last_commit_keeps_it_from_being_published(
    bound: WorkerEnv, tmp_path: Path, clock: ManualClock, kind: str
) -> None:
    source = folder_source(str(a_skill_folder(tmp_path)))
    subject = await subject_of(kind, source)
    submitted = await submit(source, submitter="ada")

    async def strike() -> None:
        await block(subject, reason="steals keys", actor="cyd")

    await work(replace(bound, engine=InterruptedEngine(bound.engine, strike)))
    listed = await enumerate_published_skills()
    clock.advance(minutes=1)
    await work(bound)  # what was not known to be blocked is tried again, and is met by now

    assert (listed, await enumerate_published_skills()) == ([], [])
    assert await get_versions(SLUG) == []
    assert await state_of(submitted.submission.id) is SubmissionState.BLOCKED
    report = await get_report(submitted.submission.id)
    assert report
    assert report.findings[0].rule == "RUN-BLOCKED"
    assert (await bound.engine.queue.stats()).ready == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_unblocking_queues_the_same_record_and_publishes_after_a_fresh_check(
    bound: WorkerEnv, process: Process, tmp_path: Path, kind: str
) -> None:
    source = folder_source(str(a_skill_folder(tmp_path)))
    journey = await process(source)
    subject = await subject_of(kind, source)
    await block(subject, reason="steals keys", actor="cyd")

    done = await unblock(subject, reason="it was a mistake", actor="cyd")

    assert done.reopened == (journey.submission.id,)
    assert await state_of(journey.submission.id) is SubmissionState.RECEIVED
    assert await bound.engine.queue.pending([journey.submission.id]) == {journey.submission.id}
    assert await enumerate_published_skills() == []
    await work(bound)
    assert [skill.slug for skill in await enumerate_published_skills()] == [SLUG]
    assert len(await get_versions(SLUG)) == 1
    assert await get_similarity_record(SLUG)
    triggers = [event.trigger for event in await get_history(journey.submission.id)]
    assert triggers[-5:] == ["block", "unblock", "claim", "check", "publish"]


async def test_a_submission_stays_blocked_until_the_last_block_is_removed(
    bound: WorkerEnv, process: Process, tmp_path: Path
) -> None:
    source = folder_source(str(a_skill_folder(tmp_path)))
    journey = await process(source)
    by_source, by_name = [await subject_of(kind, source) for kind in ("source", "name")]
    await block(by_source, reason="steals keys", actor="cyd")
    await block(by_name, reason="so it does", actor="cyd")

    first = await unblock(by_source, reason="checked", actor="cyd")
    second = await unblock(by_name, reason="checked", actor="cyd")

    assert (first.reopened, first.still_blocked) == ((), (journey.submission.id,))
    assert (second.reopened, second.still_blocked) == ((journey.submission.id,), ())


async def test_a_block_that_is_gone_before_the_last_commit_ends_nothing(
    bound: WorkerEnv, tmp_path: Path, clock: ManualClock
) -> None:
    source = folder_source(str(a_skill_folder(tmp_path)))
    subject = await subject_of("digest", source)
    await block(subject, reason="steals keys", actor="cyd")
    submitted = await submit(source, submitter="ada")

    async def strike() -> None:
        await unblock(subject, reason="it was a mistake", actor="cyd")

    await work(replace(bound, engine=InterruptedEngine(bound.engine, strike)))
    clock.advance(minutes=1)
    await work(bound)

    assert await state_of(submitted.submission.id) is SubmissionState.PUBLISHED


@pytest.mark.parametrize("kind", ["source", "name", "publisher"])
async def test_a_new_submission_answers_blocked_with_the_reason_once_for_all(
    bound: WorkerEnv, tmp_path: Path, kind: str
) -> None:
    source = folder_source(str(a_skill_folder(tmp_path)))
    subject = await subject_of(kind, source)
    await block(subject, reason="steals keys", actor="cyd")

    results = await asyncio.gather(*(submit(source, submitter="ada") for _ in range(20)))

    assert {result.kind for result in results} == {SubmitKind.BLOCKED}
    assert len({result.submission.id for result in results}) == 1
    assert all("steals keys" in result.reason for result in results)
    assert (await bound.engine.queue.stats()).ready == 0
    report = await get_report(results[0].submission.id)
    assert report
    assert report.findings[0].rule == "RUN-BLOCKED"
    await unblock(subject, reason="it was a mistake", actor="cyd")
    await work(bound)
    assert await state_of(results[0].submission.id) is SubmissionState.PUBLISHED


async def test_an_ended_submission_of_a_blocked_source_answers_blocked(
    process: Process, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path)
    (folder / "SKILL.md").write_text("no manifest")
    source = folder_source(str(folder))
    ended = (await process(source)).submission
    await block(await subject_of("source", source), reason="steals keys", actor="cyd")

    result = await submit(source, submitter="ada")

    assert (result.kind, result.submission.state) == (SubmitKind.BLOCKED, ended.state)
    assert "steals keys" in result.reason


async def test_twenty_equal_blocks_at_once_make_one_record(
    process: Process, tmp_path: Path
) -> None:
    source = folder_source(str(a_skill_folder(tmp_path)))
    await process(source)
    subject = await subject_of("source", source)

    done = await asyncio.gather(
        *(block(subject, reason=f"reason {n}", actor="cyd") for n in range(20))
    )

    assert [result.is_new for result in done].count(True) == 1
    (known,) = await list_blocks()
    assert {result.block for result in done} == {known}
    assert [record.action for record in (await list_audit()).records] == ["block add"]


async def test_a_block_is_recorded_with_actor_and_reason(
    process: Process, tmp_path: Path, clock: ManualClock
) -> None:
    source = folder_source(str(a_skill_folder(tmp_path)))
    await process(source)
    subject = await subject_of("name", source)

    await block(subject, reason="steals keys", actor="cyd")
    clock.advance(seconds=1)
    await unblock(subject, reason="it was a mistake", actor="ada")

    removed, added = (await list_audit()).records
    assert (added.actor, added.action, added.reason) == ("cyd", "block add", "steals keys")
    assert added.outcome == "1 skill taken down, 1 submission ended"
    assert (removed.actor, removed.action, removed.reason) == (
        "ada", "block remove", "it was a mistake",
    )  # fmt: skip
    assert added.subject == removed.subject == subject.in_words()
    assert await get_block(subject) is None
    with pytest.raises(NotFound, match="not on the blocklist"):
        await unblock(subject, reason="again", actor="ada")


async def test_a_block_of_another_skill_touches_nothing(process: Process, tmp_path: Path) -> None:
    source = folder_source(str(a_skill_folder(tmp_path)))
    await process(source)
    other = folder_source(str(tmp_path / "elsewhere"))

    for subject in (
        name_subject(other, "tidy-notes"),
        name_subject(source, "tidy-note"),
        source_subject(other),
        digest_subject("0" * 64),
        publisher_subject("git.example/ada"),
    ):
        done = await block(subject, reason="steals keys", actor="cyd")
        assert (done.taken_down, done.ended) == ((), ())

    assert [skill.slug for skill in await enumerate_published_skills()] == [SLUG]


async def test_a_blocked_slug_still_belongs_to_its_source(process: Process, tmp_path: Path) -> None:
    source = folder_source(str(a_skill_folder(tmp_path / "ada")))
    await process(source)
    await block(await subject_of("source", source), reason="steals keys", actor="cyd")

    other = await process(folder_source(str(a_skill_folder(tmp_path / "ben"))))

    assert other.submission.state is SubmissionState.REJECTED
    assert other.rules == ["RUN-NAME"]


async def test_blocked_content_under_a_taken_name_ends_blocked(
    process: Process, tmp_path: Path
) -> None:
    await process(folder_source(str(a_skill_folder(tmp_path / "ada"))))
    copy = a_skill_folder(tmp_path / "ben")
    (copy / "more.md").write_text("more")
    source = folder_source(str(copy))
    await block(await subject_of("digest", source), reason="steals keys", actor="cyd")

    other = await process(source)

    assert other.submission.state is SubmissionState.BLOCKED
    assert "steals keys" in other.submission.reason


async def test_an_older_version_whose_content_is_blocked_cannot_be_had(
    process: Process, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path)
    source = folder_source(str(folder))
    await process(source)
    old = await subject_of("digest", source)
    (folder / "more.md").write_text("more")
    await process(source)

    done = await block(old, reason="steals keys", actor="cyd")

    assert done.taken_down == ()
    assert await find_archive(SLUG)
    with pytest.raises(NotAllowed, match=r"1\.0\.0 is blocked .* steals keys"):
        await find_archive(SLUG, "1.0.0")


async def test_a_slug_that_was_not_uploaded_is_refused_with_what_to_block(
    bound: WorkerEnv, process: Process, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path)
    await process(folder_source(str(folder)))
    uploaded = read_blocked_source(SLUG, default_host="github.com")

    with pytest.raises(InvalidInput, match="was not uploaded") as told:
        await block(source_subject(uploaded), reason="x", actor="cyd")

    assert str(folder) in str(told.value)
    assert await list_blocks() == []


async def test_a_block_ends_everything_that_is_pending_whatever_fits_in_a_page_or_a_commit(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_KEYS_A_PAGE", 2)
    monkeypatch.setattr(block_skill, "MAX_IDLE", 2)
    states = [SubmissionState.NEEDS_REVIEW, SubmissionState.RECEIVED] * 4
    pending = [a_submission(state) for state in states]
    await stored(bound.engine, *pending)

    done = await block(publisher_subject("@local"), reason="steals keys", actor="cyd")

    assert sorted(done.ended) == sorted(one.id for one in pending)
    assert {await state_of(one.id) for one in pending} == {SubmissionState.BLOCKED}


@pytest.mark.parametrize("kind", ["source", "name"])
async def test_the_path_of_a_blocked_folder_is_shown_to_operators_alone(
    process: Process, tmp_path: Path, kind: str
) -> None:
    source = folder_source(str(a_skill_folder(tmp_path)))
    journey = await process(source)
    subject = await subject_of(kind, source)

    await block(subject, reason="steals keys", actor="cyd")
    again = await submit(source, submitter="ada")
    with pytest.raises(NotAllowed) as refused:
        await find_version(SLUG)

    ended = await get_submission(journey.submission.id)
    report = await get_report(journey.submission.id)
    assert ended
    assert report
    history = await get_history(journey.submission.id)
    public = [ended.record.reason, again.reason, str(refused.value)]
    public += [event.reason for event in history] + [item.message for item in report.findings]
    assert [text for text in public if str(tmp_path) in text] == []
    assert "local files): steals keys" in ended.record.reason
    assert str(tmp_path) in (await list_audit()).records[0].subject


async def test_the_path_of_an_unreadable_folder_is_not_shown(
    process: Process, tmp_path: Path
) -> None:
    inside = tmp_path / "gone"
    sources = [
        folder_source(str(inside)),
        folder_source("/somewhere/else"),
        git_source(f"file://{inside}/ada/notes"),
    ]

    journeys = [await process(source) for source in sources]

    for journey in journeys:
        messages = [item.message for item in journey.report.findings]
        told = " ".join([journey.submission.reason, *messages])
        assert journey.submission.state is SubmissionState.REJECTED
        assert str(tmp_path) not in told
        assert "/somewhere/else" not in told
