"""A server on loopback with scripted responses, for the duration of a test."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from anyio import CancelScope

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def local_server(answer: Answer) -> AsyncIterator[str]:
    """Give every caller the same answer; yields the server's URL."""
    visits: dict[asyncio.Task[None] | None, CancelScope] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Who asks may hang up at any moment, in the middle of the question too.
        with CancelScope() as visit, suppress(ConnectionError, EOFError):
            visits[asyncio.current_task()] = visit
            await answer(reader, writer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            for visit in visits.values():  # an answer without an end finds one
                visit.cancel()
            await asyncio.gather(*filter(None, visits))
