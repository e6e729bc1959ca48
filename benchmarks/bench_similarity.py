"""Finding the original of a copy among 100,000 published skills compared with 1,000, on SQLite.

Similar skills share marks, and a lookup lists the keys of its own marks: the time should depend on
the number of similar skills, not of all skills. The published skills use words with the frequencies
of real ones, including phrases that nearly every skill has, and contain five near copies of
the skill that is looked up. Measuring a skill is timed too, for a typical and the longest text.
"""

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from itertools import accumulate
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
    megabytes,
    print_note,
    print_table,
    print_title,
    print_verdict,
    ratio,
    scratch,
)
from benchmarks.sample_records import NOW, worker_env
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.ports import Engine
from vskill_platform.model.similarity import SkillSketch, sketch_words
from vskill_platform.publish.versions.compare_skill import (
    ComparedSkill,
    find_similar,
    find_similar_names,
)
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.scan.sketch_skill import MAX_WORDS, words_of
from vskill_platform.stores.db import commit
from vskill_platform.stores.similarity_store import SimilarityRecord, write_similarity_record

CLAIMED = 100_000
FEW, MANY = 1_000, amount(CLAIMED, quick=10_000)
COPIES = 5
A_COMMIT = 5_000
REPETITIONS = 30
TARGET = 2
#: The median SKILL.md of public collections has about so many words.
USUAL_WORDS = 900
MEASURE_TARGET = 0.002
_BOILERPLATE = ["use", "this", "skill", "when", "the", "user", "asks", "for", "help", "with"]
_VOCABULARY = [f"word{number}" for number in range(8_000)]
_WEIGHTS = list(accumulate(1 / (number + 10) for number in range(8_000)))
_STEMS = ("pdf", "git", "note", "mail", "task", "code", "data", "web", "chart", "log")
_ENDS = ("", "ly", "er", "craft", "flow", "wise", "lens", "port", "mind", "sync")
_PARTS = [stem + end for stem in _STEMS for end in _ENDS]


def a_text(number: int, *, count: int = 120) -> list[str]:
    source = random.Random(number)
    words = source.choices(_VOCABULARY, cum_weights=_WEIGHTS, k=count)
    return [*_BOILERPLATE, *words]


def a_name(number: int) -> str:
    source = random.Random(number)
    return "-".join([*source.sample(_PARTS, 2), str(number % 1000)])


def a_record(number: int, *, copy_of: int | None = None) -> SimilarityRecord:
    text = a_text(number if copy_of is None else copy_of)
    if copy_of is not None:
        text[40] = f"changed{number}"
    return SimilarityRecord(
        slug=f"owner-{number:06}/skills/{a_name(number)}",
        name=a_name(number),
        publisher=f"git.example/owner-{number:06}",
        since=NOW - timedelta(minutes=number),
        sketch=SkillSketch(
            instructions=sketch_words(text), capabilities={"hosts": ("api.example",)}
        ),
    )


class Store(msgspec.Struct, frozen=True):
    path: Path
    count: int
    built_in: float

    @property
    def size(self) -> int:
        return self.path.stat().st_size


async def build(path: Path, count: int) -> Store:
    started = time.perf_counter()
    engine = await open_engine(f"sqlite:///{path}")
    await run_with_worker_env(worker_env(engine), partial(_fill, count))
    await engine.close()
    return Store(path, count, time.perf_counter() - started)


async def _fill(count: int) -> None:
    step = count // COPIES
    for first in range(1, count + 1, A_COMMIT):
        numbers = range(first, min(first + A_COMMIT, count + 1))
        skills = [a_record(number, copy_of=None if number % step else 0) for number in numbers]
        writes = await asyncio.gather(*map(write_similarity_record, skills))
        operations = [operation for one in writes for operation in one]
        assert await commit(operations) is not None


def look_up(engine: Engine) -> Callable[[], Awaitable[None]]:
    wanted = a_record(0)
    submitted = ComparedSkill(
        slug=wanted.slug, name=wanted.name, publisher=wanted.publisher, sketch=wanted.sketch
    )

    async def work() -> None:
        assert len(await find_similar(submitted)) == COPIES
        await find_similar_names(submitted)

    return partial(run_with_worker_env, worker_env(engine), work)


def measure(count: int) -> Callable[[], Awaitable[None]]:
    text = " ".join(a_text(1, count=count))

    async def run() -> None:
        sketch_words(words_of(text))

    return run


async def main() -> None:
    print_title(
        f"SkillSketch: {COPIES} near copies among {MANY:,} against among {FEW:,}, SQLite",
        f"≤ {ratio(TARGET)} the time, and ≤ {duration(MEASURE_TARGET)} to measure a usual skill",
    )
    with scratch() as folder:
        few, many = [await build(folder / f"{count}.db", count) for count in (FEW, MANY)]
        engines = [await open_engine(f"sqlite:///{store.path}") for store in (few, many)]
        in_few, in_many = await interleave(REPETITIONS, *map(look_up, engines))
        for engine in engines:
            await engine.close()
        growth = in_many.median / in_few.median
        print_table(
            ("published skills", f"{FEW:,}", f"{MANY:,}", "ratio"),
            [
                ("look up copies and names", in_few, in_many, ratio(growth)),
                ("the index was built in", duration(few.built_in), duration(many.built_in), ""),
                ("its size", megabytes(few.size), megabytes(many.size), ""),
            ],
        )
    usual, longest = await interleave(REPETITIONS, measure(USUAL_WORDS), measure(10 * MAX_WORDS))
    print_table(
        ("measure one skill", "time"),
        [(f"{USUAL_WORDS:,} words", usual), (f"{10 * MAX_WORDS:,} words", longest)],
    )
    print_note(f"of a longer text the first {MAX_WORDS:,} words are measured")
    _print_verdicts(in_few, in_many, usual)


def _print_verdicts(in_few: Sample, in_many: Sample, usual: Sample) -> None:
    growth = in_many.median / in_few.median
    print_verdict(
        f"{MANY // FEW:,} times the skills",
        ours=f"{MANY:,} {duration(in_many.median)}",
        other=f"{FEW:,} {duration(in_few.median)}",
        less=less_than_claimed(MANY, CLAIMED, "skills"),
        figure=f"{ratio(growth)} the time",
        target=f"≤ {ratio(TARGET)}",
        is_reached=growth <= TARGET,
    )
    print_verdict(
        "measuring a usual skill",
        ours=duration(usual.median),
        figure=ratio(usual.median / MEASURE_TARGET),
        target=f"≤ {duration(MEASURE_TARGET)}",
        is_reached=usual.median <= MEASURE_TARGET,
    )


if __name__ == "__main__":
    uvloop.run(main())
