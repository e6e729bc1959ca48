"""A judge for tests: a real HTTP server on loopback with scripted answers."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import date
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
from anyio import CapacityLimiter

from tests.local_server import local_server
from vskill_platform.scan.judge.ask_judge import JudgeQuestion, prepare_question
from vskill_platform.settings import Settings
from vskill_platform.stores.judge_store import JudgeDay
from vskill_platform.stores.records import get_record

KEY = "sk-test-0123456789"
_FENCE = re.compile(r"^\[([0-9a-f]{24}) FACTS\]$", re.MULTILINE)
_SPAN = re.compile(r"^(S\d+) ", re.MULTILINE)


class Request(msgspec.Struct, frozen=True):
    """What the judge was sent."""

    line: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """What of the skill is in the question."""
        return str(self.body["messages"][1]["content"])

    @property
    def call(self) -> str:
        found = _FENCE.search(self.text)
        assert found
        return found[1]

    @property
    def spans(self) -> list[str]:
        return _SPAN.findall(self.text)


Reply = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


class JudgeServer:
    """Gives its replies in turn, the last one for ever, and keeps what it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.replies: list[Reply] = []
        self.requests: list[Request] = []

    def will(self, *replies: Reply) -> None:
        self.replies = list(replies)

    def settings(self, base: Settings, **changes: Any) -> Settings:
        """Return settings that have this judge."""
        here = {"judge_url": self.url, "judge_model": "test-model", "judge_price_in": 2.0,
                "judge_price_out": 10.0}  # fmt: skip
        return msgspec.structs.replace(base, **{**here, **changes})

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _read(reader)
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        await reply(request, writer)


@asynccontextmanager
async def judge_server() -> AsyncIterator[JudgeServer]:
    judge = JudgeServer()
    async with local_server(judge.serve) as url:
        judge.url = f"{url}/v1"
        yield judge


def saying(verdict: str, *reasons: dict[str, Any], **changes: Any) -> Reply:
    """Answer as asked for; a reason without a place gets the first line of the manifest."""

    async def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        place = {"span": None, "file": "SKILL.md", "line": 1}
        answer = {
            "call": request.call,
            "verdict": verdict,
            "confidence": 0.95,
            "summary": "It tidies notes.",
            "reasons": [{**place, **reason} for reason in reasons],
            **changes,
        }
        await writing(msgspec.json.encode(answer).decode())(request, writer)

    return reply


def writing(content: str | None, **changes: Any) -> Reply:
    """Respond with a completion that contains these words."""
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "test-model-2026",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
    }
    return sending(msgspec.json.encode({**completion, **changes}))


def sending(body: bytes, status: int = 200, **headers: str) -> Reply:
    async def reply(_: Request, writer: asyncio.StreamWriter) -> None:
        lines = {"content-type": "application/json", "content-length": str(len(body)), **headers}
        writer.write(_head(status, lines) + body)
        await writer.drain()

    return reply


async def silence(_: Request, __: asyncio.StreamWriter) -> None:
    """Never say anything."""
    await asyncio.Event().wait()


async def endless(_: Request, writer: asyncio.StreamWriter) -> None:
    """Never stop to answer."""
    writer.write(_head(200, {"content-type": "application/json"}))
    while True:
        writer.write(b" " * 65536)
        await writer.drain()


async def hanging_up(_: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(_head(200, {"content-length": "1000"}) + b'{"choices": [')
    await writer.drain()


async def a_question(folder: Path, *, max_chars: int = 120_000) -> JudgeQuestion:
    return await prepare_question(folder, max_chars=max_chars, slots=CapacityLimiter(1))


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    line, *rest = head.strip().split("\r\n")
    headers = {name.lower(): value for name, value in (item.split(": ", 1) for item in rest)}
    body = await reader.readexactly(int(headers["content-length"]))
    return Request(line, headers, msgspec.json.decode(body))


async def used_on(day: date) -> JudgeDay:
    """Return what the judge has used on a day, as it is stored."""
    stored = await get_record(f"judge-day:{day}", JudgeDay)
    return stored.record if stored else JudgeDay(day=day)
