"""The cost of reading the queue with 100,000 pending submissions and with 1,000, on SQLite."""

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.report import (
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
)
from benchmarks.sample_records import NOW, a_submission, worker_env
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import ABSENT, Release
from vskill_platform.engines.ports import Engine
from vskill_platform.queue.health import check_health
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.db import commit, get_queue, get_settings
from vskill_platform.stores.submission_messages import queue_submission
from vskill_platform.stores.submission_store import write_submission

CLAIMED = 100_000
FEW, MANY = 1_000, amount(CLAIMED, quick=20_000)
A_COMMIT = 5_000
REPETITIONS = 30
TARGET = 2

Look = Callable[[str], Awaitable[Any]]


async def pend(count: int) -> str:
    """Queue so many submissions; return the id of the last."""
    last = ""
    for first in range(0, count, A_COMMIT):
        operations = []
        for number in range(first, min(first + A_COMMIT, count)):
            one = a_submission(number, updated_at=NOW)
            operations += write_submission(one, [], expected=ABSENT)
            operations.append(queue_submission(one, group="flood"))
            last = one.id
        assert await commit(operations) is not None
    return last


async def receive_one(_: str) -> None:
    (delivery,) = await get_queue().receive(1, lease=get_settings().lease)
    assert await commit([Release(delivery)]) is not None


LOOKS: dict[str, Look] = {
    "check_health": lambda _: check_health(),
    "position of the last": lambda last: get_queue().position(last),
    "receive and release": receive_one,
}


def bound(engine: Engine, look: Look, last: str) -> Callable[[], Awaitable[Any]]:
    return partial(run_with_worker_env, worker_env(engine), partial(look, last))


async def main() -> None:
    print_title(
        f"Looking at a queue with {MANY:,} pending against {FEW:,}, SQLite",
        f"≤ {ratio(TARGET)} the time",
    )
    with scratch() as folder:
        engines = [await open_engine(f"sqlite:///{folder / name}.db") for name in ("few", "many")]
        lasts = [
            await run_with_worker_env(worker_env(engine), partial(pend, count))
            for engine, count in zip(engines, (FEW, MANY), strict=True)
        ]
        rows, growths = [], []
        for name, look in LOOKS.items():
            few, many = await interleave(
                REPETITIONS,
                *(bound(engine, look, last) for engine, last in zip(engines, lasts, strict=True)),
            )
            growths.append((many.median / few.median, name, few, many))
            rows.append((name, few, many, ratio(many.median / few.median)))
        for engine in engines:
            await engine.close()
    print_table(("", f"{FEW:,} pending", f"{MANY:,} pending", "ratio"), rows)
    print_note("places are counted up to 1,000, so the last of 1,000 is as far as counting goes")
    growth, slowest, few, many = max(growths, key=lambda found: found[0])
    print_verdict(
        f"{MANY // FEW} times as many pending; most in {slowest}",
        ours=f"{MANY:,} {duration(many.median)}",
        other=f"{FEW:,} {duration(few.median)}",
        figure=f"{ratio(growth)} the time",
        target=f"≤ {ratio(TARGET)}",
        is_reached=growth <= TARGET,
        less=less_than_claimed(MANY, CLAIMED, "pending"),
    )


if __name__ == "__main__":
    uvloop.run(main())
