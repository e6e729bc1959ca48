"""Workspaces: private, and swept up behind who was killed."""

import os
import stat
import tempfile
import time
from pathlib import Path

import pytest

from vskill_platform.fetch.workspace import ABANDONED_AFTER, open_workspace, sweep_workspaces


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_workspace_is_private_and_gone_afterwards() -> None:
    with open_workspace() as folder:
        (folder / "file").write_text("x")
        mode = stat.S_IMODE(folder.stat().st_mode)

    assert mode == 0o700
    assert not folder.exists()


def test_what_a_killed_worker_left_behind_is_swept_up_after_an_hour(tmp_path: Path) -> None:
    old, young, strange = (tmp_path / name for name in ("vskill-old", "vskill-new", "other"))
    for folder in (old, young, strange):
        (folder / "repo").mkdir(parents=True)
    long_ago = time.time() - ABANDONED_AFTER.total_seconds() - 1
    for folder in (old, strange):
        os.utime(folder, (long_ago, long_ago))
    (tmp_path / "vskill-link").symlink_to(strange)

    swept = sweep_workspaces()

    assert swept == 1
    assert not old.exists()
    assert young.exists()
    assert (strange / "repo").exists()
