"""Responses that cost much processor time for few bytes are cut early."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
import pytest

from tests.local_server import local_server
from vskill_platform.base.outgoing_http import (
    MAX_HEAD_BYTES,
    BodyTooLarge,
    open_http_client,
    read_body,
)

_Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
_INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"


def answering(*pieces: bytes, then_for_ever: bytes = b"") -> _Answer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"".join(pieces))
        await writer.drain()
        while then_for_ever:
            writer.write(then_for_ever * 100)
            await writer.drain()

    return answer


async def get(url: str, *, proxy: str | None = None, limit: int = 10_000_000) -> bytes:
    async with open_http_client(proxy=proxy) as client, client.stream("GET", url) as response:
        return await read_body(response, limit=limit)


@pytest.mark.parametrize("is_proxied", [False, True])
async def test_endless_interim_responses_are_cut(is_proxied: bool) -> None:
    async with local_server(answering(then_for_ever=_INTERIM)) as url:
        proxy = url if is_proxied else None
        with pytest.raises(httpx2.RemoteProtocolError, match="the head of the response"):
            await get("http://host.example/" if is_proxied else url, proxy=proxy)


async def test_some_interim_responses_are_read_over() -> None:
    few = _INTERIM * (MAX_HEAD_BYTES // len(_INTERIM) // 2)
    async with local_server(
        answering(few, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    ) as url:
        assert await get(url) == b"ok"


async def test_each_request_of_a_client_has_the_whole_limit() -> None:
    half = _INTERIM * (MAX_HEAD_BYTES // len(_INTERIM) // 2)
    ok = answering(half, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    async with local_server(ok) as url, open_http_client() as client:
        answers = [await client.get(url) for _ in range(4)]

    assert [answer.status_code for answer in answers] == [200] * 4


async def test_a_long_body_is_no_head() -> None:
    body = bytes(4 * MAX_HEAD_BYTES)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with local_server(answering(head, body)) as url:
        assert await get(url) == body


async def test_a_body_of_tiny_chunks_is_cut() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with local_server(answering(head, then_for_ever=b"1\r\nx\r\n")) as url:
        with pytest.raises(BodyTooLarge):
            await get(url)


async def test_a_body_over_the_limit_is_cut() -> None:
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    async with local_server(answering(head, then_for_ever=bytes(1000))) as url:
        with pytest.raises(BodyTooLarge):
            await get(url, limit=100_000)
