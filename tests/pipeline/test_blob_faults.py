"""The store of archives fails: submissions are retried and never lost, nothing broken is published.

Everything is stored in a folder, which a test takes away, or changes a file of.
"""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from tests.casts import a_skill_folder
from tests.clocks import ManualClock
from vskill_platform.engines.blobs.folder_blobs import FolderBlobs
from vskill_platform.errors import BlobsUnavailable, RecordMalformed
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.submit import submit
from vskill_platform.intake.take_upload import take_folder
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.publish.versions.find_version import find_archive
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.skill_store import list_skills
from vskill_platform.stores.submission_store import get_source_owner, get_submission


@pytest.fixture
def store(bound: WorkerEnv, tmp_path: Path) -> Path:
    folder = tmp_path / "blobs"
    folder.mkdir()
    bound.engine.blobs.use(FolderBlobs(folder))
    return folder


@pytest.fixture
def env(env: WorkerEnv) -> WorkerEnv:
    """Without a pause before a message returns."""
    return replace(env, settings=msgspec.structs.replace(env.settings, retry_delay=timedelta(0)))


@pytest.fixture
async def offer(tmp_path: Path) -> SubmissionRequest:
    upload = await take_folder(a_skill_folder(tmp_path))
    return SubmissionRequest(source=upload.source, upload=upload.content)


async def test_an_upload_that_cannot_be_stored_is_refused_and_can_be_sent_again(
    store: Path, offer: SubmissionRequest
) -> None:
    away = _away(store)

    with pytest.raises(BlobsUnavailable):
        await submit(offer, submitter="ada")
    nothing = await get_source_owner(offer.source)
    away.rename(store)
    accepted = await submit(offer, submitter="ada")

    assert nothing is None
    assert accepted.submission.state is SubmissionState.RECEIVED


@pytest.mark.parametrize("fault", ["store is down", "upload is missing"])
async def test_a_submission_is_retried_until_its_files_can_be_read(
    bound: WorkerEnv, clock: ManualClock, store: Path, offer: SubmissionRequest, fault: str
) -> None:
    submission = (await submit(offer, submitter="ada")).submission
    lost = store if fault == "store is down" else _only_file(store)
    away = _away(lost)

    waiting = await _process(bound, clock, submission)
    skills_before = await list_skills()
    away.rename(lost)
    published = await _process(bound, clock, submission)

    assert waiting.state is SubmissionState.RECEIVED
    assert waiting.tries == (1 if fault == "upload is missing" else 0)
    assert ("missing in the archive storage" in waiting.reason) is (fault == "upload is missing")
    assert skills_before == []
    assert published.state is SubmissionState.PUBLISHED
    assert published.slug
    assert await find_archive(published.slug) == offer.upload


async def test_an_outage_of_the_store_never_ends_a_submission(
    bound: WorkerEnv, clock: ManualClock, store: Path, offer: SubmissionRequest
) -> None:
    submission = (await submit(offer, submitter="ada")).submission
    away = _away(store)

    times = range(bound.settings.max_retries + 2)
    *_, waiting = [await _process(bound, clock, submission) for _ in times]
    away.rename(store)
    published = await _process(bound, clock, submission)

    assert (waiting.state, waiting.tries) == (SubmissionState.RECEIVED, 0)
    assert published.state is SubmissionState.PUBLISHED
    assert (await bound.engine.queue.stats()).dead == 0


async def test_files_that_were_changed_are_never_published(
    bound: WorkerEnv, clock: ManualClock, store: Path, offer: SubmissionRequest
) -> None:
    submission = (await submit(offer, submitter="ada")).submission
    _only_file(store).write_bytes(b"other files")

    ended = await _process(bound, clock, submission)

    assert ended.state is SubmissionState.REJECTED
    assert await list_skills() == []


async def test_a_publication_waits_for_a_store_that_cannot_be_written(
    bound: WorkerEnv, clock: ManualClock, tmp_path: Path, offer: SubmissionRequest
) -> None:
    """The upload is in its record, from before the store was chosen; the archive goes to it."""
    submission = (await submit(offer, submitter="ada")).submission
    store = tmp_path / "blobs"
    bound.engine.blobs.use(FolderBlobs(store))

    waiting = await _process(bound, clock, submission)
    skills_before = await list_skills()
    store.mkdir()
    published = await _process(bound, clock, submission)

    assert waiting.state is not SubmissionState.PUBLISHED
    assert skills_before == []
    assert published.state is SubmissionState.PUBLISHED
    assert _only_file(store).read_bytes() == offer.upload


async def test_a_changed_archive_is_not_served(
    bound: WorkerEnv, clock: ManualClock, store: Path, offer: SubmissionRequest
) -> None:
    submission = (await submit(offer, submitter="ada")).submission
    published = await _process(bound, clock, submission)
    file = _only_file(store)
    file.write_bytes(file.read_bytes()[:-1] + b"!")

    with pytest.raises(RecordMalformed, match="changed or damaged"):
        await find_archive(published.slug or "")


def _away(path: Path) -> Path:
    return path.rename(path.with_name("away"))


def _only_file(store: Path) -> Path:
    (file,) = store.glob("*/*")
    return file


async def _process(env: WorkerEnv, clock: ManualClock, submission: Submission) -> Submission:
    """Process what is due after any delay of a retry."""
    clock.advance(seconds=60)
    batch = await env.engine.queue.receive(3, lease=env.settings.lease)
    assert len(batch) == 1
    await handle_messages(batch, env)
    stored = await get_submission(submission.id)
    assert stored
    return stored.record
