"""Several processes on one PostgreSQL: submissions a second by workers, requests by web processes.

A queue of small skills is processed by 1, 2 and 4 `work` processes with one scan process each. Then
one and two `serve --no-worker --no-cron` processes answer lists of skills. More processes than
processors cannot be faster: the clients and PostgreSQL need some, too.
"""

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.http_load import Load, put_under_load
from benchmarks.report import (
    amount,
    print_note,
    print_table,
    print_title,
    print_verdict,
    rate,
    ratio,
    scratch,
)
from tests.acceptance.ports import free_port, get
from tests.acceptance.program import Platform
from tests.acceptance.records import submit_folders, wait_until_all_ended
from tests.browser.registry import own_words
from tests.casts import a_skill_folder
from tests.postgres_server import OwnServer, an_own_server
from vskill_platform.stores.heartbeat_store import get_heartbeats

SKILLS = amount(120, quick=24)
REQUESTS = amount(3_000, quick=300)
WORKERS = (1, 2, 4)
TARGET = 1.7
CLIENTS_EACH = 4
_DURABLE = {"fsync": "on", "shared_buffers": "128MB", "max_connections": "100"}


def a_registry(server: OwnServer, folder: Path, name: str) -> Platform:
    """Return an installation on its own database."""
    server.sql(f"CREATE DATABASE {name}")
    folder.mkdir()
    return Platform(
        folder,
        database_url=f"postgresql://postgres@/{name}?host={server.host}",
        scan_processes="1",
        log_level="ERROR",
        reads_per_minute="100000000",
        connections_per_address="1000",
    )


async def submissions_per_second(platform: Platform, workers: int) -> float:
    """Process a queue; the time begins when every worker is ready."""
    folders = [a_skill_folder(platform.folder, f"skill-{n}") for n in range(SKILLS)]
    for folder in folders:
        (folder / "SKILL.md").write_text(own_words(folder.name))
    await submit_folders(platform, *folders)
    async with platform.env() as env:
        await env.engine.queue.pause(timedelta(minutes=10))
        for _ in range(workers):
            platform.start("work")
        while len(await platform.inside(get_heartbeats)) < workers:  # noqa: ASYNC110 - other processes
            await asyncio.sleep(0.1)
        await env.engine.queue.resume()
        started = time.perf_counter()
        await wait_until_all_ended(platform, seconds=600)
        took = time.perf_counter() - started
    platform.end_everything()
    return SKILLS / took


def requests_per_second(platform: Platform, processes: int) -> float:
    ports = [free_port() for _ in range(processes)]
    for port in ports:
        started = platform.start(
            "serve", "--no-worker", "--no-cron", port=str(port),
            cache_dir=str(platform.folder / f"cache-{port}"),
        )  # fmt: skip
        started.wait_for("vskill-platform is at")
    for port in ports:
        while get(port, "/readyz")[0] != 200:  # noqa: PLR2004 - it is ready
            time.sleep(0.1)
    took = asyncio.run(_load_all(ports))
    platform.end_everything()
    return processes * REQUESTS / took


async def _load_all(ports: Sequence[int]) -> float:
    """Put all processes under the same load at once; return how long the slowest took."""
    paths = ["/api/v1/skills?limit=20"] * REQUESTS
    loads = [Load(port=port, paths=paths, clients=CLIENTS_EACH) for port in ports]
    done = await asyncio.gather(*(asyncio.to_thread(put_under_load, load) for load in loads))
    return max(each.took for each in done)


def main() -> None:
    print_title(
        "Nodes: submissions a second of 1, 2 and 4 workers, requests of one and two web processes",
        f"two web processes answer ≥ {ratio(TARGET)} as many requests as one",
    )
    with scratch() as folder, an_own_server(folder, **_DURABLE) as server:
        registries = {
            workers: a_registry(server, folder / f"work-{workers}", f"work_{workers}")
            for workers in WORKERS
        }
        processed = {
            workers: asyncio.run(submissions_per_second(platform, workers))
            for workers, platform in registries.items()
        }
        answered = [requests_per_second(registries[1], processes) for processes in (1, 2)]
    print_table(
        ("work processes", "submissions a second", "of one"),
        [(count, f"{each:.1f}", ratio(each / processed[1])) for count, each in processed.items()],
    )
    factor = answered[1] / answered[0]
    print_table(
        ("web processes", "requests a second", "of one"),
        [(1, rate(answered[0]), ""), (2, rate(answered[1]), ratio(factor))],
    )
    cores = os.cpu_count() or 1
    print_note(f"load of the last 5 minutes: {os.getloadavg()[1]:.1f} on {cores} cores")
    print_verdict(
        "two web processes compared with one",
        ours=rate(answered[1]),
        other=rate(answered[0]),
        figure=f"{ratio(factor)} as many",
        target=f"≥ {ratio(TARGET)}",
        is_reached=factor >= TARGET,
        less="" if cores > 3 else f"on {cores} cores, which the clients and PostgreSQL use, too",  # noqa: PLR2004 - PostgreSQL and the clients need cores
    )


if __name__ == "__main__":
    main()
