"""Workspaces: private, and removed if their process was killed."""

import asyncio
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.fetch import temporary_folders
from vskill_platform.fetch.snapshot import Listing
from vskill_platform.fetch.temporary_folders import (
    PREFIX,
    SMALL_BYTES,
    make_workspace,
    sweep_workspaces,
)
from vskill_platform.fetch.workspace import FEW_FILES, open_workspace, planned_workspace


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def memory(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A replacement for the folder in memory, with enough space."""
    place = tmp_path_factory.mktemp("memory")
    monkeypatch.setattr(temporary_folders, "IN_MEMORY", place)
    monkeypatch.setattr(temporary_folders, "ROOM_BYTES", 0)
    monkeypatch.setattr(temporary_folders, "_USUAL", (str(tmp_path),))
    return place


def a_listing(*files: str, size: int = 10) -> Listing:
    return Listing("somewhere", list(files), size)


def fill(folder: Path, *files: str) -> None:
    for file in files:
        (folder / file).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / file).write_text(file)


def left_in(folder: Path) -> list[Path]:
    """Return the workspaces in a temporary folder: each process has one folder for its own."""
    return list(folder.glob(f"{PREFIX}*/*"))


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


async def test_files_that_a_cancelled_thread_still_writes_are_removed(tmp_path: Path) -> None:
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


async def test_a_small_workspace_is_in_memory_and_removed_afterwards(memory: Path) -> None:
    files = ["SKILL.md", "a/b/c.md", "a/b/d.md", "a/e.md"]

    async with planned_workspace() as workspace:
        folder = workspace.place(a_listing(*files))
        fill(folder, *files)

    assert folder.parent.parent == memory
    assert left_in(memory) == []


@pytest.mark.parametrize("more", ["left-over", "a/left-over", "new/left-over"])
async def test_files_added_to_a_workspace_are_removed_with_it(memory: Path, more: str) -> None:
    async with planned_workspace() as workspace:
        fill(workspace.place(a_listing("SKILL.md", "a/b.md")), "SKILL.md", "a/b.md", more)

    assert left_in(memory) == []


async def test_a_copy_that_broke_off_is_gone_too(memory: Path) -> None:
    async with planned_workspace() as workspace:
        fill(workspace.place(a_listing("SKILL.md", "a/b.md")), "a/b.md")
    async with planned_workspace() as workspace:
        workspace.place(a_listing("SKILL.md"))  # and nothing was made of it

    assert left_in(memory) == []


async def test_many_files_are_gone_too(memory: Path) -> None:
    files = [f"{number}.md" for number in range(FEW_FILES + 1)]

    async with planned_workspace() as workspace:
        fill(workspace.place(a_listing(*files)), *files)

    assert left_in(memory) == []


async def test_a_link_in_place_of_a_folder_leads_nowhere_when_it_is_removed(
    memory: Path, tmp_path: Path
) -> None:
    fill(tmp_path / "precious", "b.md")

    async with planned_workspace() as workspace:
        folder = workspace.place(a_listing("SKILL.md", "a/b.md"))
        fill(folder, "SKILL.md")
        (folder / "a").symlink_to(tmp_path / "precious")

    assert left_in(memory) == []
    assert (tmp_path / "precious" / "b.md").exists()


async def test_a_large_workspace_is_on_disk(memory: Path, tmp_path: Path) -> None:
    async with planned_workspace() as workspace:
        folder = workspace.place(a_listing("SKILL.md", size=SMALL_BYTES + 1))
        fill(folder, "SKILL.md")

    assert folder.parent.parent == tmp_path
    assert left_in(memory) == left_in(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("IN_MEMORY", Path("/nowhere")), ("ROOM_BYTES", 2**60), ("_USUAL", ())],
    ids=["no place", "no room", "the operator has chosen"],
)
async def test_without_room_in_memory_a_workspace_is_on_disk(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    monkeypatch.setattr(temporary_folders, name, value)

    async with planned_workspace() as workspace:
        fill(workspace.place(a_listing("SKILL.md")), "SKILL.md")
        places = left_in(tmp_path), left_in(memory)

    assert places == ([workspace.folder], [])
    assert left_in(tmp_path) == []


def test_the_folders_of_dead_processes_are_removed_everywhere(tmp_path: Path, memory: Path) -> None:
    dead = [parent / f"{PREFIX}dead" for parent in (tmp_path, memory)]
    others = [tmp_path / "vskill-catalogue-1", tmp_path / "other"]
    for folder in (*dead, *others):
        (folder / "repo").mkdir(parents=True)
    (tmp_path / f"{PREFIX}link").symlink_to(others[1])

    swept = sweep_workspaces()

    assert swept == 2
    assert not any(folder.exists() for folder in dead)
    assert all((folder / "repo").exists() for folder in others)


async def test_a_jump_of_the_clock_takes_no_folder_from_a_living_process(
    memory: Path, tmp_path: Path
) -> None:
    async with open_workspace() as on_disk, planned_workspace() as workspace:
        in_memory = workspace.place(a_listing("SKILL.md"))
        fill(in_memory, "SKILL.md")
        for folder in (on_disk, in_memory):  # what a clock that jumped ahead by years makes of it
            os.utime(folder, (0, 0))
            os.utime(folder.parent, (0, 0))
        swept = sweep_workspaces()
        is_there = on_disk.is_dir(), (in_memory / "SKILL.md").is_file()

    assert swept == 0
    assert is_there == (True, True)


_KEEP_A_WORKSPACE = """
import os, sys, tempfile
tempfile.tempdir = sys.argv[1]
from vskill_platform.fetch.temporary_folders import new_workspace
print(new_workspace(), flush=True)
sys.stdin.readline()
"""


@pytest.mark.usefixtures("memory")  # not those of servers that other tests kill meanwhile
def test_the_folder_of_another_process_is_removed_once_that_was_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _KEEP_A_WORKSPACE, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout
        folder = Path(other.stdout.readline().strip())
        while_it_lives = sweep_workspaces(), folder.is_dir()
        other.kill()
        other.wait()

    after_its_death = sweep_workspaces(), folder.is_dir()

    assert while_it_lives == (0, True)
    assert after_its_death == (1, False)


def test_a_process_that_ends_leaves_nothing_behind(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", _KEEP_A_WORKSPACE, str(tmp_path)],
        input="\n", stdout=subprocess.DEVNULL, text=True, check=True,
    )  # fmt: skip

    assert list(tmp_path.iterdir()) == []


async def test_a_process_whose_folder_was_removed_makes_a_new_one(tmp_path: Path) -> None:
    async with open_workspace() as first:
        shutil.rmtree(first.parent)

    async with open_workspace() as second:
        is_there = second.is_dir()

    assert is_there
    assert second.parent != first.parent
