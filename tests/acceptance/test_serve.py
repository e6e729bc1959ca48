"""`serve`: web, worker and cron in one process, started, stopped, killed and started again."""

import asyncio
import re
import signal
import socket
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.ports import free_port, get, get_json
from tests.acceptance.processes import PATIENCE_SECONDS, Running
from tests.acceptance.program import Platform
from tests.acceptance.records import read_statuses, submit_folders, wait_until_all_ended
from tests.casts import a_skill_folder
from vskill_platform.stores.cron_store import get_cron_runs
from vskill_platform.stores.node_store import get_nodes

DEMO = Path(__file__).parents[2] / "demo"
DEMO_SKILLS = sorted(path.name for path in DEMO.iterdir())
DEMO_SLUGS = [f"@local/{name}" for name in DEMO_SKILLS]
_LISTED = re.compile(r'<h2><a href="/skills/([^"]+)">')


@pytest.fixture
def port() -> int:
    return free_port()


def _serve(platform: Platform, port: int, *arguments: str | Path) -> Running:
    server = platform.start("serve", *arguments, port=str(port))
    server.wait_for(f"vskill-platform is at http://127.0.0.1:{port}")
    return server


async def _listed(port: int, *slugs: str) -> set[str]:
    """Return what the list of skills has, once these are there: its catalogue reads along."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (found := set(_LISTED.findall(get(port, "/skills")[1]))) >= set(slugs):
            await asyncio.sleep(0.05)
    return found


async def _until_ready(port: int) -> object:
    """Return what a node says of itself once it can serve: its index is built at the start."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (answer := get_json(port, "/readyz"))[0] != 200:
            await asyncio.sleep(0.05)
    return answer[1]


def _count_submissions(platform: Platform) -> int:
    return len(msgspec.json.decode(platform.run("list", "--json").out)["submissions"])


async def test_a_served_folder_is_published_and_listed(platform: Platform, port: int) -> None:
    server = platform.start_anew("serve", "--submit-all", DEMO, port=str(port))
    server.wait_for(f"vskill-platform is at http://127.0.0.1:{port}")

    await wait_until_all_ended(platform)

    assert len(DEMO_SKILLS) == 5
    assert await _listed(port, *DEMO_SLUGS) == set(DEMO_SLUGS)


@pytest.mark.slow
async def test_health_reports_liveness_and_progress(platform: Platform, port: int) -> None:
    _serve(platform, port)

    alive, queue = get_json(port, "/healthz"), get_json(port, "/healthz/queue")

    assert alive == (200, {"status": "alive"})
    assert (queue[0], queue[1]["problems"]) == (200, [])
    assert await _until_ready(port) == {"status": "ready", "problems": []}


@pytest.mark.slow
async def test_web_and_worker_run_in_separate_processes(
    platform: Platform, port: int, tmp_path: Path
) -> None:
    server = platform.start("serve", "--no-worker", "--no-cron", port=str(port), node="web")
    server.wait_for("vskill-platform is at")
    platform.start("work", "--cron", node="worker")
    await submit_folders(platform, a_skill_folder(tmp_path, "notes"))

    await wait_until_all_ended(platform)

    nodes = {node.node: node.roles for node in await platform.inside(get_nodes)}
    runs = await platform.inside(get_cron_runs)
    assert nodes == {"web": ("web",), "worker": ("worker", "cron")}
    assert {run.node for run in runs} <= {"worker"}


def test_a_worker_cannot_both_end_with_the_queue_and_run_jobs(platform: Platform) -> None:
    refused = platform.run("work", "--drain", "--cron")

    assert (refused.code, "choose one" in refused.err) == (2, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(platform: Platform, port: int, number: signal.Signals) -> None:
    server = _serve(platform, port)
    get(port, "/healthz")

    assert server.end(number) == 0
    assert "Traceback" not in server.rest()


@pytest.mark.slow
def test_a_request_that_never_ends_does_not_keep_it_from_stopping(
    platform: Platform, port: int
) -> None:
    server = platform.start("serve", port=str(port), stop_grace="1s")
    server.wait_for("vskill-platform is at")
    with socket.create_connection(("127.0.0.1", port)) as client:
        head = "POST /api/v1/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n"
        types = "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        client.sendall((head + types).encode())
        asked_for_the_body = client.recv(100)

        code = server.end()

    assert asked_for_the_body.startswith(b"HTTP/1.1 100")
    assert code == 0


@pytest.mark.slow
async def test_a_second_start_finds_everything_and_submits_nothing_twice(
    platform: Platform, port: int
) -> None:
    first = _serve(platform, port, "--submit-all", DEMO)
    await wait_until_all_ended(platform)
    await _listed(port, *DEMO_SLUGS)
    first.end()

    _serve(platform, port, "--submit-all", DEMO)

    assert await _listed(port, *DEMO_SLUGS) == set(DEMO_SLUGS)
    assert _count_submissions(platform) == len(DEMO_SKILLS)


@pytest.mark.torture
async def test_a_killed_server_is_started_again_and_goes_on(
    platform: Platform, port: int, tmp_path: Path
) -> None:
    first = _serve(platform, port)
    platform.run("pause")
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path))
    first.kill()

    _serve(platform, port)
    platform.run("resume")
    await wait_until_all_ended(platform)

    (status,) = await read_statuses(platform, submission_id)
    assert status.steps[-1] == "publish PUBLISHED"
    assert await _listed(port, "@local/tidy-notes")


@pytest.mark.torture
@pytest.mark.timeout(90)
async def test_two_servers_on_one_file_share_the_work(platform: Platform, tmp_path: Path) -> None:
    one_by_one = {"max_batch_size": "1", "max_concurrency": "1", "scan_processes": "1"}
    ports = [free_port(), free_port()]
    servers = [
        platform.start("serve", port=str(port), node=f"node-{port}", **one_by_one) for port in ports
    ]
    for server in servers:
        server.wait_for("vskill-platform is at")
    folders = [a_skill_folder(tmp_path, f"skill-{number}") for number in range(12)]

    ids = await submit_folders(platform, *folders)
    await wait_until_all_ended(platform)

    claims = [status.history[1:] for status in await read_statuses(platform, *ids)]
    assert {events[-1].to_state for events in claims} == {"PUBLISHED"}
    assert {len(events) for events in claims} == {3}
    assert {events[0].actor for events in claims} == {f"node-{port}" for port in ports}
    slugs = [f"@local/{folder.name}" for folder in folders]
    assert [await _listed(port, *slugs) for port in ports] == [set(slugs)] * 2
    assert [server.end() for server in servers] == [0, 0]
