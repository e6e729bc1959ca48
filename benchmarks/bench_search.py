"""Searching 100,000 skills over HTTP with 32 clients, against a page that does nothing.

A real server in a process of its own, the clients in another. Both pages are of the same server,
asked in turns. The questions are of every kind that people ask and nearly all different, so what
is remembered between them helps little. Then: how soon a published skill is found and a blocked one
is gone, in the process beside the one that was busy too.
"""

import asyncio
import os
import socket
import statistics
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
    duration,
    megabytes,
    print_note,
    print_table,
    print_title,
    print_verdict,
    ratio,
    scratch,
)
from benchmarks.sample_catalogue import a_skill, fill, questions, records_of
from benchmarks.sample_records import worker_env
from vskill_platform.base.telemetry import set_up_logs
from vskill_platform.catalogue.catalogue import open_catalogue
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.ports import Engine
from vskill_platform.model.access import Right
from vskill_platform.model.skill import TakenDown
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import Settings
from vskill_platform.stores.skill_store import get_skill, write_skill
from vskill_platform.web.app import create_app

SKILLS = int(os.environ.get("SKILLS", "100000"))
CLIENTS = 32
#: Requests in each turn, and turns of each page.
REQUESTS, TURNS = 6_000, 4
#: How often it is measured how soon a change is seen.
CHANGES = 20
TARGET_RATIO, TARGET_SECONDS = 3, 1.0
#: With every filter and order; the path is that of the API.
SEARCH, NOTHING = "/api/v1/skills", "/api/v1/nothing"


class Started(msgspec.Struct, frozen=True):
    """What a server says when it is ready."""

    port: int
    build_seconds: float
    memory_before: int


@get(NOTHING, opt={"right": Right.ANYONE})
async def nothing() -> dict[str, str]:
    return {"status": "nothing"}


async def serve(path: Path) -> None:
    """Run one server; it says on which port, and how long its catalogue took."""
    set_up_logs(level="WARNING", as_json=False)
    engine = await open_engine(f"sqlite:///{path}")
    env = _env(engine, path)
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    before, started = _memory(os.getpid())["VmRSS"], time.perf_counter()
    async with open_catalogue(env) as catalogue:
        await catalogue.wait_until_ready()
        built = time.perf_counter() - started
        app = create_app(env, catalogue=catalogue)
        app.register(nothing)  # it passes every door that a search passes
        hello = Started(listener.getsockname()[1], built, before)
        print(msgspec.json.encode(hello).decode(), flush=True)
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        await uvicorn.Server(config).serve(sockets=[listener])
    await engine.close()


@contextmanager
def a_server(path: Path) -> Iterator[tuple[Started, int]]:
    command = [sys.executable, __file__, str(path)]
    with Popen(command, stdout=PIPE) as process:
        assert process.stdout
        try:
            yield msgspec.json.decode(process.stdout.readline(), type=Started), process.pid
        finally:
            process.terminate()


def measure_load(port: int) -> tuple[list[float], list[float], list[float], list[float]]:
    """Return the latencies of both pages and the rates of each turn; the first turn warms up."""
    asked = questions(REQUESTS * (TURNS + 1))
    idle: list[float] = []
    busy: list[float] = []
    idle_rates: list[float] = []
    busy_rates: list[float] = []
    for turn in range(TURNS + 1):
        some = asked[turn * REQUESTS : (turn + 1) * REQUESTS]
        for paths, latencies, rates in (
            ([NOTHING] * REQUESTS, idle, idle_rates),
            ([f"{SEARCH}?{question}" for question in some], busy, busy_rates),
        ):
            loaded = put_under_load(Load(port, paths, CLIENTS))
            if turn:
                latencies.extend(loaded.seconds)
                rates.append(REQUESTS / loaded.took)
    return idle, busy, idle_rates, busy_rates


async def measure_changes(env: WorkerEnv, ports: list[int]) -> dict[str, Sample]:
    """Publish and block skills here; see when the servers' answers change."""
    published: list[list[float]] = [[] for _ in ports]
    gone: list[list[float]] = [[] for _ in ports]
    for number in range(SKILLS + 1, SKILLS + 1 + CHANGES):
        skill = msgspec.structs.replace(a_skill(number), is_private=False)
        path = f"{SEARCH}?q={quote(skill.slug)}"
        assert await env.engine.commit(list(records_of(skill))) is not None
        for times, delay in zip(published, await _seen(ports, path, total=1), strict=True):
            times.append(delay)
        stored = await get_skill(skill.slug)
        assert stored
        down = TakenDown(reason="bench", by="bench", at=env.clock.now())
        blocked = msgspec.structs.replace(stored.record, down=down)
        await env.engine.commit([write_skill(blocked, expected=stored.revision)])
        for times, delay in zip(gone, await _seen(ports, path, total=0), strict=True):
            times.append(delay)
    return {
        **{f"published, found by server {n}": Sample(tuple(s)) for n, s in enumerate(published, 1)},
        **{f"blocked, gone from server {n}": Sample(tuple(s)) for n, s in enumerate(gone, 1)},
    }


