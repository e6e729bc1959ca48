"""Searching 100,000 skills over HTTP with 32 clients, compared with an empty page.

It uses the real application on a real server with its search process, and the clients in another
process. The empty page passes the same middleware as a search. Both are requested in alternating
runs. The queries are of every kind that users send and nearly all different, so caches help little.

Then: how soon a published skill is found and a blocked one disappears, in a second process too,
first while idle and then while the first server is under full load.

    python benchmarks/bench_search.py [sqlite|postgres]
"""

import asyncio
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen
from urllib.parse import quote

import msgspec
import uvicorn
import uvloop
from litestar import get

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.http_load import Load, ask, put_under_load
from benchmarks.report import (
    Sample,
    amount,
    duration,
    less_than_claimed,
    megabytes,
    print_note,
    print_table,
    print_title,
    print_verdict,
    rate,
    ratio,
    scratch,
)
from benchmarks.sample_catalogue import SEARCH, a_skill, fill, questions, records_of
from benchmarks.sample_records import worker_env
from tests.postgres_server import an_own_server
from vskill_platform.base.telemetry import set_up_logs
from vskill_platform.catalogue.catalogue import open_catalogue
from vskill_platform.catalogue.search_process import is_worth_a_process
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.ports import Engine
from vskill_platform.model.rights import Right
from vskill_platform.model.skill import TakenDown
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import Settings
from vskill_platform.stores.skill_store import get_skill, write_skill
from vskill_platform.web.app import collect_rarely, create_app
from vskill_platform.web.http.bodies import check_media_type

CLAIMED = 100_000
SKILLS, CLIENTS = amount(CLAIMED, quick=10_000), 32
#: Requests in each turn, and turns of each page.
REQUESTS, TURNS = amount(5_000, quick=2_000), amount(5, quick=2)
#: How often it is measured how soon a change is seen.
CHANGES = amount(20, quick=5)
TARGET_RATIO, TARGET_SECONDS = 3, 1.0
#: For the index of CLAIMED skills; of fewer, as much less.
BUILD_SECONDS, INDEX_BYTES = 40.0, 250e6
NOTHING = "/api/v1/nothing"
_LOOK_EVERY_SECONDS = 0.005


class Started(msgspec.Struct, frozen=True):
    """What a server says when it is ready."""

    port: int
    build_seconds: float
    #: Before the catalogue was opened, in bytes.
    memory_before: int
    #: The id of its search process, if it has one.
    search_process: int | None


class Latencies(msgspec.Struct):
    """Of one page: how long each request took, and how many were answered in a second."""

    seconds: list[float] = msgspec.field(default_factory=list)
    rates: list[float] = msgspec.field(default_factory=list)

    def row(self) -> tuple[str, ...]:
        sample = Sample(tuple(self.seconds))
        return (*(duration(sample.percentile(p)) for p in (50, 90, 99)), rate(self.rate))

    @property
    def rate(self) -> float:
        return Sample(tuple(self.rates)).median

    @property
    def p99(self) -> float:
        return Sample(tuple(self.seconds)).percentile(99)


@get(NOTHING, opt={"right": Right.ANYONE}, guards=[check_media_type])
async def nothing() -> dict[str, str]:
    return {"status": "nothing"}


async def serve(url: str, cache: str) -> None:
    """Run one server; it says on which port, and how long its catalogue took."""
    set_up_logs(level="WARNING", as_json=False)
    engine = await open_engine(url)
    env = environment(engine, url, cache)
    app = create_app(env)
    app.register(nothing)
    collect_rarely()
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    before, started = memory_of(os.getpid())["VmRSS"], time.perf_counter()
    async with open_catalogue(env, has_search_process=is_worth_a_process()) as catalogue:
        await catalogue.wait_until_ready()
        app.state.catalogue = catalogue
        build_seconds = time.perf_counter() - started
        searching = catalogue.search_process
        if searching:
            assert await searching.wait_until_started()
        hello = Started(
            listener.getsockname()[1],
            build_seconds,
            before,
            search_process=searching.pid if searching else None,
        )
        print(msgspec.json.encode(hello).decode(), flush=True)
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        await uvicorn.Server(config).serve(sockets=[listener])
    await engine.close()


