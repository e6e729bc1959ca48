"""The check runs in a separate process; if it breaks, the skill is not verified."""

import asyncio
import os
import time
from pathlib import Path

import pytest
from anyio import CapacityLimiter

from tests.casts import a_skill_folder
from vskill_platform.base.killable_process import MAX_MEMORY_BYTES
from vskill_platform.errors import ScanError
from vskill_platform.scan import check_skill as check_module
from vskill_platform.scan.check_skill import check_skill
from vskill_platform.scan.read import limits
from vskill_platform.scan.scan_skill import ScanResult, scan_skill

pytestmark = pytest.mark.usefixtures("one_loop")


def die(_folder: Path, _name: str | None) -> ScanResult:
    os._exit(1)


def exhaust_memory(_folder: Path, _name: str | None) -> ScanResult:
    raise AssertionError(len(bytearray(2 * MAX_MEMORY_BYTES)))


def hang(folder: Path, _name: str | None) -> ScanResult:
    (folder / "started").write_text(str(os.getpid()))
    while True:
        time.sleep(1)


async def test_a_good_skill_passes(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)

    result = await check_skill(folder, folder_name="tidy-notes", slots=CapacityLimiter(1))

    assert result.findings == ()
    assert result.manifest is not None
    assert result.manifest.name == "tidy-notes"


@pytest.mark.parametrize("breaking", [die, exhaust_memory])
async def test_a_checker_that_breaks_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, breaking: object
) -> None:
    monkeypatch.setattr(check_module, "scan_skill", breaking)

    with pytest.raises(ScanError, match="the check failed"):
        await check_skill(tmp_path, folder_name=None, slots=CapacityLimiter(1))


async def test_a_checker_that_hangs_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_module, "scan_skill", hang)
    check = asyncio.create_task(check_skill(tmp_path, folder_name=None, slots=CapacityLimiter(1)))
    while not (tmp_path / "started").exists() or not (tmp_path / "started").read_text():
        assert not check.done()
        await asyncio.sleep(0.01)

    check.cancel()
    with pytest.raises(asyncio.CancelledError):
        await check

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "started").read_text()), 0)


@pytest.mark.parametrize(
    ("limit", "value", "complaint"),
    [
        ("MAX_SKILL_FILES", 2, "There are 3 files"),
        ("MAX_FILE_BYTES", 150, "big.bin has 200 bytes"),
        ("MAX_SKILL_BYTES", 200, "All files have"),
        ("MAX_PATH_BYTES", 8, "A path has more than 8 bytes"),
    ],
)
def test_a_skill_that_is_too_large_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, complaint: str
) -> None:
    folder = a_skill_folder(tmp_path, big_dot_bin="x" * 200, longer_name_dot_md="y")
    monkeypatch.setattr(limits, limit, value)

    result = scan_skill(folder, None)

    assert any(complaint in finding.message for finding in result.findings)
