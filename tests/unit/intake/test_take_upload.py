"""Uploaded files: one form for every kind of upload, and the same record each time."""

import asyncio
import io
import zipfile
from pathlib import Path

import pytest

from tests.archives import tar_of, zip_of, zip_of_names
from tests.casts import a_skill_folder
from tests.clocks import ManualClock
from vskill_platform.base import killable_process
from vskill_platform.errors import InvalidInput, SourceRefused
from vskill_platform.fetch.fetch_source import fetched
from vskill_platform.intake.read_source import LocalFiles
from vskill_platform.intake.submission_request import SubmissionRequest, prepare_request
from vskill_platform.intake.submit import SubmitKind, submit
from vskill_platform.intake.take_upload import Upload, take_archive, take_folder
from vskill_platform.model.submission import SubmissionState
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.stores.upload_store import KEPT_FOR, get_upload

pytestmark = pytest.mark.usefixtures("one_loop")


async def submit_upload(upload: Upload) -> tuple[SubmitKind, str]:
    offer = SubmissionRequest(source=upload.source, upload=upload.content)
    result = await submit(offer, submitter="ada")
    return result.kind, result.submission.id


async def work(env: WorkerEnv) -> None:
    batch = await env.engine.queue.receive(3, lease=env.settings.lease)
    await handle_messages(batch, env)


async def state_of(submission_id: str) -> SubmissionState:
    stored = await get_submission(submission_id)
    assert stored
    return stored.record.state


async def test_a_folder_a_zip_and_a_tar_of_it_are_the_same_upload(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path, run_dot_sh="echo hi")
    (folder / "run.sh").chmod(0o755)

    uploads = [
        await take_folder(folder),
        await take_archive(zip_of(folder, under="tidy-notes"), filename="x.zip"),
        await take_archive(tar_of(folder, under="tidy-notes"), filename="tidy.tar.gz"),
        await take_archive(zip_of(folder), filename="y.ZIP"),
        await take_archive(tar_of(folder), filename="z.tgz"),
        await take_archive(zip_of(tmp_path, under="x"), filename="z.zip", path="tidy-notes"),
    ]

    assert all(upload == uploads[0] for upload in uploads)
    assert uploads[0].source.key == "upload:@local/tidy-notes#"
    assert uploads[0].source.namespace == "@local"


async def test_an_upload_is_processed_and_published(bound: WorkerEnv, tmp_path: Path) -> None:
    kind, submission_id = await submit_upload(await take_folder(a_skill_folder(tmp_path)))

    await work(bound)

    stored = await get_submission(submission_id)
    assert stored
    assert kind is SubmitKind.CREATED
    assert (stored.record.state, stored.record.slug) == (
        SubmissionState.PUBLISHED, "@local/tidy-notes",
    )  # fmt: skip


