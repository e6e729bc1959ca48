"""Finding 100 stuck submissions among 1,000,000 compared with 1,000, on SQLite or PostgreSQL.

    python benchmarks/bench_stuck_detection.py [sqlite|postgres]

A record has a due date, and the index contains only records that can become due: the time should
depend on the number of stuck records, not of all records. In both stores the stuck ones are
spread over all keys, one in a hundred of the others is in progress, and the rest are finished.
"""

import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.report import (
    Sample,
    amount,
    duration,
    interleave,
    less_than_claimed,
    print_note,
    print_table,
    print_title,
    print_verdict,
    ratio,
    scratch,
    timed,
)
from benchmarks.sample_records import LONG_AGO, NOW, a_submission, worker_env
from tests.postgres_server import an_own_server
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import ABSENT
from vskill_platform.engines.ports import Engine
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.db import commit
from vskill_platform.stores.submission_store import get_stuck_submissions, write_submission

CLAIMED = 1_000_000
FEW, MANY = 1_000, amount(CLAIMED, quick=100_000)
STUCK = 100
ACTIVE_IN = 100
A_COMMIT = 10_000
REPETITIONS = 30
TARGET = 2


class Store(msgspec.Struct, frozen=True):
    url: str
    built_in: float


def submission(number: int, *, count: int) -> Submission:
    if number % (count // STUCK) == 0:
        return a_submission(number, updated_at=LONG_AGO)
    if number % ACTIVE_IN == 1:
        return a_submission(number, state=SubmissionState.TIER1_SCANNING, updated_at=NOW)
    return a_submission(number, state=SubmissionState.PUBLISHED, updated_at=LONG_AGO)


@contextmanager
def two_databases(kind: str) -> Iterator[tuple[str, str]]:
    """Yield the URLs of two empty databases."""
    with scratch() as folder:
        if kind == "sqlite":
            yield f"sqlite:///{folder}/few.db", f"sqlite:///{folder}/many.db"
            return
        with an_own_server(folder, shared_buffers="128MB") as server:
            yield f"{server.url}&schema=few", f"{server.url}&schema=many"


async def build(url: str, count: int) -> Store:
    started = time.perf_counter()
    engine = await open_engine(url)
    await run_with_worker_env(worker_env(engine), partial(_fill, count))
    await engine.close()
    return Store(url, time.perf_counter() - started)


async def _fill(count: int) -> None:
    for first in range(0, count, A_COMMIT):
        numbers = range(first, min(first + A_COMMIT, count))
        operations = [
            write
            for number in numbers
            for write in write_submission(submission(number, count=count), [], expected=ABSENT)
        ]
        assert await commit(operations) is not None


def detect(engine: Engine) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        found = await run_with_worker_env(worker_env(engine), partial(get_stuck_submissions, NOW))
        assert len({stuck.id for stuck in found}) == STUCK

    return run


async def measure(few: Store, many: Store) -> tuple[list[float], tuple[Sample, ...]]:
    """Return how long the first look after opening takes, then how long later ones do."""
    engines = [await open_engine(store.url) for store in (few, many)]
    first = [await timed(detect(engine)) for engine in engines]
    later = await interleave(REPETITIONS, *map(detect, engines))
    for engine in engines:
        await engine.close()
    return first, later


async def main(kind: str = "sqlite") -> None:
    print_title(
        f"Stuck detection: {STUCK} stuck among {MANY:,} against {STUCK} among {FEW:,}, {kind}",
        f"≤ {ratio(TARGET)} the time",
    )
    with two_databases(kind) as (few_url, many_url):
        few = await build(few_url, FEW)
        many = await build(many_url, MANY)
        (few_first, many_first), (few_later, many_later) = await measure(few, many)
        print_table(
            ("get_stuck_submissions", f"of {FEW:,}", f"of {MANY:,}", "ratio"),
            [
                ("again and again", few_later, many_later, _ratio(many_later, few_later)),
                ("first look after opening", duration(few_first), duration(many_first), ""),
                ("the database was built in", duration(few.built_in), duration(many.built_in), ""),
            ],
        )
    print_note("the first look finds the files in the cache of the operating system")
    growth = many_later.median / few_later.median
    print_verdict(
        f"{MANY // FEW:,} times the submissions",
        ours=f"{MANY:,} {duration(many_later.median)}",
        other=f"{FEW:,} {duration(few_later.median)}",
        figure=f"{ratio(growth)} the time",
        target=f"≤ {ratio(TARGET)}",
        is_reached=growth <= TARGET,
        less=less_than_claimed(MANY, CLAIMED, "submissions"),
    )


def _ratio(large: Sample, small: Sample) -> str:
    return ratio(large.median / small.median)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
