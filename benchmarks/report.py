"""Shared by all benchmarks: a folder on a real disk, repeated timing, and printing."""

import os
import platform
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import apsw
import msgspec

#: Not /tmp, which is often kept in memory: a queue is only as fast as a disk lets it be.
_SCRATCH = Path("/var/tmp")  # noqa: S108 - the folder made in it is private
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
#: Set by benchmarks/quick.py: measure with less, and add each claim to this file.
_CLAIMS = os.environ.get("VSKILL_BENCH_CLAIMS")
#: From here on, digits behind the point would be noise.
_NO_POINT = 10


class Claim(msgspec.Struct, frozen=True):
    """One number that we claim, as it was measured."""

    what: str
    figure: str
    target: str
    is_reached: bool
    #: What the figure is made of, where it compares two: ours, and the peer's or the limit.
    ours: str = ""
    other: str = ""
    #: What it was measured with, if that is less than the claim is about.
    less: str = ""


class Sample(msgspec.Struct, frozen=True):
    """The same thing measured several times."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        return min(self.seconds)

    def percentile(self, percent: int) -> float:
        return statistics.quantiles(self.seconds, n=100, method="inclusive")[percent - 1]

    def __str__(self) -> str:
        if len(self.seconds) == 1:
            return duration(self.median)
        fastest, slowest = duration(min(self.seconds)), duration(max(self.seconds))
        return f"{duration(self.median)} ({fastest} … {slowest})"


def amount(full: int, quick: int) -> int:
    """Return how much to measure with: less if only the quick part was asked for."""
    return quick if _CLAIMS else full


@contextmanager
def scratch() -> Iterator[Path]:
    """Give an empty folder on a disk that keeps what it was told, gone afterwards."""
    kind, device = file_system(_SCRATCH)
    if kind in _IN_MEMORY:
        raise SystemExit(f"{_SCRATCH} lies on {kind} ({device}): nothing is durable there")
    with tempfile.TemporaryDirectory(prefix="vskill-bench-", dir=_SCRATCH) as folder:
        yield Path(folder)


async def interleave(
    repetitions: int,
    *contenders: Callable[[], Awaitable[Any]],
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[Sample, ...]:
    """Time the contenders in turns, so that noise hits all; the first turn only warms up."""
    turns = [
        [await timed(contender, clock=clock) for contender in contenders]
        for _ in range(repetitions + 1)
    ]
    return tuple(Sample(column) for column in zip(*turns[1:], strict=True))


async def timed(
    work: Callable[[], Awaitable[Any]], *, clock: Callable[[], float] = time.perf_counter
) -> float:
    started = clock()
    await work()
    return clock() - started


def print_title(title: str, claim: str) -> None:
    kind, device = file_system(_SCRATCH)
    print(f"\n{title}\n{'=' * len(title)}")
    print(f"claim: {claim}")
    print(
        f"on:    {os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"{kind} on {device}; Python {platform.python_version()}, "
        f"SQLite {apsw.sqlite_lib_version()} (Python's own {sqlite3.sqlite_version}), "
        f"uvloop {version('uvloop')}"
    )


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print the rows under their head; all columns but the first are right-aligned."""
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    print()
    for number, row in enumerate(cells):
        first, *rest = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        right = (cell.strip().rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        print("  " + "   ".join([first, *right]).rstrip())
        if number == 0:
            print("  " + "   ".join("-" * width for width in widths))


def print_note(text: str) -> None:
    print(f"  {text}")


def print_verdict(  # noqa: PLR0913 - each is a column of the table
    what: str,
    *,
    figure: str,
    target: str,
    is_reached: bool,
    ours: str = "",
    other: str = "",
    less: str = "",
) -> None:
    print(f"  -> {what}: {figure}; target {target}: {'reached' if is_reached else 'MISSED'}")
    if _CLAIMS:
        claim = Claim(what, figure, target, is_reached, ours=ours, other=other, less=less)
        with Path(_CLAIMS).open("ab") as claims:
            claims.write(msgspec.json.encode(claim) + b"\n")


def less_than_claimed(measured: int, claimed: int, of: str) -> str:
    """Say what was measured with, if the claim is about more."""
    return f"with {measured:,} of {claimed:,} {of}" if measured < claimed else ""


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds / 1e-6)} µs"


def ratio(figure: float) -> str:
    return f"{_digits(figure)}×"  # noqa: RUF001 - the sign for times is meant


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s"


def megabytes(size: float) -> str:
    return f"{size / 1e6:,.2f} MB"


def _digits(figure: float) -> str:
    if figure >= _NO_POINT:
        return f"{figure:,.0f}"
    return f"{figure:.2f}".rstrip("0").rstrip(".")


def file_system(folder: Path) -> tuple[str, str]:
    """Return the kind and the device of the file system that *folder* lies on."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "unknown file system", "unknown device"
    kind, device, best = "", "", ""
    for line in mounts.read_text(encoding="utf-8").splitlines():
        source, point, name, *_ = line.split()
        if folder.is_relative_to(point) and len(point) >= len(best):
            kind, device, best = name, source, point
    return kind, device
