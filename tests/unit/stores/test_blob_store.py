"""Archives and uploads: small ones are in records, others are blobs, and both read the same."""

import hashlib
from pathlib import Path

import pytest

from tests.clocks import NOON, ManualClock
from vskill_platform.cron.sweep_blobs import GRACE, sweep_unused_blobs
from vskill_platform.engines.blobs.blobs import DATABASE
from vskill_platform.engines.blobs.folder_blobs import FolderBlobs
from vskill_platform.engines.blobs.sweep import sweep_blobs
from vskill_platform.engines.operations import Put
from vskill_platform.errors import BlobMissing, RecordMalformed
from vskill_platform.model.skill import SkillVersion
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.blob_store import (
    INLINE_BYTES,
    BlobRef,
    KeptOnce,
    get_archive_at,
    get_kept,
    keep,
    put_kept,
    save_kept,
)
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.upload_store import get_upload, write_upload
from vskill_platform.stores.version_store import get_archive, write_version

LARGE = bytes(range(256)) * (INLINE_BYTES // 256) + b"!"


@pytest.fixture
def folder(bound: WorkerEnv, tmp_path: Path) -> Path:
    """Where archives are stored from now on."""
    folder = tmp_path / "blobs"
    folder.mkdir()
    bound.engine.blobs.use(FolderBlobs(folder))
    return folder


@pytest.mark.usefixtures("bound")
async def test_small_content_is_a_part_of_the_commit_that_names_it() -> None:
    content = LARGE[:INLINE_BYTES]

    kept = await keep(_sha256(content), content)

    assert kept == content
    assert len(put_kept("a", kept, _sha256(content))) == 1


async def test_large_content_is_a_blob_in_the_database(bound: WorkerEnv, tmp_path: Path) -> None:
    kept = await keep(_sha256(LARGE), LARGE)
    assert await commit(put_kept("a", kept, _sha256(LARGE)))

    assert isinstance(kept, BlobRef)
    assert kept.blob.startswith(f"{DATABASE}/{_sha256(LARGE)}.")
    assert await get_archive_at("a", _sha256(LARGE)) == LARGE
    entry = await bound.engine.kv.get("a")
    assert entry
    assert len(entry.value) < 200
    await save_kept(kept, tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes() == LARGE


async def test_all_content_is_in_the_folder_that_the_operator_chose(folder: Path) -> None:
    kept = await keep(_sha256(b"small"), b"small")
    await commit(put_kept("a", kept, _sha256(b"small")))

    (file,) = _files(folder)
    assert file.read_bytes() == b"small"
    assert file.name.startswith(_sha256(b"small"))
    assert file.stat().st_mode & 0o777 == 0o600
    assert await get_archive_at("a", _sha256(b"small")) == b"small"


@pytest.mark.usefixtures("folder")
async def test_content_that_looks_like_a_reference_is_content() -> None:
    secret = await keep(_sha256(b"of ada"), b"of ada")
    assert isinstance(secret, BlobRef)
    forged = b'{"blob":"%s","size":6}' % secret.blob.encode()

    await commit([Put("inline", forged)])
    kept = await keep(_sha256(forged), forged)
    await commit(put_kept("kept", kept, _sha256(forged)))

    assert await get_archive_at("inline", _sha256(forged)) == forged
    assert await get_archive_at("kept", _sha256(forged)) == forged
    with pytest.raises(RecordMalformed):
        await get_kept("inline", _sha256(b"another"))


async def test_an_upload_that_is_published_is_stored_once(bound: WorkerEnv, folder: Path) -> None:
    sha256 = _sha256(b"upload")
    upload = await keep(sha256, b"upload")
    await commit(write_upload(sha256, upload, now=get_now()))

    archive = await keep(sha256, b"upload")
    version = SkillVersion(
        slug="@local/tidy", number=1, version="1.0.0", digest="", files=(), archive_sha256=sha256,
        commit_sha=None, submission_id="sub_1", published_at=NOON,
    )  # fmt: skip
    assert await bound.engine.commit(write_version(version, archive))

    assert archive == upload
    assert len(_files(folder)) == 1
    assert await get_archive(sha256) == b"upload"


@pytest.mark.parametrize("damage", ["missing", "changed"])
async def test_a_blob_that_cannot_be_read_is_not_shared(folder: Path, damage: str) -> None:
    sha256 = _sha256(b"upload")
    upload = await keep(sha256, b"upload")
    await commit(write_upload(sha256, upload, now=get_now()))
    (file,) = _files(folder)
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(b"other")

    archive = await keep(sha256, b"upload")
    await commit(put_kept("a", archive, sha256))

    assert archive != upload
    assert await get_archive_at("a", sha256) == b"upload"
    upload_again = await get_upload(sha256)
    assert upload_again == upload


async def test_a_missing_blob_is_an_error_that_names_it(folder: Path) -> None:
    await commit(put_kept("a", await keep(_sha256(b"x"), b"x"), _sha256(b"x")))
    _files(folder)[0].unlink()

    with pytest.raises(BlobMissing, match=_sha256(b"x")):
        await get_archive_at("a", _sha256(b"x"))


async def test_content_is_stored_once_for_many_attempts_and_again_after_a_sweep(
    bound: WorkerEnv, folder: Path
) -> None:
    content = KeptOnce(_sha256(b"x"), b"x")

    first, second = await content.get(), await content.get()
    stored = len(_files(folder))
    await sweep_blobs(bound.engine, stored_before=get_now().replace(year=2100))
    refused = await commit(put_kept("a", first, _sha256(b"x")))
    third = await content.get()

    assert (first == second, stored, refused) == (True, 1, None)
    assert third != first
    assert await commit(put_kept("a", third, _sha256(b"x")))


async def test_the_job_moves_archives_of_older_releases_to_the_store(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    small, large = b"small", LARGE
    await bound.engine.commit(
        [Put(f"blob:{_sha256(content)}", content) for content in (small, large)]
    )

    in_database = await sweep_unused_blobs()
    (tmp_path / "blobs").mkdir()
    bound.engine.blobs.use(FolderBlobs(tmp_path / "blobs"))
    in_folder = await sweep_unused_blobs()
    again = await sweep_unused_blobs()

    assert in_database == "1 archive moved, 0 unused blobs deleted"
    assert in_folder == "2 archives moved, 0 unused blobs deleted"
    assert again == "0 archives moved, 0 unused blobs deleted"
    assert len(_files(tmp_path / "blobs")) == 2
    for content in (small, large):
        assert await get_archive(_sha256(content)) == content


async def test_the_job_deletes_blobs_of_uploads_that_expired(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    kept = await keep(_sha256(LARGE), LARGE)
    await bound.engine.commit(write_upload(_sha256(LARGE), kept, now=get_now()))

    young = await sweep_unused_blobs()
    clock.advance(seconds=8 * 86_400)
    old = await sweep_unused_blobs()

    assert GRACE.days == 1
    assert young == "0 archives moved, 0 unused blobs deleted"
    assert old == "0 archives moved, 1 unused blob deleted"
    assert await get_upload(_sha256(LARGE)) is None


async def test_one_damaged_archive_does_not_stop_the_job(
    bound: WorkerEnv, folder: Path, logs: list[object]
) -> None:
    await bound.engine.commit(
        [Put(f"blob:{'0' * 64}", b"changed"), Put(f"blob:{_sha256(b'good')}", b"good")]
    )

    result = await sweep_unused_blobs()

    assert result == "1 archive moved, 0 unused blobs deleted"
    assert "archive not moved" in str(logs)
    assert len(_files(folder)) == 1


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _files(folder: Path) -> list[Path]:
    return list(folder.glob("*/*"))
