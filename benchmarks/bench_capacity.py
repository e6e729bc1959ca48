"""What one node can take: space, memory, start-up and requests a second, by number of skills.

`serve` runs as an operator starts it, with worker and cron, on SQLite. Clients in another process
ask for each page as fast as it is answered; server and clients share the processors. Then a queue
of small skills is published by one worker. No claim is made: the figures are for the capacity table
in docs/operations.md.

    python benchmarks/bench_capacity.py [SKILLS…]
"""

import asyncio
import os
import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.bench_nodes import submissions_per_second
from benchmarks.bench_search import memory_of
from benchmarks.http_load import Load, put_under_load
from benchmarks.report import (
    Sample,
    amount,
    duration,
    megabytes,
    print_note,
    print_table,
    print_title,
    rate,
    scratch,
)
from benchmarks.sample_catalogue import a_skill, fill, questions
from tests.acceptance.ports import free_port, get
from tests.acceptance.processes import Running
from tests.acceptance.program import Platform
from vskill_platform.runtime.worker_context import run_with_worker_env

SIZES = (1_000, 10_000, 100_000)
REQUESTS = amount(1_000, quick=100)
CLIENTS = 8
_READY = 200


class Page(NamedTuple):
    title: str
    paths: list[str]


class Answers(NamedTuple):
    title: str
    per_second: float
    p99: float


class Capacity(NamedTuple):
    """What one node took with so many skills."""

    skills: int
    database_bytes: int
    index_bytes: int
    first_start: float
    next_start: float
    memory_idle: int
    memory_loaded: int
    answers: list[Answers]


def pages_of(skills: int) -> list[Page]:
    public = [
        one.slug for one in map(a_skill, range(min(skills, 2 * REQUESTS))) if not one.is_private
    ]
    slugs = [public[number % len(public)] for number in range(REQUESTS)]
    asked = [path.partition("?")[2] for path in questions(REQUESTS)]
    return [
        Page("home page", ["/"] * REQUESTS),
        Page("search page", [f"/skills?{query}" for query in asked]),
        Page("search by API", questions(REQUESTS)),
        Page("page of a skill", [f"/skills/{slug}" for slug in slugs]),
        Page("discovery index", ["/.well-known/agent-skills/index.json"] * (REQUESTS // 10)),
    ]


def an_installation(folder: Path) -> Platform:
    folder.mkdir()
    return Platform(
        folder,
        scan_processes="1",
        log_level="ERROR",
        reads_per_minute="100000000",
        connections_per_address="1000",
        cache_dir=str(folder / "cache"),
    )


def measure(platform: Platform, skills: int) -> Capacity:
    asyncio.run(_fill(platform, skills))
    first_start = _start(platform)[2]
    platform.end_everything()
    running, port, next_start = _start(platform)
    idle = memory_of(running.pid)["VmRSS"]
    answers = [_ask(page, port) for page in pages_of(skills)]
    loaded = memory_of(running.pid)["VmRSS"]
    platform.end_everything()
    return Capacity(
        skills,
        _size(platform.folder.glob("skills.db*")),
        _size((platform.folder / "cache").glob("*.catalogue-*")),
        first_start,
        next_start,
        idle,
        loaded,
        answers,
    )


async def _fill(platform: Platform, skills: int) -> None:
    async with platform.env() as env:
        await run_with_worker_env(env, partial(fill, env.engine, skills))


def _start(platform: Platform) -> tuple[Running, int, float]:
    """Start `serve`; return it with its port and the seconds until it was ready."""
    port, started = free_port(), time.perf_counter()
    running = platform.start_anew("serve", port=str(port))
    running.wait_for("vskill-platform is at")
    while get(port, "/readyz")[0] != _READY:
        time.sleep(0.02)
    return running, port, time.perf_counter() - started


def _ask(page: Page, port: int) -> Answers:
    put_under_load(Load(port=port, paths=page.paths[: REQUESTS // 10], clients=CLIENTS))
    done = put_under_load(Load(port=port, paths=page.paths, clients=CLIENTS))
    p99 = Sample(tuple(done.seconds)).percentile(99)
    return Answers(page.title, len(page.paths) / done.took, p99)


def _size(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files)


def main(sizes: list[str]) -> None:
    print_title("Capacity of one node on SQLite", "none; for the table in docs/operations.md")
    chosen = [int(size) for size in sizes] or list(SIZES)
    with scratch() as folder:
        measured = [measure(an_installation(folder / f"of-{size}"), size) for size in chosen]
        published = asyncio.run(submissions_per_second(an_installation(folder / "queue"), 1))
    print_table(
        ("skills", *(f"{each.skills:,}" for each in measured)),
        [
            ("database", *(megabytes(each.database_bytes) for each in measured)),
            ("search index", *(megabytes(each.index_bytes) for each in measured)),
            ("first start, until ready", *(duration(each.first_start) for each in measured)),
            ("next start", *(duration(each.next_start) for each in measured)),
            ("memory when ready", *(megabytes(each.memory_idle) for each in measured)),
            ("memory under load", *(megabytes(each.memory_loaded) for each in measured)),
            *(
                (f"{row[0].title}, p99 with {CLIENTS} clients",
                 *(f"{rate(each.per_second)}, {duration(each.p99)}" for each in row))
                for row in zip(*(each.answers for each in measured), strict=True)
            ),
        ],
    )  # fmt: skip
    print_note(f"one worker with one scan process published {published:.1f} small skills a second")
    print_note(f"load of the last 5 minutes: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main(sys.argv[1:])
