"""Concurrent reads compared with sequential ones, on a store whose every answer takes 5 ms.

`get_stuck_submissions` and `enumerate_published_skills` over 10, 1,000 and 10,000 records, compared
with a plain loop that awaits each record before the next: the time, and the peak memory in addition
to the result. Then `settle` itself, compared with one task per key behind a semaphore.
"""

import asyncio
import gc
import sys
import tracemalloc
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.report import (
    Sample,
    amount,
    duration,
    interleave,
    megabytes,
    print_note,
    print_table,
    print_title,
    print_verdict,
    ratio,
    timed,
)
from benchmarks.sample_records import LONG_AGO, NOW, a_skill, a_submission, worker_env
from vskill_platform.base.settle import READS_AT_ONCE, settle
from vskill_platform.engines.ports import Engine, Entry, KeyPage
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.submission import STUCK_THRESHOLD, Submission, is_stuck
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.records import encode, get_record, list_all_keys
from vskill_platform.stores.skill_store import enumerate_published_skills
from vskill_platform.stores.submission_store import get_stuck_submissions

ANSWER_SECONDS = 0.005
SIZES = (10, 1_000, 10_000)
#: One by one, more than these would take minutes: the rest is computed from them.
SLICE = amount(1_000, quick=200)
REPETITIONS = amount(5, quick=2)
SETTLE_KEYS = amount(100_000, quick=20_000)
TARGET = 50
#: Memory counts as flat if ten times the records cost less than this many times as much.
FLAT = 1.5

STUCK, SKILLS = "get_stuck_submissions", "enumerate_published_skills"

Work = Callable[[], Awaitable[Sequence[Any]]]


class Comparison(msgspec.Struct, frozen=True):
    name: str
    count: int
    loop_seconds: float
    ours: Sample

    @property
    def faster(self) -> float:
        return self.loop_seconds / self.ours.median

    @property
    def loop(self) -> str:
        return f"{'~ ' if self.count > SLICE else ''}{duration(self.loop_seconds)}"


class SlowStore:
    """Records in a dict that answer as a store far away would."""

    def __init__(self, records: Mapping[str, bytes]) -> None:
        self._records = records
        self._keys = sorted(records)

    async def get(self, key: str) -> Entry | None:
        await asyncio.sleep(ANSWER_SECONDS)
        return Entry(self._records[key], 1)

    async def get_many(self, keys: Sequence[str]) -> list[Entry | None]:
        await asyncio.sleep(ANSWER_SECONDS)
        return [Entry(self._records[key], 1) for key in keys]

    async def list_keys(
        self,
        prefix: str,
        *,
        after: str | None = None,
        limit: int = 1000,
        due_before: datetime | None = None,  # noqa: ARG002 - no record says when it is due
        newest_first: bool = False,  # noqa: ARG002 - nobody asks
    ) -> KeyPage:
        await asyncio.sleep(ANSWER_SECONDS)
        assert self._keys[0].startswith(prefix)
        first = int(after or 0)
        keys = self._keys[first : first + limit]
        return KeyPage(keys, str(first + limit) if first + limit < len(self._keys) else None)

    async def find_marked(
        self,
        words: Sequence[str],
        *,
        limit: int = 1000,  # noqa: ARG002 - no record has a mark
        last_first: bool = False,  # noqa: ARG002 - nobody asks
    ) -> list[list[str]]:
        await asyncio.sleep(ANSWER_SECONDS)
        return [[] for _ in words]


async def stuck_at_once() -> Sequence[Any]:
    return await get_stuck_submissions(NOW)


async def stuck_one_by_one() -> Sequence[Any]:
    found = []
    for key in await list_all_keys("sub:", due_before=NOW):
        stored = await get_record(key, Submission)
        if stored and is_stuck(stored.record, now=NOW, stuck_threshold=STUCK_THRESHOLD):
            found.append(stored.record)
    return found


async def skills_one_by_one() -> Sequence[Any]:
    found = []
    for key in await list_all_keys("skill:"):
        stored = await get_record(key, PublishedSkill)
        if stored:
            found.append(stored.record)
    return found


CONTENDERS: Mapping[str, tuple[Work, Work]] = {
    STUCK: (stuck_at_once, stuck_one_by_one),
    SKILLS: (enumerate_published_skills, skills_one_by_one),
}


def submissions(count: int) -> Engine:
    made = (a_submission(number, updated_at=LONG_AGO) for number in range(count))
    return _engine({f"sub:{submission.id}": encode(submission) for submission in made})


def skills(count: int) -> Engine:
    made = (a_skill(number) for number in range(count))
    return _engine({f"skill:{skill.slug}": encode(skill) for skill in made})