@contextmanager
def a_server(url: str, cache: Path) -> Iterator[tuple[Started, int]]:
    command = [sys.executable, __file__, url, str(cache)]
    with Popen(command, stdout=PIPE) as process:
        assert process.stdout
        try:
            yield msgspec.json.decode(process.stdout.readline(), type=Started), process.pid
        finally:
            process.terminate()


def measure_load(port: int) -> tuple[Latencies, Latencies]:
    """Return how long both pages took; the first turn warms up."""
    asked = questions(REQUESTS * (TURNS + 1))
    idle, busy = Latencies(), Latencies()
    for turn in range(TURNS + 1):
        some = asked[turn * REQUESTS : (turn + 1) * REQUESTS]
        for paths, latencies in (([NOTHING] * REQUESTS, idle), (some, busy)):
            loaded = put_under_load(Load(port, paths, CLIENTS))
            if turn:
                latencies.seconds += loaded.seconds
                latencies.rates.append(REQUESTS / loaded.took)
    return idle, busy


async def measure_changes(env: WorkerEnv, ports: list[int], first: int) -> dict[str, Sample]:
    """Publish and block skills here; see when the servers' answers change."""
    seen: dict[str, list[float]] = {}
    for number in range(first, first + CHANGES):
        skill = msgspec.structs.replace(a_skill(number), is_private=False)
        assert await env.engine.commit(list(records_of(skill))) is not None
        _add(seen, "published, found by", await _seen(ports, skill.slug, is_found=True))
        stored = await get_skill(skill.slug)
        assert stored
        down = TakenDown(reason="bench", by="bench", at=env.clock.now())
        blocked = msgspec.structs.replace(stored.record, down=down)
        assert await env.engine.commit([write_skill(blocked, expected=stored.revision)])
        _add(seen, "blocked, gone from", await _seen(ports, skill.slug, is_found=False))
    return {what: Sample(tuple(seconds)) for what, seconds in seen.items()}


async def _seen(ports: list[int], slug: str, *, is_found: bool) -> list[float]:
    """Return after how long each server finds a skill, or finds only others like it."""
    started = time.perf_counter()

    async def wait_for(port: int) -> float:
        while True:
            body = await asyncio.to_thread(ask, port, f"{SEARCH}?q={quote(slug)}")
            found = {each["slug"] for each in msgspec.json.decode(body)["results"]}
            if (slug in found) == is_found:
                return time.perf_counter() - started
            await asyncio.sleep(_LOOK_EVERY_SECONDS)

    return await asyncio.gather(*(wait_for(port) for port in ports))


def _add(seen: dict[str, list[float]], what: str, delays: list[float]) -> None:
    for server, delay in zip(("the first server", "the second"), delays, strict=True):
        seen.setdefault(f"{what} {server}", []).append(delay)


async def measure_changes_under_load(
    env: WorkerEnv, ports: list[int], first: int
) -> dict[str, Sample]:
    """Do the same while all clients ask the first server without a pause."""
    asked = questions(REQUESTS * 4)
    load = asyncio.create_task(asyncio.to_thread(put_under_load, Load(ports[0], asked, CLIENTS)))
    await asyncio.sleep(0.5)
    found = await measure_changes(env, ports, first)
    assert not load.done(), "the load has ended before the measurement"
    await load
    return found


