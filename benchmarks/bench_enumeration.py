"""`enumerate_published_skills` over 100,000 skills compared with one raw SELECT, on SQLite.

The limit is the driver alone: one range query over the same table on one connection, in the
calling thread, with every row turned into the same summary by the same function. Ours lists the
keys in pages and reads every record separately, so a damaged record affects only itself.
"""

import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.report import (
    Sample,
    amount,
    duration,
    interleave,
    print_note,
    print_table,
    print_title,
    print_verdict,
    ratio,
    scratch,
)
from benchmarks.sample_records import a_skill, worker_env
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import ABSENT
from vskill_platform.engines.ports import Engine
from vskill_platform.model.skill import PublishedSkillSummary
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.skill_store import _summarise, enumerate_published_skills, write_skill

SKILLS = 100_000
A_COMMIT = 10_000
REPETITIONS = amount(7, quick=3)
TARGET = 2
RAW = "SELECT key, value FROM kv WHERE key >= 'skill:' AND key < 'skill;' ORDER BY key"

Enumerate = Callable[[], Awaitable[list[PublishedSkillSummary]]]


async def fill(engine: Engine) -> None:
    for first in range(0, SKILLS, A_COMMIT):
        skills = (a_skill(number) for number in range(first, first + A_COMMIT))
        assert await engine.commit([write_skill(skill, expected=ABSENT) for skill in skills])


def ours(engine: Engine) -> Enumerate:
    async def enumerate_all() -> list[PublishedSkillSummary]:
        return await run_with_worker_env(worker_env(engine), enumerate_published_skills)

    return enumerate_all


def raw_select(path: Path) -> Enumerate:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA cache_size = -32000")  # as much as ours has

    async def enumerate_all() -> list[PublishedSkillSummary]:
        rows = (_summarise(key, value) for key, value in connection.execute(RAW))
        return [row for row in rows if row]

    return enumerate_all


async def measure(path: Path) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
    """Return how long each took, and how much CPU time, which busy neighbours distort less."""
    engine = await open_engine(f"sqlite:///{path}")
    await fill(engine)
    contenders = raw_select(path), ours(engine)
    listed, found = [await contender() for contender in contenders]
    assert len(found) == SKILLS
    assert found == listed
    del listed, found
    took = await interleave(REPETITIONS, *contenders)
    used = await interleave(REPETITIONS, *contenders, clock=time.process_time)
    await engine.close()
    return took, used


async def main() -> None:
    print_title(
        f"Enumeration: {SKILLS:,} published skills against one raw SELECT, SQLite",
        f"≤ {ratio(TARGET)} the time, with the same decoding",
    )
    with scratch() as folder:
        (raw, our), (raw_cpu, our_cpu) = await measure(folder / "skills.db")
    # The best of each: busy neighbours make some turns slower, and none faster.
    slower, hungrier = our.best / raw.best, our_cpu.best / raw_cpu.best
    print_table(
        ("", "all of them", "a skill", "ratio", "CPU time", "ratio"),
        [
            ("one raw SELECT", raw, _each(raw), ratio(1), raw_cpu, ratio(1)),
            (
                enumerate_published_skills.__name__,
                *(our, _each(our), ratio(slower)),
                *(our_cpu, ratio(hungrier)),
            ),
        ],
    )
    print_note("the raw SELECT reads in the calling thread and fails as a whole on one bad record")
    print_verdict(
        "against the raw SELECT",
        ours=duration(our.best),
        other=f"raw SELECT {duration(raw.best)}",
        figure=f"{ratio(slower)} the time, {ratio(hungrier)} the processor time",
        target=f"both ≤ {ratio(TARGET)}",
        is_reached=max(slower, hungrier) <= TARGET,
    )


def _each(sample: Sample) -> str:
    return duration(sample.median / SKILLS)


if __name__ == "__main__":
    uvloop.run(main())