async def _seen(ports: list[int], path: str, *, total: int) -> list[float]:
    """Return after how long each server's answer has so many hits."""
    started = time.perf_counter()

    async def wait_for(port: int) -> float:
        while True:
            _, (body,) = await ask(port, [path])
            if msgspec.json.decode(body)["pagination"]["total"] == total:
                return time.perf_counter() - started
            await asyncio.sleep(0.002)

    return await asyncio.gather(*(wait_for(port) for port in ports))


async def measure_changes_under_load(env: WorkerEnv, ports: list[int]) -> dict[str, Sample]:
    asked = [f"{SEARCH}?{question}" for question in questions(REQUESTS * 3)]
    load = asyncio.create_task(asyncio.to_thread(put_under_load, Load(ports[0], asked, CLIENTS)))
    await asyncio.sleep(0.5)
    found = await measure_changes(env, ports)
    assert not load.done(), "the load has ended before the measurement"
    await load
    return found


def _env(engine: Engine, path: Path) -> WorkerEnv:
    env = worker_env(engine)
    settings = Settings(database_url=f"sqlite:///{path}", reads_per_minute=10**9)
    return WorkerEnv(engine=engine, settings=settings, clock=env.clock, scan_slots=env.scan_slots)


def _memory(pid: int) -> dict[str, int]:
    """Return the resident memory of a process in bytes, and which part of it is of files."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    fields = (line.split() for line in lines if line.startswith(("VmRSS", "RssFile", "RssAnon")))
    return {name.rstrip(":"): int(size) * 1024 for name, size, _ in fields}


async def main() -> None:
    print_title(
        f"Search: {SKILLS:,} skills, {CLIENTS} clients over HTTP, SQLite",
        f"p99 ≤ {ratio(TARGET_RATIO)} that of a page that does nothing; changes seen within "
        f"{duration(TARGET_SECONDS)}, in a second process too",
    )
    with scratch() as folder:
        path = folder / "skills.db"
        engine = await open_engine(f"sqlite:///{path}")
        env = _env(engine, path)
        started = time.perf_counter()
        await run_with_worker_env(env, partial(fill, engine, SKILLS))
        print_note(f"records written in {duration(time.perf_counter() - started)}")
        with a_server(path) as (first, pid):
            idle, busy, idle_rates, busy_rates = await asyncio.to_thread(measure_load, first.port)
            memory = _memory(pid)
            size = sum(file.stat().st_size for file in folder.glob("*.catalogue-0"))
            with a_server(path) as (second, _):
                ports = [first.port, second.port]
                quiet = await run_with_worker_env(env, partial(measure_changes, env, ports))
                loaded = await run_with_worker_env(
                    env, partial(measure_changes_under_load, env, ports)
                )
        with a_server(path) as (again, _):
            pass
        await engine.close()
    _print_load(Sample(tuple(idle)), Sample(tuple(busy)), idle_rates, busy_rates)
    _print_changes(quiet, loaded)
    print_note(
        f"catalogue built in {duration(first.build_seconds)}, opened again in "
        f"{duration(again.build_seconds)}; its file has {megabytes(size)}"
    )
    print_note(
        f"memory of the server: {megabytes(memory['VmRSS'])} in all, of which "
        f"{megabytes(memory['RssFile'])} are files; {megabytes(first.memory_before)} before"
    )


def _print_load(
    idle: Sample, busy: Sample, idle_rates: list[float], busy_rates: list[float]
) -> None:
    rows = [
        [name, f"{statistics.median(rates):,.0f}", *map(duration, percentiles(sample))]
        for name, sample, rates in (
            ("a page that does nothing", idle, idle_rates), ("search", busy, busy_rates),
        )
    ]  # fmt: skip
    print_table(["", "answers/s", "median", "p95", "p99"], rows)
    found = busy.percentile(99) / idle.percentile(99)
    print_verdict(
        "p99 of a search against a page that does nothing",
        figure=ratio(found),
        target=f"≤ {ratio(TARGET_RATIO)}",
        is_reached=found <= TARGET_RATIO,
    )


def percentiles(sample: Sample) -> tuple[float, float, float]:
    return sample.median, sample.percentile(95), sample.percentile(99)


def _print_changes(quiet: dict[str, Sample], loaded: dict[str, Sample]) -> None:
    rows = [
        [name, duration(sample.median), duration(max(sample.seconds)),
         duration(max(loaded[name].seconds))]
        for name, sample in quiet.items()
    ]  # fmt: skip
    print_table(["", "median", "slowest", f"slowest with {CLIENTS} clients"], rows)
    slowest = max(max(sample.seconds) for sample in (*quiet.values(), *loaded.values()))
    print_verdict(
        "a change is seen",
        figure=f"after {duration(slowest)} at the latest",
        target=f"≤ {duration(TARGET_SECONDS)}",
        is_reached=slowest <= TARGET_SECONDS,
    )


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1])) if sys.argv[1:] else main())
