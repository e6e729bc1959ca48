"""A receiver of webhooks on loopback: it stores requests and responds as scripted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from standardwebhooks import Webhook

from tests.local_server import local_server


class Received(msgspec.Struct, frozen=True):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    def verified(self, secret: str) -> Any:
        """Return the payload as the public library reads it, if it accepts the signature."""
        return Webhook(secret).verify(self.body, self.headers)


class Receiver:
    def __init__(self) -> None:
        self.url = ""
        self.origin = ""
        self.got: list[Received] = []
        self.answer = b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"
        #: Keeps connections open after the answer until it is set.
        self.stays_open: asyncio.Event | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *fields = head.strip().split("\r\n")
        headers = dict(field.lower().split(": ", 1) for field in fields if field)
        cased = dict(field.split(": ", 1) for field in fields if field)
        headers |= {name.lower(): text for name, text in cased.items()}
        body = await reader.readexactly(int(headers["content-length"]))
        self.got.append(Received(line.split(" ")[1], headers, body))
        writer.write(self.answer)
        await writer.drain()
        if self.stays_open:
            await self.stays_open.wait()


def answering(status: str, text: str = "", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(text)}", *headers, "", text]
    return "\r\n".join(lines).encode()


@asynccontextmanager
async def a_receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    async with local_server(receiver.serve) as origin:
        receiver.origin, receiver.url = origin, f"{origin}/hook"
        yield receiver
