"""Workspaces: private, and swept up behind who was killed."""

import asyncio
import os
import stat
import tempfile
import threading
import time
from pathlib import Path

import pytest

from vskill_platform.base.work_in_thread import work_in_thread
from vskill_platform.fetch.private_folder import (
    ABANDONED_AFTER,
    make_workspace,
    sweep_workspaces,
)
from vskill_platform.fetch.workspace import open_workspace


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_workspace_is_private_and_gone_afterwards() -> None:
    async with open_workspace() as folder:
        (folder / "file").write_text("x")
        mode = stat.S_IMODE(folder.stat().st_mode)

    assert mode == 0o700
    assert not folder.exists()


def test_a_workspace_without_an_event_loop_is_the_same() -> None:
    with make_workspace() as folder:
        mode = stat.S_IMODE(folder.stat().st_mode)

    assert mode == 0o700
    assert not folder.exists()


async def test_what_a_thread_still_writes_when_it_is_given_up_is_gone_too(tmp_path: Path) -> None:
    started, go_on = threading.Event(), threading.Event()

    def write(folder: Path) -> None:
        started.set()
        go_on.wait()
        (folder / "late").mkdir(parents=True)

    async def work() -> None:
        async with open_workspace() as folder:
            await work_in_thread(write, folder)

    task = asyncio.create_task(work())
    await asyncio.to_thread(started.wait)
    task.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert left_in(tmp_path) == []


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
