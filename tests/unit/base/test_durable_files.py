"""What is renamed into place is on the disk."""

import errno
import os
from pathlib import Path

import pytest

from tests.synced import watching_sync
from vskill_platform.base.durable_files import sync_names, sync_tree


def test_all_files_and_folders_below_a_folder_are_synced(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/run.sh").touch()
    (tmp_path / "SKILL.md").touch()
    (tmp_path / "link").symlink_to("nowhere")

    with watching_sync() as synced:
        sync_tree(tmp_path)

    (tmp_path / "link").unlink()
    assert synced.missing_in(tmp_path) == []


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_cannot_sync_folders_is_no_error(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)

    sync_names(tmp_path)


def test_a_disk_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(OSError, match="Input/output"):
        sync_names(tmp_path)
