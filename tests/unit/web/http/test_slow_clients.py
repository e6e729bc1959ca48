"""Clients that hold a connection without using it are disconnected, slow ones are not."""

import asyncio
import inspect
import re
import socket
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import h11
import msgspec
import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from vskill_platform.cli.node.serve import _Server
from vskill_platform.web.http import slow_clients
from vskill_platform.web.http.slow_clients import (
    ConnectionQuota,
    TimeLimitedProtocol,
    holder_of,
    protocol_with,
)

_PATIENCE_SECONDS = 60
#: Methods of uvicorn's protocol that ours extends, with their arguments.
_OVERRIDDEN = {
    "connection_made": ["transport"],
    "connection_lost": ["exc"],
    "data_received": ["data"],
    "handle_events": [],
    "on_response_complete": [],
    "pause_writing": [],
    "resume_writing": [],
}
ANSWER = b"x" * 16 * 1024 * 1024


async def app(_: Any, receive: Any, send: Any) -> None:
    """Read all of a request and answer with more than a connection holds."""
    while (message := await receive())["type"] == "http.request":
        if not message["more_body"]:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for start in range(0, len(ANSWER), 65536):
                piece = ANSWER[start : start + 65536]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            return


@asynccontextmanager
async def a_server(
    shares: ConnectionQuota | None = None, app: Any = app
) -> AsyncIterator[tuple[str, int]]:
    protocol = protocol_with(shares) if shares else TimeLimitedProtocol
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            app, http=protocol, lifespan="off", log_config=None, timeout_keep_alive=60
        )
        server = _Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            server.force_exit = True
            await task