def memory_of(pid: int) -> dict[str, int]:
    """Return the resident memory of a process in bytes, and which part of it is of files."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    fields = (line.split() for line in lines if line.startswith(("VmRSS", "VmHWM", "RssFile")))
    return {name.rstrip(":"): int(size) * 1024 for name, size, _ in fields}


@contextmanager
def a_database(kind: str, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty database."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'skills.db'}"
        return
    with an_own_server(folder) as server:
        yield server.url


def environment(engine: Engine, url: str, cache: str) -> WorkerEnv:
    env = worker_env(engine)
    settings = Settings(database_url=url, cache_dir=cache, reads_per_minute=10**9)
    return WorkerEnv(engine=engine, settings=settings, clock=env.clock, scan_slots=env.scan_slots)


async def main(kind: str = "sqlite") -> None:
    print_title(
        f"Search: {SKILLS:,} skills, {CLIENTS} clients over HTTP, {kind}",
        f"p99 ≤ {ratio(TARGET_RATIO)} that of a page that does nothing; changes seen within "
        f"{duration(TARGET_SECONDS)}, in a second process too",
    )
    with scratch() as folder, a_database(kind, folder) as url:
        cache = folder / "cache"
        cache.mkdir()
        engine = await open_engine(url)
        env = environment(engine, url, str(cache))
        await run_with_worker_env(env, partial(fill, engine, SKILLS))
        with a_server(url, cache) as (started, pid):
            idle, busy = await asyncio.to_thread(measure_load, started.port)
            (file,) = cache.glob("*.catalogue-0")
            memory, size = memory_of(pid), file.stat().st_size
            searching = memory_of(started.search_process)["VmRSS"] if started.search_process else 0
            with a_server(url, cache) as (second, _):
                ports = [started.port, second.port]
                measure = partial(measure_changes, env, ports, SKILLS + 1)
                quiet = await run_with_worker_env(env, measure)
                measure = partial(measure_changes_under_load, env, ports, SKILLS + 1 + CHANGES)
                loaded = await run_with_worker_env(env, measure)
        with a_server(url, cache) as (again, _):
            reopened = again.build_seconds
        await engine.close()
    print_load(idle, busy)
    print_table(
        ("the catalogue", ""),
        [
            (
                f"built from {SKILLS:,} skills and as many submissions",
                duration(started.build_seconds),
            ),
            ("opened again", duration(reopened)),
            ("its file", megabytes(size)),
            ("memory of the server without it", megabytes(started.memory_before)),
            ("after the load", megabytes(memory["VmRSS"])),
            ("its search process after the load", megabytes(searching)),
            ("at its highest, while it was built", megabytes(memory["VmHWM"])),
        ],
    )
    print_index(started.build_seconds, size)
    print_changes(quiet, loaded)


def print_index(seconds: float, size: int) -> None:
    """Judge what the index costs; of fewer skills than claimed by their share of it."""
    less = less_than_claimed(SKILLS, CLAIMED, "skills, goal in proportion")
    most_seconds, most_bytes = (most * SKILLS / CLAIMED for most in (BUILD_SECONDS, INDEX_BYTES))
    print_verdict(
        "building the index",
        ours=duration(seconds),
        figure=ratio(seconds / most_seconds),
        target=f"≤ {duration(most_seconds)}",
        is_reached=seconds <= most_seconds,
        less=less,
    )
    print_verdict(
        "the index file",
        ours=megabytes(size),
        figure=ratio(size / most_bytes),
        target=f"≤ {megabytes(most_bytes)}",
        is_reached=size <= most_bytes,
        less=less,
    )


def print_load(idle: Latencies, busy: Latencies) -> None:
    slower = busy.p99 / idle.p99
    print_table(
        (f"{CLIENTS} clients", "p50", "p90", "p99", "answered"),
        [("a page that does nothing", *idle.row()), ("search", *busy.row())],
    )
    print_note(f"{TURNS} turns of {REQUESTS:,} requests each, after one to warm up")
    print_verdict(
        "search, p99",
        ours=duration(busy.p99),
        other=f"empty page {duration(idle.p99)}",
        less=less_than_claimed(SKILLS, CLAIMED, "skills"),
        figure=f"{ratio(slower)} the time",
        target=f"≤ {ratio(TARGET_RATIO)}",
        is_reached=slower <= TARGET_RATIO,
    )


def print_changes(quiet: dict[str, Sample], loaded: dict[str, Sample]) -> None:
    def cells(sample: Sample) -> tuple[str, str]:
        return duration(sample.median), duration(max(sample.seconds))

    print_table(
        ("a change is seen after", "p50", "longest", "p50, first busy", "longest"),
        [(what, *cells(sample), *cells(loaded[what])) for what, sample in quiet.items()],
    )
    longest = max(max(sample.seconds) for sample in (*quiet.values(), *loaded.values()))
    print_verdict(
        "a change, the longest",
        ours=duration(longest),
        figure=ratio(longest / TARGET_SECONDS),
        less=less_than_claimed(SKILLS, CLAIMED, "skills"),
        target=f"≤ {duration(TARGET_SECONDS)}",
        is_reached=longest <= TARGET_SECONDS,
    )


if __name__ == "__main__":
    uvloop.run(serve(*sys.argv[1:]) if sys.argv[2:] else main(*sys.argv[1:]))
