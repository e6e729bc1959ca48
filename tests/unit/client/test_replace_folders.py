"""Folders and the lock file change together, even if the process is interrupted."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.synced import watching_sync
from tests.unit.client.killed import killed_at
from vskill_platform.client import replace_folders as module
from vskill_platform.client.install_folders import LOCK_NAME, STAGING, InstallScope, ScopeKind
from vskill_platform.client.replace_folders import (
    FolderChange,
    exclusive,
    needs_recovery,
    replace_folders,
)
from vskill_platform.errors import ConfigError, InvalidInput, VskillError

OLD, NEW = "old lock\n", "new lock\n"
CLAUDE, SHARED = ".claude/skills", ".agents/skills"


@pytest.fixture
def scope(tmp_path: Path) -> InstallScope:
    root = tmp_path / "project"
    root.mkdir()
    return InstallScope(kind=ScopeKind.PROJECT, root=root, lock=root / LOCK_NAME)


def write_skill(text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "scripts").mkdir(parents=True)
        (folder / "SKILL.md").write_text(text)
        (folder / "scripts" / "run.sh").write_text(text)

    return write


def content_of(root: Path) -> dict[str, str]:
    """Return all files and links below a folder, and empty folders."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_text()
        elif not any(path.iterdir()):
            found[name] = "(empty folder)"
    return found


def install(scope: InstallScope, text: str, lock: str, *folders: str) -> None:
    changes = [FolderChange(folder=one, name="demo", write=write_skill(text)) for one in folders]
    with exclusive(scope):
        replace_folders(scope, changes, lock)


def test_installed_files_and_the_lock_file_are_on_the_disk(scope: InstallScope) -> None:
    with watching_sync() as synced:
        install(scope, "text", NEW, CLAUDE)

    assert synced.missing_in(scope.root / CLAUDE) == []
    assert LOCK_NAME not in synced.missing_in(scope.root)


def test_new_folders_and_the_lock_file_are_written(scope: InstallScope) -> None:
    install(scope, "one", NEW, CLAUDE, SHARED)

    assert content_of(scope.root) == {
        LOCK_NAME: NEW,
        f"{CLAUDE}/demo/SKILL.md": "one", f"{CLAUDE}/demo/scripts/run.sh": "one",
        f"{SHARED}/demo/SKILL.md": "one", f"{SHARED}/demo/scripts/run.sh": "one",
    }  # fmt: skip


@pytest.mark.parametrize("can_exchange", [True, False])
def test_nothing_of_an_old_folder_is_left(
    scope: InstallScope, can_exchange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_exchange:
        monkeypatch.setattr(module, "exchange", lambda *_: False)
    install(scope, "one", OLD, CLAUDE)
    (scope.root / CLAUDE / "demo" / "extra").write_text("of somebody")

    install(scope, "two", NEW, CLAUDE)

    assert content_of(scope.root) == {
        LOCK_NAME: NEW, f"{CLAUDE}/demo/SKILL.md": "two", f"{CLAUDE}/demo/scripts/run.sh": "two",
    }  # fmt: skip


def test_a_folder_is_removed(scope: InstallScope) -> None:
    install(scope, "one", OLD, CLAUDE)

    with exclusive(scope):
        replace_folders(scope, [FolderChange(folder=CLAUDE, name="demo")], NEW)

    assert content_of(scope.root) == {LOCK_NAME: NEW, CLAUDE: "(empty folder)"}


def test_a_link_in_place_of_a_folder_is_replaced_and_not_followed(scope: InstallScope) -> None:
    target = scope.root / "mine"
    target.mkdir()
    (target / "SKILL.md").write_text("mine")
    (scope.root / CLAUDE).mkdir(parents=True)
    (scope.root / CLAUDE / "demo").symlink_to(target)

    install(scope, "one", NEW, CLAUDE)

    found = content_of(scope.root)
    assert found["mine/SKILL.md"] == "mine"
    assert found[f"{CLAUDE}/demo/SKILL.md"] == "one"


def test_an_error_leaves_the_old_state(scope: InstallScope) -> None:
    install(scope, "one", OLD, CLAUDE)
    before = content_of(scope.root)

    def fail(folder: Path) -> None:
        folder.mkdir()
        raise VskillError("the archive is damaged")

    changes = [
        FolderChange(folder=CLAUDE, name="demo", write=write_skill("two")),
        FolderChange(folder=SHARED, name="demo", write=fail),
    ]
    with pytest.raises(VskillError, match="damaged"), exclusive(scope):
        replace_folders(scope, changes, NEW)

    assert content_of(scope.root) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("there", "can_exchange"),
    [
        pytest.param((), True, marks=pytest.mark.torture),
        ((CLAUDE,), True),
        pytest.param((CLAUDE, SHARED), False, marks=pytest.mark.torture),
    ],
)
def test_a_kill_at_any_step_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, there: tuple[str, ...], can_exchange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_exchange:
        monkeypatch.setattr(module, "exchange", lambda *_: False)
    outcomes = []
    step, was_killed = 0, True
    while was_killed:
        root = tmp_path / str(step)
        root.mkdir()
        scope = InstallScope(kind=ScopeKind.PROJECT, root=root, lock=root / LOCK_NAME)
        if there:
            install(scope, "one", OLD, *there)
        before = content_of(root)

        was_killed = killed_at(step, root, lambda: install(scope, "two", NEW, CLAUDE, SHARED))  # noqa: B023 - called at once

        for folder in (CLAUDE, SHARED):  # even before another run looks at it
            whole = {"SKILL.md", "scripts"}
            found = root / folder / "demo"
            if can_exchange or found.exists():
                assert not found.exists() or set(os.listdir(found)) == whole  # noqa: PTH208 - names
            if can_exchange and folder in there:
                assert found.exists()
        with exclusive(scope):
            assert not needs_recovery(scope)
        after = {name: text for name, text in content_of(root).items() if STAGING not in name}
        outcomes.append("old" if after == before else after[LOCK_NAME])
        texts = {text for name, text in after.items() if name.endswith(("SKILL.md", "run.sh"))}
        assert texts == ({"two"} if outcomes[-1] == NEW else {"one"} if there else set())
        step += 1

    assert outcomes == ["old"] * outcomes.count("old") + [NEW] * outcomes.count(NEW)
    assert outcomes.count("old") > 10
    assert outcomes.count(NEW) > 2


