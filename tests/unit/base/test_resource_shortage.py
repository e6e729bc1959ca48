"""A machine that is out of a resource, distinguished from a skill that needs too much."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cases import all_cases
from vskill_platform.base.resource_shortage import (
    ROOM_BYTES,
    is_machine_short,
    is_shortage,
    means_disk_full,
    measure_space,
)

FULL = SimpleNamespace(f_bavail=0, f_frsize=4096, f_files=1000, f_favail=100)
NO_FILES = SimpleNamespace(f_bavail=ROOM_BYTES, f_frsize=4096, f_files=1000, f_favail=0)
ROOMY = SimpleNamespace(f_bavail=ROOM_BYTES, f_frsize=4096, f_files=1000, f_favail=100)
ENDLESS = SimpleNamespace(f_bavail=ROOM_BYTES, f_frsize=4096, f_files=0, f_favail=0)


def an_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@all_cases(
    ("number", "expected"),
    [
        (errno.ENOSPC, True),
        (errno.EDQUOT, True),
        (errno.EMFILE, True),
        (errno.ENFILE, True),
        (errno.ENOMEM, True),
        (errno.EIO, True),
        (errno.EROFS, True),
        (errno.ESTALE, True),
        (errno.ENOENT, False),
        (errno.EACCES, False),
    ],
    ids=errno.errorcode.get,
)
def test_a_shortage_is_known_by_its_number(number: int, *, expected: bool) -> None:
    assert is_shortage(an_error(number)) is expected


@pytest.mark.parametrize(
    ("disk", "expected"), [(FULL, True), (NO_FILES, True), (ROOMY, False), (ENDLESS, False)]
)
def test_a_full_disk_that_is_not_full_without_the_skill_is_the_skills_fault(
    monkeypatch: pytest.MonkeyPatch, disk: SimpleNamespace, *, expected: bool
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: disk)

    assert is_machine_short(an_error(errno.ENOSPC)) is expected
    assert means_disk_full("fatal: write error: No space left on device") is expected


def test_no_descriptors_are_never_the_skills_fault() -> None:
    assert is_machine_short(an_error(errno.EMFILE))
    assert is_machine_short(an_error(errno.EROFS))
    assert not is_machine_short(an_error(errno.ENOENT))
    assert not is_machine_short(ValueError())


def test_other_complaints_say_nothing_of_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: FULL)

    assert not means_disk_full("fatal: repository not found")


@pytest.mark.parametrize(
    ("total", "reserve"), [(20 * 1024**2, 1024**2), (1024**4, 64 * 1024**2)], ids=["small", "large"]
)
def test_a_disk_keeps_a_reserve_that_fits_its_size(
    monkeypatch: pytest.MonkeyPatch, total: int, reserve: int
) -> None:
    disk = SimpleNamespace(f_frsize=4096, f_blocks=total // 4096, f_bavail=5)
    monkeypatch.setattr(os, "statvfs", lambda _: disk)

    space = measure_space(Path("/"))

    assert (space.free, space.reserve) == (5 * 4096, reserve)


@pytest.mark.parametrize(("free", "is_full"), [(1024**2 - 1, True), (1024**2, False)])
def test_a_disk_is_full_if_only_small_writes_fit(
    monkeypatch: pytest.MonkeyPatch, free: int, *, is_full: bool
) -> None:
    disk = SimpleNamespace(f_frsize=1, f_blocks=1024**3, f_bavail=free)
    monkeypatch.setattr(os, "statvfs", lambda _: disk)

    assert measure_space(Path("/")).is_full is is_full
