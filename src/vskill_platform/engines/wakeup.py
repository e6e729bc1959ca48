"""Wait for an event without polling."""

import asyncio


class Wakeup:
    """Take a ticket, check, then wait: no wake-up since the ticket is missed."""

    def __init__(self) -> None:
        self._count = 0
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def is_awaited(self) -> bool:
        return bool(self._waiting)

    def ticket(self) -> int:
        return self._count

    def wake(self) -> None:
        self._count += 1
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, ticket: int, *, timeout_seconds: float | None = None) -> None:
        """Return at the first wake-up after *ticket* was taken, or when the time is up."""
        if ticket != self._count:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await asyncio.wait([waiter], timeout=timeout_seconds)
        finally:
            self._waiting.discard(waiter)
