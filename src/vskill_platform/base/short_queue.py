"""Work that visitors cause and that costs much: some at once, a few wait, the others come back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import CapacityLimiter

from vskill_platform.errors import Busy


class ShortQueue:
    def __init__(self, *, at_once: int, waiting: int, busy: str) -> None:
        self._places = CapacityLimiter(at_once)
        self._room = at_once + waiting
        self._busy = busy
        self._count = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a place; raise Busy at once if enough others wait already."""
        if self._count >= self._room:
            raise Busy(self._busy)
        self._count += 1
        try:
            async with self._places:
                yield
        finally:
            self._count -= 1
