"""The client against the whole application, without a server in between."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar, cast

import httpx2
import pytest
from anyio.to_thread import run_sync

from tests.unit.web.api_cast import Registry as Served
from vskill_platform.client import registry as registry_module
from vskill_platform.client.registry import Registry

URL = "http://127.0.0.1:8000"

Given = ParamSpec("Given")
Result = TypeVar("Result")


class _ToLoop(httpx2.BaseTransport):
    """Hands each request of a thread to the application in the event loop."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._loop = asyncio.get_running_loop()
        self._asgi = httpx2.ASGITransport(cast("Any", served.app))
        #: The paths that were asked for.
        self.seen: list[str] = []
        #: Raised instead of an answer, if set.
        self.outage: Exception | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request.url.raw_path.decode())
        if self.outage:
            raise self.outage
        return asyncio.run_coroutine_threadsafe(self._answer(request), self._loop).result(20)

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        env = self._served.env
        assert await self._served.catalogue.wait_until(
            await env.engine.revision(), within=timedelta(minutes=1)
        )
        sent = httpx2.Request(
            request.method, request.url, headers=request.headers, content=request.read()
        )
        answer = await self._asgi.handle_async_request(sent)
        content = await answer.aread()
        return httpx2.Response(answer.status_code, headers=answer.headers, content=content)


class Wire:
    """The connection between the client and the application."""

    def __init__(self, transport: _ToLoop) -> None:
        self._transport = transport

    @property
    def seen(self) -> list[str]:
        return self._transport.seen

    def cut(self) -> None:
        """Let nobody reach the registry from now on."""
        self._transport.outage = httpx2.ConnectError("connection refused")

    def repair(self) -> None:
        self._transport.outage = None


@asynccontextmanager
async def wired(served: Served, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    """Let every client of this process talk to *served*, and none of them wait."""
    # A registry that does not answer is asked again at once.
    monkeypatch.setattr(registry_module, "_FIRST_WAIT_SECONDS", 0.0)
    transport = _ToLoop(served)
    client = httpx2.Client(transport=transport)
    monkeypatch.setattr(Registry, "_opened", lambda *_: client)
    yield Wire(transport)
    client.close()


async def in_thread(
    work: Callable[Given, Result], *arguments: Given.args, **options: Given.kwargs
) -> Result:
    """Run synchronous code of the client; the application answers in the meantime."""
    return await run_sync(lambda: work(*arguments, **options))
