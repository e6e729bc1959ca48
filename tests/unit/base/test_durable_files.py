"""What is renamed into place is on the disk."""

import errno
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.synced import watching_sync
from vskill_platform.base.durable_files import sync_names, sync_tree
from vskill_platform.engines.blobs.folder_blobs import FolderBlobs
from vskill_platform.engines.part_file import put_in_place


def test_all_files_and_folders_below_a_folder_are_synced(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/run.sh").touch()
    (tmp_path / "SKILL.md").touch()
    (tmp_path / "link").symlink_to("nowhere")

    with watching_sync() as synced:
        sync_tree(tmp_path)

    (tmp_path / "link").unlink()
    assert synced.missing_in(tmp_path) == []


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EISDIR])
def test_a_file_system_that_cannot_sync_folders_is_no_error(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)

    sync_names(tmp_path)


async def test_blobs_and_exports_are_written_to_a_file_system_that_cannot_sync_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync_file = os.fsync

    def refuse_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        sync_file(descriptor)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    part = tmp_path / "part"
    part.write_text("kept")

    put_in_place(part, tmp_path / "export", replace=True)
    blobs = FolderBlobs(tmp_path)
    await blobs.write("ab" * 32, pieces())

    assert (tmp_path / "export").read_text() == "kept"
    assert b"".join([piece async for piece in blobs.read("ab" * 32)]) == b"kept"


async def pieces() -> AsyncIterator[bytes]:
    yield b"kept"


def test_a_disk_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(OSError, match="Input/output"):
        sync_names(tmp_path)
