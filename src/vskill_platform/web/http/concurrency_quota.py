"""Limits on concurrent use: in total, and for each visitor."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from datetime import timedelta

import anyio
from litestar.types import Scope

from vskill_platform.errors import TooMany
from vskill_platform.web.http.rate_limits import quota_key
from vskill_platform.web.http.requests import WebConnection
from vskill_platform.web.http.visitor import visitor_of

_HELD = "held"


class ConcurrencyQuota:
    """A quota that is counted in memory, per node; requests above it are refused, or wait.

    While less than half is free, each visitor gets less: otherwise a few slow visitors could hold
    everything.
    """

    def __init__(
        self,
        *,
        in_all: int,
        each: int,
        what: str,
        retry_after: timedelta,
        patience: timedelta = timedelta(0),
    ) -> None:
        self.in_all = in_all
        self.each = each
        self.patience = patience
        self._what = what
        self._retry_after = retry_after
        self._held: Counter[str] = Counter()
        #: In order of arrival, so that no one waits forever.
        self._waiting: dict[anyio.Event, str] = {}

    @property
    def count(self) -> int:
        return self._held.total()

    @contextmanager
    def held_by(self, who: str) -> Iterator[None]:
        """Hold a slot for the block; raise if this visitor, or all visitors, hold too many."""
        self.take(who)
        try:
            yield
        finally:
            self.release(who)

    @asynccontextmanager
    async def held_in_turn(self, who: str) -> AsyncIterator[None]:
        """Hold a slot for the block; wait for it for at most `patience`."""
        await self._take_in_turn(who)
        try:
            yield
        finally:
            self.release(who)

    async def _take_in_turn(self, who: str) -> None:
        if self._is_free_for(who) or not self.patience:
            self.take(who)
            return
        released = anyio.Event()
        self._waiting[released] = who
        try:
            with anyio.move_on_after(self.patience.total_seconds()):
                await released.wait()
        except anyio.get_cancelled_exc_class():
            if released.is_set():  # cancelled just after it got the slot
                self.release(who)
            raise
        finally:
            self._waiting.pop(released, None)
        if not released.is_set():
            self.take(who)

    def _is_free_for(self, who: str) -> bool:
        free = self.in_all - self.count
        if free <= 0 or self._held[who] >= self.each:
            return False
        return self.each == self.in_all or self._held[who] < self._each_now(free)

    def _each_now(self, free: int) -> int:
        return max(1, min(self.each, 2 * self.each * free // self.in_all))

    def take(self, who: str) -> None:
        if self._held[who] >= self.each:
            most = f"at most {self.each} at a time"
            raise TooMany(f"{self._what}: {most}", retry_after=self._retry_after)
        if not self._is_free_for(who):
            raise TooMany(f"{self._what}: too many at the moment", retry_after=self._retry_after)
        self._held[who] += 1

    def release(self, who: str) -> None:
        self._held[who] -= 1
        for released, name in list(self._waiting.items()):
            if self.count >= self.in_all:
                break
            if self._is_free_for(name):
                del self._waiting[released]
                self._held[name] += 1
                released.set()
        self._held += Counter()  # drop visitors that hold nothing


@contextmanager
def release_after_response(scope: Scope) -> Iterator[None]:
    """Release what a request holds after its response."""
    with ExitStack() as held:
        scope["state"][_HELD] = held
        yield


def hold_until_response(connection: WebConnection, shares: ConcurrencyQuota) -> None:
    held: ExitStack = connection.scope["state"][_HELD]
    held.enter_context(shares.held_by(quota_key(visitor_of(connection))))
