"""The folder in which the processes of a node add up their metrics."""

import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from vskill_platform.base.metrics import added_up_metrics


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # Also restores it after the test.
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")


def a_folder_of_another_server(parent: Path, name: str) -> Path:
    folder = parent / f"vskill-metrics-{name}"
    folder.mkdir()
    (folder / "lock").touch()
    return folder


def test_the_folder_exists_while_the_server_runs(tmp_path: Path) -> None:
    with added_up_metrics():
        used = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        assert list(tmp_path.iterdir()) == [used]

    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_server_that_was_killed_is_removed(tmp_path: Path) -> None:
    killed = a_folder_of_another_server(tmp_path, "killed")

    with added_up_metrics():
        assert not killed.exists()


def test_the_folder_of_a_server_that_runs_stays(tmp_path: Path) -> None:
    running = a_folder_of_another_server(tmp_path, "running")

    with (running / "lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with added_up_metrics():
            assert running.exists()


def test_a_server_does_not_remove_the_folder_of_another_one(tmp_path: Path) -> None:
    with added_up_metrics():
        first = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        with added_up_metrics():
            assert first.exists()
