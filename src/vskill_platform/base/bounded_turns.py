"""Limit concurrent work that visitors cause: some of it runs, a few wait, the rest get Busy."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import CapacityLimiter

from vskill_platform.errors import Busy


class BoundedTurns:
    def __init__(self, *, at_once: int, waiting: int, busy: str) -> None:
        self._slots = CapacityLimiter(at_once)
        self._limit = at_once + waiting
        self._busy = busy
        self._count = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a slot; raise Busy at once if the queue is full."""
        if self._count >= self._limit:
            raise Busy(self._busy)
        self._count += 1
        try:
            async with self._slots:
                yield
        finally:
            self._count -= 1