def _engine(records: Mapping[str, bytes]) -> Engine:
    return cast("Engine", SimpleNamespace(kv=SlowStore(records)))


def on(engine: Engine, work: Work, *, count: int) -> Callable[[], Awaitable[None]]:
    """Bind *work* to a store, and check that it found all that is there."""

    async def run() -> None:
        found = await run_with_worker_env(worker_env(engine), work)
        assert len(found) == count

    return run


async def compare(name: str, make: Callable[[int], Engine], count: int) -> Comparison:
    ours, loop = CONTENDERS[name]
    sliced = min(count, SLICE)
    fast = on(make(count), ours, count=count)
    slow = on(make(sliced), loop, count=sliced)
    if count < SLICE:
        ours_took, loop_took = await interleave(REPETITIONS, fast, slow)
    else:
        (ours_took,) = await interleave(REPETITIONS, fast)
        loop_took = Sample((await timed(slow),))
    return Comparison(name, count, loop_took.median * count / sliced, ours_took)


async def peak_beyond_result(work: Callable[[], Awaitable[Any]]) -> int:
    """Return how many bytes were in use at the worst moment, less those of the result."""
    gc.collect()
    tracemalloc.start()
    result = await work()
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return peak - kept


async def compare_reads() -> None:
    print_title(
        "Settled reads: many at once against one by one, 5 ms an answer",
        f"≥ {ratio(TARGET)} faster at {SIZES[-1]:,} keys, peak memory flat in N beyond the result",
    )
    found = [
        await compare(name, make, count)
        for name, make in ((STUCK, submissions), (SKILLS, skills))
        for count in SIZES
    ]
    print_table(
        ("function", "keys", "one by one", "ours", "faster"),
        [(row.name, f"{row.count:,}", row.loop, row.ours, ratio(row.faster)) for row in found],
    )
    print_note(f"one by one beyond {SLICE:,} keys: {SLICE:,} were measured and scaled (marked ~)")
    worst = min((row for row in found if row.count == SIZES[-1]), key=lambda row: row.faster)
    print_verdict(
        f"at {SIZES[-1]:,} keys",
        ours=duration(worst.ours.median),
        other=f"one by one {worst.loop}",
        figure=f"{ratio(worst.faster)} faster",
        target=f"≥ {ratio(TARGET)}",
        is_reached=worst.faster >= TARGET,
        less=f"one by one scaled from {SLICE:,} keys",
    )


async def compare_memory() -> None:
    rows = []
    for name, make in ((STUCK, submissions), (SKILLS, skills)):
        ours, _ = CONTENDERS[name]
        small, large = [
            await peak_beyond_result(partial(run_with_worker_env, worker_env(make(count)), ours))
            for count in SIZES[1:]
        ]
        rows.append((name, megabytes(small), megabytes(large), large / small))
    print_table(
        ("peak memory beyond the result", f"{SIZES[1]:,} keys", f"{SIZES[2]:,} keys", "growth"),
        [(name, small, large, ratio(growth)) for name, small, large, growth in rows],
    )
    _, less, more, growth = max(rows, key=lambda row: row[-1])
    print_verdict(
        "ten times the keys",
        ours=f"{SIZES[2]:,} keys {more}",
        other=f"{SIZES[1]:,} keys {less}",
        figure=f"{ratio(growth)} the memory",
        target=f"flat (< {ratio(FLAT)})",
        is_reached=growth < FLAT,
    )


async def look(key: int) -> int:
    await asyncio.sleep(0)
    return key


async def settled() -> Sequence[Any]:
    return await settle(look, range(SETTLE_KEYS))


async def task_per_key() -> Sequence[Any]:
    gate = asyncio.Semaphore(READS_AT_ONCE)

    async def guarded(key: int) -> int:
        async with gate:
            return await look(key)

    return await asyncio.gather(*map(guarded, range(SETTLE_KEYS)), return_exceptions=True)


async def compare_settle() -> None:
    ours, theirs = await interleave(REPETITIONS, settled, task_per_key)
    our_peak, their_peak = [await peak_beyond_result(work) for work in (settled, task_per_key)]
    assert await settled() == await task_per_key() == list(range(SETTLE_KEYS))
    print_table(
        (f"settle, {SETTLE_KEYS:,} keys, {READS_AT_ONCE:,} at once", "time", "peak beyond result"),
        [
            ("ours: settle", ours, megabytes(our_peak)),
            ("a task per key behind a semaphore", theirs, megabytes(their_peak)),
            ("ratio", ratio(theirs.median / ours.median), ratio(their_peak / our_peak)),
        ],
    )


async def main() -> None:
    await compare_reads()
    await compare_memory()
    await compare_settle()


if __name__ == "__main__":
    uvloop.run(main())
