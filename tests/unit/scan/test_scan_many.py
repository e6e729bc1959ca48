"""Scanning many skills: in order, independently, and unreadable ones are never verified."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from vskill_platform.base.worker_pool import Bounds
from vskill_platform.model.verdict import Verdict
from vskill_platform.scan.scan_many import ScanTarget, scan_many
from vskill_platform.scan.scan_skill import ScanResult, scan_skill


def targets_in(parent: Path, *names: str) -> list[ScanTarget]:
    return [
        ScanTarget(path=name, folder=a_skill_folder(parent, name), folder_name=name)
        for name in names
    ]


def scan_with_traps(folder: Path, folder_name: str | None) -> ScanResult:
    """A scanner that a file makes hang or crash."""
    if (folder / "hang").exists():
        time.sleep(600)
    if (folder / "die").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return scan_skill(folder, folder_name)


def test_skills_come_back_in_order_with_what_was_found(tmp_path: Path) -> None:
    targets = targets_in(tmp_path, "zebra", "ant", "mole", "bee")

    scanned = list(scan_many(targets, jobs=2))

    assert [one.target.path for one in scanned] == ["zebra", "ant", "mole", "bee"]
    for one, target in zip(scanned, targets, strict=True):
        assert one.result is not None
        assert one.result.verdict is Verdict.PASS
        assert one.result.manifest is not None
        assert one.result.manifest.name == target.folder_name


@pytest.mark.parametrize(
    ("trap", "reason"),
    [("hang", "it took longer than 5 seconds"), ("die", "the process ended with SIGKILL")],
)
def test_a_hostile_skill_is_not_verified_and_the_others_are(
    tmp_path: Path, trap: str, reason: str
) -> None:
    targets = targets_in(tmp_path, "one", "two", "three", "four", "five")
    (targets[1].folder / trap).touch()

    # The others need a hundredth of it, but the machine may be busy with other tests.
    scanned = list(scan_many(targets, jobs=2, scan=scan_with_traps, bounds=Bounds(seconds=5.0)))

    assert [one.error for one in scanned] == ["", reason, "", "", ""]
    assert [one.result is None for one in scanned] == [False, True, False, False, False]


def test_a_skill_that_could_not_be_fetched_keeps_its_position(tmp_path: Path) -> None:
    first, last = targets_in(tmp_path, "first", "last")
    gone = ScanTarget(path="gone", folder=Path(), error="git could not reach the repo")

    scanned = list(scan_many([first, gone, last], jobs=2))

    assert [one.target.path for one in scanned] == ["first", "gone", "last"]
    assert scanned[1].result is None
    assert scanned[1].error == "git could not reach the repo"


def test_workers_find_all_tables_loaded(tmp_path: Path) -> None:
    # In its own process: here, other tests have loaded them already.
    program = """
import sys, tomllib
from pathlib import Path
from vskill_platform.scan.scan_many import load_tables
from vskill_platform.scan.scan_skill import scan_skill
load_tables()
tomllib.loads = None
print(scan_skill(Path(sys.argv[1]), None).verdict)
"""
    folder = a_skill_folder(tmp_path, "plain")

    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], check=True, capture_output=True, text=True
    )

    assert done.stdout.strip() == Verdict.PASS
