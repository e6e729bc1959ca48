"""Limits on concurrent use: in total, and for each visitor."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

from litestar.types import Scope

from vskill_platform.errors import TooMany
from vskill_platform.web.http.rate_limits import quota_key
from vskill_platform.web.http.requests import Connection
from vskill_platform.web.http.visitor import visitor_of

_HELD = "held"


class ConcurrencyQuota:
    """Counted in memory, per node; requests above it are refused at once."""

    def __init__(self, *, in_all: int, each: int, what: str, retry_after: timedelta) -> None:
        self.in_all = in_all
        self.each = each
        self._what = what
        self._retry_after = retry_after
        self._held: Counter[str] = Counter()

    @property
    def count(self) -> int:
        return self._held.total()

    @contextmanager
    def held_by(self, who: str) -> Iterator[None]:
        """Hold one for the block; raise if this visitor, or all together, hold too many."""
        self.take(who)
        try:
            yield
        finally:
            self.release(who)

    def take(self, who: str) -> None:
        if self._held[who] >= self.each:
            most = f"at most {self.each} at a time"
            raise TooMany(f"{self._what}: {most}", retry_after=self._retry_after)
        if self.count >= self.in_all:
            raise TooMany(f"{self._what}: too many at the moment", retry_after=self._retry_after)
        self._held[who] += 1

    def release(self, who: str) -> None:
        self._held[who] -= 1
        self._held += Counter()  # drop visitors that hold nothing


@contextmanager
def release_after_answer(scope: Scope) -> Iterator[None]:
    """Release what a request holds once it is answered."""
    with ExitStack() as held:
        scope["state"][_HELD] = held
        yield


def hold_until_answered(connection: Connection, shares: ConcurrencyQuota) -> None:
    held: ExitStack = connection.scope["state"][_HELD]
    held.enter_context(shares.held_by(quota_key(visitor_of(connection))))
