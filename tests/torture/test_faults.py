"""The table of faults in docs/operations.md, line by line, with real processes.

In each test users upload skills to two web nodes and insist until every one is acknowledged. In the
end nothing acknowledged is lost, nothing is published twice, and everything is in a final state.
"""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import asyncpg
import httpx
import pytest

from tests.missing import skip_without
from tests.postgres_server import OwnServer
from tests.s3 import an_empty_bucket
from tests.torture.audit import find_mistakes
from tests.torture.conftest import StartNodes
from tests.torture.nodes import Nodes
from tests.torture.skills import make_skills
from tests.unit.engines.postgres.network import a_network, a_network_to_http
from vskill_platform.blob_settings import BlobOptions
from vskill_platform.engines.postgres.connection import PostgresConnection

pytestmark = pytest.mark.timeout(600)
_SKILLS = make_skills(24)
_WRONG_CLOCK = str(Path(__file__).with_name("wrong_clock_program.py"))
#: As long as the longest cut that must need no person.
_CUT_SECONDS = 30.0


async def test_a_killed_worker_and_a_killed_web_node(
    server: OwnServer, start_nodes: StartNodes
) -> None:
    nodes = start_nodes(server.url, workers=2)

    async with nodes.under_load(_SKILLS) as load:
        for count in (3, 9, 15):
            await load.reached(count)
            for node in (nodes.workers[0], nodes.web[0]):
                await asyncio.to_thread(node.kill)
                node.restart()
    await nodes.settled()

    assert await find_mistakes(nodes, _SKILLS, load) == []
    assert await nodes.stop() == []


@pytest.mark.parametrize("how", ["restart", "kill", "kill_a_backend"])
async def test_postgresql_stops_under_load(
    server: OwnServer, start_nodes: StartNodes, how: str
) -> None:
    nodes = start_nodes(server.url)

    async with nodes.under_load(_SKILLS) as load:
        for count in (3, 9, 15):
            await load.reached(count)
            await asyncio.to_thread(_strike, server, how, count)
    await nodes.settled()

    assert await find_mistakes(nodes, _SKILLS, load) == []
    assert await nodes.stop() == []


def _strike(server: OwnServer, how: str, number: int) -> None:
    if how == "kill_a_backend":
        server.kill_a_backend(number)
        return
    if how == "kill":
        server.kill()
    else:
        server.stop()
    server.start()


@pytest.mark.parametrize("how", ["cut", "stall", "during a commit"])
async def test_the_network_to_postgresql_is_cut_for_half_a_minute(
    server: OwnServer, start_nodes: StartNodes, how: str
) -> None:
    async with a_network(server.url) as network:
        nodes = await asyncio.to_thread(start_nodes, network.url)

        async with nodes.under_load(_SKILLS) as load:
            await load.reached(3)
            if how == "during a commit":
                # The record of an upload; the statement itself is sent only once by a connection.
                network.loses_answer_to = lambda piece: b'"state":"RECEIVED"' in piece
                await network.lost.wait()
                network.loses_answer_to = lambda _: False
            if how == "stall":
                network.stall()
            else:
                network.cut()
            await asyncio.sleep(_CUT_SECONDS)
            network.repair()
        await nodes.settled()

        if how != "stall":  # requests that were under way go on when packets arrive again
            assert load.answers["503"] > 0
        assert await find_mistakes(nodes, _SKILLS, load) == []
        assert await nodes.stop() == []


async def test_queries_that_are_slow_end_in_an_error_and_not_in_a_hanging_request(
    server: OwnServer, start_nodes: StartNodes
) -> None:
    nodes = start_nodes(server.url)

    async with nodes.under_load(_SKILLS) as load:
        await load.reached(3)
        # Longer than the lock timeout of the nodes.
        await asyncio.to_thread(
            server.sql, "BEGIN; LOCK TABLE vskill.state; SELECT pg_sleep(15); COMMIT"
        )
    await nodes.settled()

    assert load.answers["503"] > 0
    assert await find_mistakes(nodes, _SKILLS, load) == []
    assert await nodes.stop() == []


async def test_all_connections_are_taken_by_others(
    server: OwnServer, start_nodes: StartNodes
) -> None:
    nodes = start_nodes(server.url)

    async with nodes.under_load(_SKILLS) as load:
        await load.reached(3)
        others = await _take_all_connections(server)
        answer = await nodes.ask("/readyz")
        await asyncio.sleep(5)
        for other in others:
            await other.close()
    await nodes.settled()

    assert answer.status_code == 503
    assert load.answers["503"] > 0
    assert await find_mistakes(nodes, _SKILLS, load) == []
    assert await nodes.stop() == []


async def _take_all_connections(server: OwnServer) -> list[PostgresConnection]:
    """Take every connection, and those of the nodes, until they have none."""
    taken: list[PostgresConnection] = []
    while True:
        try:
            taken.append(await asyncpg.connect(server.admin_url))
        except asyncpg.TooManyConnectionsError:
            ended = await taken[0].fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE usename = 'vskill'"
            )
            if not ended:
                return taken


async def test_the_disk_of_postgresql_is_full(server: OwnServer, start_nodes: StartNodes) -> None:
    with _a_small_disk(server) as disk:
        server.sql(f"CREATE TABLESPACE small LOCATION '{disk}/space'")
        server.sql("GRANT CREATE ON TABLESPACE small TO vskill")
        server.sql("ALTER ROLE vskill SET default_tablespace = small")
        nodes = await asyncio.to_thread(start_nodes, server.url)

        async with nodes.under_load(_SKILLS) as load:
            await load.reached(3)
            _fill(disk)
            while not load.answers["503"]:
                await asyncio.sleep(0.1)
            (disk / "filler").unlink()
        await nodes.settled()

        assert await find_mistakes(nodes, _SKILLS, load) == []
        assert await nodes.stop() == []
        server.end()