async def test_twenty_equal_uploads_at_once_make_one_record(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    upload = await take_folder(a_skill_folder(tmp_path))

    answers = await asyncio.gather(*(submit_upload(upload) for _ in range(20)))

    kinds = [kind for kind, _ in answers]
    assert kinds.count(SubmitKind.CREATED) == 1
    assert kinds.count(SubmitKind.PENDING) == 19
    assert len({submission_id for _, submission_id in answers}) == 1


async def test_the_same_files_again_are_verified_already_and_others_a_next_version(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path)
    _, submission_id = await submit_upload(await take_folder(folder))
    await work(bound)

    same = await submit_upload(await take_archive(zip_of(folder), filename="again.zip"))
    (folder / "more.md").write_text("more")
    other = await submit_upload(await take_folder(folder))
    await work(bound)

    assert same == (SubmitKind.ALREADY_VERIFIED, submission_id)
    assert other == (SubmitKind.REQUEUED, submission_id)
    stored = await get_submission(submission_id)
    assert stored
    assert stored.record.reason == "published as @local/tidy-notes 1.0.1"


async def test_other_files_while_the_first_are_being_checked_win(
    bound: WorkerEnv, tmp_path: Path, clock: ManualClock
) -> None:
    folder = a_skill_folder(tmp_path)
    first = await take_folder(folder)
    _, submission_id = await submit_upload(first)
    batch = await bound.engine.queue.receive(3, lease=bound.settings.lease)
    (folder / "more.md").write_text("more")

    answer = await submit_upload(await take_folder(folder))
    await handle_messages(batch, bound)

    assert answer == (SubmitKind.REQUEUED, submission_id)
    stored = await get_submission(submission_id)
    assert stored
    assert stored.record.source.upload_sha256 != first.source.upload_sha256
    assert stored.record.state is SubmissionState.PUBLISHED
    async with fetched(stored.record.source) as snapshot:
        assert snapshot.digest == stored.record.digest


async def test_a_published_upload_is_stored_once_and_can_be_rechecked(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    upload = await take_folder(a_skill_folder(tmp_path))
    other = await take_folder(tmp_path / "tidy-notes", name="copied-notes")
    submission_id = (await submit_upload(upload))[1]
    before = (await bound.engine.kv.list_keys("upload:", limit=10)).keys
    await work(bound)
    after = (await bound.engine.kv.list_keys("upload:", limit=10)).keys

    assert before == [f"upload:{upload.source.upload_sha256}"]
    assert after == []
    assert other.source.upload_sha256 == upload.source.upload_sha256
    assert await get_upload(upload.source.upload_sha256) == upload.content
    assert (await submit_upload(upload))[0] is SubmitKind.ALREADY_VERIFIED
    stored = await get_submission(submission_id)
    assert stored
    async with fetched(stored.record.source) as snapshot:
        assert snapshot.digest == stored.record.digest


async def test_published_uploads_are_kept_and_others_for_a_week(
    bound: WorkerEnv, tmp_path: Path, clock: ManualClock
) -> None:
    good = await take_folder(a_skill_folder(tmp_path))
    (tmp_path / "empty").mkdir()
    bad = await take_folder(tmp_path / "empty")
    for upload in (good, bad):
        await submit_upload(upload)
    await work(bound)

    clock.advance(days=KEPT_FOR.days, seconds=1)

    assert await get_upload(good.source.upload_sha256) == good.content
    assert await get_upload(bad.source.upload_sha256) is None
    with pytest.raises(SourceRefused, match="upload the files again"):
        async with fetched(bad.source):
            pass


async def test_an_archive_without_a_folder_or_a_manifest_is_called_like_its_file() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("README.md", "hi")

    upload = await take_archive(packed.getvalue(), filename="some/where/Odd Name.zip")

    assert upload.source.key == "upload:@local/Odd Name#"


@pytest.mark.parametrize(
    ("filename", "content", "complaint"),
    [
        ("skill.rar", b"Rar!", "is not an archive"),
        ("skill.zip", b"PK nonsense", "cannot be read"),
        ("skill.tar.gz", b"\x1f\x8b", "cannot be read"),
    ],
)
async def test_a_file_that_is_not_an_archive_is_refused(
    filename: str, content: bytes, complaint: str
) -> None:
    with pytest.raises(SourceRefused, match=complaint):
        await take_archive(content, filename=filename)


@pytest.mark.slow
async def test_an_archive_that_eats_memory_ends_its_process_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(killable_process, "MAX_MEMORY_BYTES", 150_000_000)

    with pytest.raises(SourceRefused, match="takes too much time or memory"):
        await take_archive(zip_of_names(300_000), filename="bomb.zip")


async def test_an_archive_that_is_too_large_is_not_even_read(tmp_path: Path) -> None:
    with (tmp_path / "notes.zip").open("wb") as file:
        file.truncate(2**40)  # a hole on the disk; in memory it would be all there is

    with pytest.raises(SourceRefused, match="more than 67,108,864 bytes"):
        await prepare_request(LocalFiles(tmp_path / "notes.zip"))


async def test_a_folder_may_shrink_as_much_as_it_does(bound: WorkerEnv, tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path, table_dot_csv="0,0,0,0\n" * 1_000_000)

    _, submission_id = await submit_upload(await take_folder(folder))
    await work(bound)

    stored = await get_submission(submission_id)
    assert stored
    assert "archive" not in stored.record.reason
    assert stored.record.digest


async def test_files_of_this_machine_are_packed_when_they_are_offered(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path / "repo" / "skills")
    archive = tmp_path / "repo.zip"
    archive.write_bytes(zip_of(tmp_path / "repo", under="repo"))

    offers = [
        await prepare_request(LocalFiles(tmp_path / "repo", "skills/tidy-notes")),
        await prepare_request(LocalFiles(archive, "skills/tidy-notes")),
        await prepare_request(LocalFiles(folder)),
    ]

    assert all(offer == offers[0] for offer in offers)


async def test_a_path_that_is_not_in_the_archive_is_refused(tmp_path: Path) -> None:
    content = zip_of(a_skill_folder(tmp_path))

    with pytest.raises(SourceRefused, match="there is no folder 'x'"):
        await take_archive(content, filename="a.zip", path="x")


async def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name of a skill"):
        await take_folder(a_skill_folder(tmp_path), name="a/b")