async def what_remains(reader: asyncio.StreamReader) -> bytes:
    """Return what comes until the other side hangs up."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            return await reader.read()
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(
    ("limit", "sent"),
    [
        ("HEAD_SECONDS", b""),
        ("FIRST_HEAD_SECONDS", b""),
        ("HEAD_SECONDS", b"GET / HTTP/1.1\r\nHost: x\r\nX-A: "),
        ("BODY_SECONDS", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf"),
    ],
    ids=["says nothing", "never said anything", "stops in the head", "stops in the body"],
)
async def test_a_request_without_end_is_disconnected(
    monkeypatch: pytest.MonkeyPatch, limit: str, sent: bytes
) -> None:
    monkeypatch.setattr(slow_clients, limit, 0.2)
    async with a_server() as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(sent)

        assert await what_remains(reader) == b""
        writer.close()


async def test_an_idle_client_is_disconnected_after_its_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def answer_and_hurry(scope: Any, receive: Any, send: Any) -> None:
        monkeypatch.setattr(slow_clients, "HEAD_SECONDS", 0.1)
        await app(scope, receive, send)

    async with a_server(app=answer_and_hurry) as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")

        assert len(await what_remains(reader)) > len(ANSWER)
        writer.close()


async def test_a_client_that_never_reads_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_clients, "RESPONSE_SECONDS", 0.2)
    lost = asyncio.Event()
    monkeypatch.setattr(
        TimeLimitedProtocol, "connection_lost", _also(TimeLimitedProtocol.connection_lost, lost)
    )
    async with a_server() as address:
        reader, writer = await asyncio.open_connection(*address, limit=1024)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")

        async with asyncio.timeout(_PATIENCE_SECONDS):
            await lost.wait()
        writer.close()
        assert len(await what_remains(reader)) < len(ANSWER)


async def test_a_body_that_moves_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_clients, "BODY_BYTES", 1)
    deadlines: list[float] = []
    noted = asyncio.Semaphore(0)
    wait_on = TimeLimitedProtocol._wait_on

    def note(protocol: TimeLimitedProtocol) -> None:
        wait_on(protocol)
        deadlines.append(protocol._reading.when() if protocol._reading else 0)
        noted.release()

    monkeypatch.setattr(TimeLimitedProtocol, "_wait_on", note)
    async with a_server() as address:
        reader, writer = await asyncio.open_connection(*address)
        await noted.acquire()  # for the head
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(3):
            await noted.acquire()
            writer.write(b"1\r\nx\r\n")
        await noted.acquire()
        writer.write(b"0\r\n\r\n")

        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()

    of_body = deadlines[1:5]  # when the head had come, and at each piece
    assert of_body == sorted(set(of_body))


def _also(method: Any, event: asyncio.Event) -> Any:
    def both(protocol: Any, error: Exception | None) -> None:
        method(protocol, error)
        event.set()

    return both


REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
OTHER = ("127.0.0.2", 0)


async def short_app(_: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"here"})


async def ask(
    address: tuple[str, int], *, local: tuple[str, int] | None = None
) -> tuple[bytes, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(*address, local_addr=local)
    writer.write(REQUEST)
    return (await what_remains(reader)).partition(b"\r\n")[0], writer


async def test_idle_connections_of_one_address_keep_nobody_out() -> None:
    shares = ConnectionQuota(in_all=50, each=5)
    async with a_server(shares, short_app) as address:
        idle = [await asyncio.open_connection(*address) for _ in range(20)]
        first_reader = idle[0][0]

        assert await what_remains(first_reader) == b""
        for local in (None, OTHER):
            answer, writer = await ask(address, local=local)
            assert answer == b"HTTP/1.1 200 OK"
            writer.close()
        for _, writer in idle:
            writer.close()


async def test_a_first_request_that_is_malformed_gets_a_400_and_no_crash(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with a_server(ConnectionQuota(in_all=50, each=5), short_app) as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n")
        answer = await what_remains(reader)
        writer.close()

    assert answer.startswith(b"HTTP/1.1 400")
    assert b"Content-Type: application/problem+json" in answer
    assert msgspec.json.decode(answer.partition(b"\r\n\r\n")[2])["code"] == "invalid_input"
    assert [line.message for line in caplog.records if line.exc_info] == []


async def test_an_address_whose_connections_are_all_at_work_is_refused_alone() -> None:
    shares = ConnectionQuota(in_all=50, each=2)
    at_work, go_on = asyncio.Semaphore(0), asyncio.Event()

    async def slow_app(scope: Any, receive: Any, send: Any) -> None:
        if scope["client"][0] == "127.0.0.1":
            at_work.release()
            await go_on.wait()
        await short_app(scope, receive, send)

    async with a_server(shares, slow_app) as address:
        busy = [asyncio.create_task(ask(address)) for _ in range(2)]
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await at_work.acquire()
            await at_work.acquire()
        reader, refused = await asyncio.open_connection(*address)
        said = await what_remains(reader)
        other, writer = await ask(address, local=OTHER)
        go_on.set()
        answers = await asyncio.gather(*busy)

    assert said.startswith(b"HTTP/1.1 503 ")
    assert b"too many connections from your address" in said
    assert other == b"HTTP/1.1 200 OK"
    assert [answer for answer, _ in answers] == [b"HTTP/1.1 200 OK"] * 2
    for one in (refused, writer, *(kept for _, kept in answers)):
        one.close()


async def test_a_trusted_proxy_has_no_share_and_a_full_server_drops_the_idle() -> None:
    shares = ConnectionQuota(in_all=10, each=2, proxies=["127.0.0.1/32"])
    async with a_server(shares, short_app) as address:
        idle = [await asyncio.open_connection(*address) for _ in range(10)]
        answer, writer = await ask(address, local=OTHER)

        assert answer == b"HTTP/1.1 200 OK"
        assert await what_remains(idle[0][0]) == b""
        answered, second = await ask(address)
        assert answered == b"HTTP/1.1 200 OK"
        for _, kept in (*idle, (None, writer), (None, second)):
            kept.close()


@pytest.mark.parametrize(
    ("address", "holder"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_connections_are_counted_by_address_or_network(address: str, holder: str) -> None:
    assert holder_of(address) == holder


async def test_the_internals_of_uvicorn_that_are_used_are_there() -> None:
    """A new version of uvicorn may be allowed in pyproject.toml once this passes with it."""
    protocol = TimeLimitedProtocol(
        uvicorn.Config(app, lifespan="off", log_config=None), uvicorn.server.ServerState(), {}
    )

    assert isinstance(protocol.conn, h11.Connection)
    assert protocol.conn.their_state is h11.IDLE
    assert {"transport", "cycle", "flow", "loop"} <= vars(protocol).keys()
    for method, arguments in _OVERRIDDEN.items():
        signature = inspect.signature(getattr(H11Protocol, method))
        assert list(signature.parameters) == ["self", *arguments], method
    assert "response_complete" in _attributes(RequestResponseCycle)
    assert "read_paused" in _attributes(FlowControl)


def test_the_version_of_uvicorn_is_bounded() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    (bound,) = [one for one in project["dependencies"] if one.startswith("uvicorn")]

    assert re.fullmatch(r"uvicorn>=[\d.]+,<[\d.]+", bound)


def _attributes(kind: type) -> set[str]:
    """Return the names that a class sets on itself."""
    return set(re.findall(r"self\.(\w+)\b[^=\n]*=", inspect.getsource(kind)))