@contextmanager
def _a_small_disk(server: OwnServer) -> Iterator[Path]:
    # Not in the folder of the test, which nobody else may read.
    folder = Path(tempfile.mkdtemp())
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        skip_without(
            "the right to mount a file system",
            untested="PostgreSQL on a full disk",
            get_it="run this test as root",
        )
    try:
        folder.chmod(0o755)
        server.own(folder / "space")
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def _fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while filler.write(bytes(4096)):
            pass


async def test_nodes_whose_clocks_differ_by_ten_minutes(
    server: OwnServer, start_nodes: StartNodes
) -> None:
    nodes = start_nodes(server.url, workers=0)
    for seconds in (-600, 600):
        nodes.add_worker(prefix=[sys.executable, "-P", _WRONG_CLOCK, str(seconds)])

    async with nodes.under_load(_SKILLS) as load:
        pass
    await nodes.settled()

    assert await find_mistakes(nodes, _SKILLS, load) == []
    submissions = [
        await nodes.get_json(f"/api/v1/submissions/{submission_id}")
        for submission_id in load.ids.values()
    ]
    # A lease that ended early would have given a submission to the other worker.
    triggers = {event["trigger"] for each in submissions for event in each["stateHistory"]}
    assert not triggers & {"redeliver", "recover"}
    assert await nodes.stop() == []


async def test_a_failover_to_a_standby_that_lost_commits(
    server: OwnServer, start_nodes: StartNodes
) -> None:
    with server.a_standby() as standby:
        url = f"{server.url},{standby.host}&target_session_attrs=read-write"
        nodes = await asyncio.to_thread(start_nodes, url)

        async with nodes.under_load(_SKILLS) as load:
            await load.reached(6)
            standby.stop_following()
            kept = set(load.ids)
            await load.reached(12)
            await asyncio.to_thread(server.kill)
            may_be_lost = frozenset(load.ids[name] for name in set(load.ids) - kept)
            standby.promote()
        await nodes.settled()

        assert may_be_lost
        assert await find_mistakes(nodes, _SKILLS, load, may_be_lost=may_be_lost) == []
        assert await nodes.stop() == []


async def test_a_node_that_starts_before_postgresql_waits_for_it(
    server: OwnServer, start_nodes: StartNodes
) -> None:
    nodes = await asyncio.to_thread(start_nodes, server.url)
    for node in nodes.all:
        await asyncio.to_thread(node.kill)
    await asyncio.to_thread(server.stop)
    for node in nodes.all:
        node.restart()
    # By then all of them have tried to connect.
    await asyncio.sleep(10)
    assert [node.process.is_alive for node in nodes.all] == [True] * len(nodes.all)

    await asyncio.to_thread(server.start)
    async with nodes.under_load(_SKILLS) as load:
        pass
    await nodes.settled()

    assert await find_mistakes(nodes, _SKILLS, load) == []
    assert await nodes.stop() == []


@pytest.mark.parametrize("how", ["cut", "stall"])
async def test_the_blob_store_is_down_or_slow(
    server: OwnServer, start_nodes: StartNodes, how: str
) -> None:
    bucket = an_empty_bucket()
    endpoint = bucket.url.partition("endpoint=")[2]
    async with a_network_to_http(endpoint) as network:
        nodes = await asyncio.to_thread(
            start_nodes, server.url, **_blob_settings(bucket, network.url)
        )

        async with nodes.under_load(_SKILLS) as load:
            await load.reached(3)
            getattr(network, how)()
            while not load.answers["503"]:
                await asyncio.sleep(0.1)
            network.repair()
        await nodes.settled()

        assert await find_mistakes(nodes, _SKILLS, load) == []
        assert await nodes.stop() == []


async def test_an_archive_is_missing_in_the_blob_store(
    server: OwnServer, start_nodes: StartNodes, tmp_path: Path
) -> None:
    skills = make_skills(2, kind="plain")
    store = tmp_path / "blobs"
    store.mkdir()
    nodes = await asyncio.to_thread(start_nodes, server.url, blobs_url=f"file://{store}")
    async with nodes.under_load(skills) as load:
        pass
    await nodes.settled()
    answers = [await _download(nodes, skill.name) for skill in skills]
    gone = next(
        file
        for file in store.rglob("*")
        if file.is_file() and file.read_bytes() == answers[0].content
    )

    away = gone.rename(store / "away")
    missing = [await _download(nodes, skill.name) for skill in skills]
    away.rename(gone)

    assert [answer.status_code for answer in answers] == [200, 200]
    assert [answer.status_code for answer in missing] == [503, 200]
    assert int(missing[0].headers["retry-after"]) > 0
    assert await find_mistakes(nodes, skills, load) == []
    assert await nodes.stop() == []


def _blob_settings(bucket: BlobOptions, endpoint: str) -> dict[str, str]:
    url, _, _ = bucket.url.partition("endpoint=")
    return {
        "blobs_url": f"{url}endpoint={endpoint}",
        "blobs_key_id": bucket.key_id,
        "blobs_key": bucket.key.reveal(),
    }


async def _download(nodes: Nodes, name: str) -> httpx.Response:
    return await nodes.ask(f"/api/v1/skills/{quote(f'@ada/{name}')}/download")