@pytest.mark.torture
def test_a_kill_while_undoing_is_undone_by_the_next_run(tmp_path: Path) -> None:
    step, was_killed, before_the_end = 0, True, 0
    while was_killed:
        root = tmp_path / str(step)
        root.mkdir()
        scope = InstallScope(kind=ScopeKind.PROJECT, root=root, lock=root / LOCK_NAME)
        install(scope, "one", OLD, CLAUDE, SHARED)
        before = content_of(root)
        # The last moment before the change is done: everything has to be undone.
        while killed_at(before_the_end, root, lambda: install(scope, "two", NEW, CLAUDE, SHARED)):  # noqa: B023 - called at once
            if (root / LOCK_NAME).read_text() == NEW:
                break
            before_the_end += 1
            with exclusive(scope):
                pass
        assert needs_recovery(scope)

        was_killed = killed_at(step, root, lambda: module.recover(scope))  # noqa: B023 - called at once

        with exclusive(scope):
            pass
        assert content_of(root) == before
        step += 1

    assert step > 5


def test_a_full_disk_is_an_error_that_leaves_the_old_state(scope: InstallScope) -> None:
    install(scope, "one", OLD, CLAUDE)
    before = content_of(scope.root)

    def fill(folder: Path) -> None:
        folder.mkdir()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))

    with pytest.raises(ConfigError, match="No space left"), exclusive(scope):
        replace_folders(scope, [FolderChange(folder=CLAUDE, name="demo", write=fill)], NEW)

    assert content_of(scope.root) == before


def test_files_left_by_a_killed_run_are_deleted_by_the_next_change(scope: InstallScope) -> None:
    install(scope, "one", OLD, CLAUDE)
    left = scope.root / CLAUDE / STAGING / "0123456789abcdef"
    write_skill("left")(left)

    install(scope, "two", NEW, CLAUDE)

    assert not (scope.root / CLAUDE / STAGING).exists()


@pytest.mark.parametrize(
    "journal",
    [
        {"id": "0a", "moves": [{"folder": "..", "name": "outside", "old": 0, "new": 1}]},
        {"id": "0a", "moves": [{"folder": "/etc", "name": "demo", "old": 0, "new": 1}]},
        {"id": "0a", "moves": [{"folder": CLAUDE, "name": "..", "old": 0, "new": 1}]},
        {"id": "../..", "moves": [{"folder": CLAUDE, "name": "demo", "old": 0, "new": 1}]},
        {"id": "0a", "moves": [], "made": ["../outside"]},
    ],
)
def test_the_journal_of_a_hostile_repo_reaches_nothing_outside(
    scope: InstallScope, journal: dict[str, object]
) -> None:
    outside = scope.root.parent / "outside"
    outside.mkdir()
    path = scope.root / f"{LOCK_NAME}.journal"
    path.write_bytes(msgspec.json.encode({"lock": None, **journal}))

    with pytest.raises(InvalidInput), exclusive(scope):
        pass

    assert outside.is_dir()


def test_a_damaged_journal_is_an_error(scope: InstallScope) -> None:
    (scope.root / f"{LOCK_NAME}.journal").write_text("{")

    with pytest.raises(ConfigError, match="damaged"), exclusive(scope):
        pass


def test_a_pipe_in_place_of_a_journal_is_not_waited_for(scope: InstallScope) -> None:
    os.mkfifo(scope.root / f"{LOCK_NAME}.journal")

    with pytest.raises(ConfigError, match="not a regular file"), exclusive(scope):
        pass


def test_a_staging_folder_that_is_a_link_is_not_followed(scope: InstallScope) -> None:
    outside = scope.root.parent / "outside"
    outside.mkdir()
    (outside / "kept").write_text("mine")
    (scope.root / CLAUDE).mkdir(parents=True)
    (scope.root / CLAUDE / STAGING).symlink_to(outside)

    with pytest.raises(InvalidInput, match="is a link"):
        install(scope, "one", NEW, CLAUDE)

    assert content_of(outside) == {"kept": "mine"}


def test_a_second_run_waits_for_the_first(scope: InstallScope) -> None:
    told: list[str] = []
    waits = threading.Event()

    def report_waiting() -> None:
        told.append("waits")
        waits.set()

    def run_second() -> None:
        with exclusive(scope, on_wait=report_waiting):
            told.append("runs")

    second = threading.Thread(target=run_second)
    with exclusive(scope):
        second.start()
        assert waits.wait(20)
        told.append("first ends")
    second.join()

    assert told == ["waits", "first ends", "runs"]
