"""`serve --processes`: several processes on one port, each of which can handle any request."""

import os
import re
import select
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.acceptance.ports import free_port
from tests.acceptance.processes import PATIENCE_SECONDS, Running
from tests.acceptance.program import Platform
from tests.casts import a_skill_folder
from tests.people import PASSWORD, a_user, csrf_in
from tests.postgres import an_empty_schema
from vskill_platform.stores.node_store import get_nodes

#: So many connections that one process answering all of them is out of the question.
_CONNECTIONS = 8
_PID = re.compile(r"pid=(\d+)")


@pytest.fixture
def port() -> int:
    return free_port()


def _serve(platform: Platform, port: int, processes: int = 2) -> tuple[Running, list[int]]:
    """Start; return the supervisor, and the process ids once all of them listen."""
    server = platform.start("serve", "--processes", str(processes), port=str(port), node="web")
    lines = [server.wait_for("process ready") for _ in range(processes)]
    return server, [_pid(line) for line in lines]


def _pid(line: str) -> int:
    found = _PID.search(line)
    assert found, line
    return int(found[1])


@contextmanager
def _browser(port: int) -> Iterator[httpx.Client]:
    """A client whose every request opens a connection, so that any process may get it."""
    limits = httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, limits=limits) as client:
        yield client


@asynccontextmanager
async def _platform_on(engine: str, folder: Path) -> AsyncIterator[Platform]:
    if engine == "sqlite":
        yield Platform(folder)
        return
    async with an_empty_schema() as url:
        yield Platform(folder, database_url=url, cache_dir=str(folder / "cache"))


@pytest.mark.timeout(180)  # four processes start here, on a busy machine one after the other
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_any_process_answers_for_all_of_them(engine: str, tmp_path: Path, port: int) -> None:
    async with _platform_on(engine, tmp_path) as platform:
        server, pids = _serve(platform, port)
        await platform.inside(a_user)
        try:
            with _browser(port) as browser, browser.stream("GET", "/live/queue") as page:
                events = page.iter_lines()
                assert next(events) == ": listening"

                signed_in = _sign_in(browser)
                seen = {browser.get("/account").status_code for _ in range(_CONNECTIONS)}
                token = _sign_in_program(browser, port)
                known = {_whoami(port, token) for _ in range(_CONNECTIONS)}
                platform.submit(a_skill_folder(platform.folder))
                heard = next(line for line in events if line.startswith("event:"))
            nodes = {node.node: node.roles for node in await platform.inside(get_nodes)}
        finally:
            code = _stop_like_a_service_manager(server, pids)
            platform.end_everything()

    assert (signed_in, seen, known) == (303, {200}, {"ada"})
    assert heard == "event: changed"
    assert nodes == {"web-1": ("web", "worker", "cron"), "web-2": ("web",)}
    assert code == 0


def _stop_like_a_service_manager(server: Running, pids: list[int]) -> int:
    """Send a signal to every process, of which the first ones have already ended by then."""
    os.kill(server.pid, signal.SIGTERM)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    return server.wait()


def _sign_in(browser: httpx.Client) -> int:
    token = csrf_in(browser.get("/sign-in"))
    form = {"name": "ada", "password": PASSWORD, "csrf_token": token, "next": "/account"}
    return browser.post("/sign-in", data=form).status_code


def _sign_in_program(browser: httpx.Client, port: int) -> str:
    """Request a code, approve it as the signed-in user, and redeem it."""
    with _browser(port) as program:
        codes = program.post("/api/cli/device/code", data={"scope": "read"}).json()
    page = browser.get("/device", params={"user_code": codes["user_code"]})
    form = {"user_code": codes["user_code"], "csrf_token": csrf_in(page), "ruling": "approve"}
    assert browser.post("/device", data=form).status_code == 303
    asked = {
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": codes["device_code"],
    }
    with _browser(port) as program:
        answer = program.post("/api/cli/device/token", data=asked)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


def _whoami(port: int, token: str) -> str:
    with _browser(port) as program:
        answer = program.get("/api/v1/account", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["name"])


@pytest.mark.slow
def test_a_killed_process_is_restarted_while_the_other_answers(
    platform: Platform, port: int
) -> None:
    server, pids = _serve(platform, port)

    os.kill(pids[1], signal.SIGKILL)
    server.wait_for("process ended, restarting it")
    with _browser(port) as browser:
        answers = [browser.get("/healthz").status_code for _ in range(_CONNECTIONS)]
    restarted = _pid(server.wait_for("process ready"))
    with _watched(pids[0], restarted) as ends:
        server.kill()  # the supervisor
        ended = [bool(select.select([end], [], [], PATIENCE_SECONDS)[0]) for end in ends]

    assert answers == [200] * _CONNECTIONS
    assert restarted not in pids
    assert ended == [True, True]
    assert "Traceback" not in server.rest()


@contextmanager
def _watched(*pids: int) -> Iterator[list[int]]:
    """Give a descriptor for each process, which can be read as soon as the process has ended.

    A process that is about to end has closed its output before.
    """
    descriptors = [os.pidfd_open(pid) for pid in pids]
    yield descriptors
    for descriptor in descriptors:
        os.close(descriptor)


def test_an_error_of_the_first_process_ends_the_start(platform: Platform, port: int) -> None:
    refused = platform.run(
        "serve", "--processes", "3", port=str(port), policy=str(platform.folder / "none.toml")
    )

    assert (refused.code, refused.err.count("VSKILL_POLICY")) == (1, 1)


def test_a_port_on_which_another_program_listens_is_refused_even_if_it_could_be_shared(
    platform: Platform, port: int
) -> None:
    with socket.create_server(("127.0.0.1", port), reuse_port=True):
        refused = platform.run("serve", "--processes", "2", port=str(port))

    assert refused.code == 1
    assert f"cannot listen on 127.0.0.1:{port}" in refused.err


@pytest.mark.parametrize(("seconds", "is_taken_over"), [(15, False), (60, True)])
def test_a_job_of_a_killed_node_is_taken_over_within_a_minute(
    platform: Platform, seconds: int, *, is_taken_over: bool
) -> None:
    platform.run("work", "--drain")  # creates the database
    in_the_job = "vskill_platform.cron.prune:prune_audit"
    platform.run_killed("before", in_the_job, "tick", ago=timedelta(seconds=seconds))

    runs = msgspec.json.decode(platform.run("tick", "--json").out)

    assert ("prune" in {run["job"] for run in runs}) is is_taken_over
    assert [run for run in runs if run["is_failure"]] == []
