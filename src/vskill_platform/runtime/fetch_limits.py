"""Limits on fetching, per host and per group, and a circuit breaker for hosts that do not answer.

Counted in memory by each process. A host that does not answer must not occupy all slots of a
worker, as two requests with fifty paths each once did.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import msgspec

from vskill_platform.engines.ports import BusyResources
from vskill_platform.errors import (
    FetchLimitReached,
    HostUnresponsive,
    SourceRefused,
    SourceUnavailable,
)
from vskill_platform.settings import Settings

#: After this many failures in a row, fetches from a host pause for a while.
FAILURES_TO_OPEN = 2
#: The length of the first pause; it doubles with each further failure.
FIRST_BACKOFF_SECONDS = 30.0
MAX_BACKOFF_SECONDS = 300.0
#: How many failing hosts are remembered; the oldest failures are dropped first.
_MAX_HOSTS = 1_000


def message_slots(settings: Settings, *, scan_slots: int) -> int:
    """Return how many messages a worker holds: two per slot, one in its check, one in its fetch."""
    return min(settings.max_batch_size * settings.max_concurrency, 2 * scan_slots)


class _Failing(msgspec.Struct):
    """The circuit breaker of a host that does not answer."""

    failures: int = 0
    #: Until this moment nothing is fetched from it; afterwards, one fetch at a time.
    closed_until: float = 0.0


class FetchLimits:
    def __init__(
        self,
        *,
        per_host: int = 2,
        per_group: int = 4,
        in_all: int = 1_000,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_host, self._per_group, self._in_all = per_host, per_group, in_all
        self._monotonic = monotonic
        self._hosts: Counter[str] = Counter()
        self._groups: Counter[str] = Counter()
        self._failing: dict[str, _Failing] = {}
        self._freed = asyncio.Event()

    def busy(self) -> BusyResources:
        """Return the groups and hosts that may not start another fetch now."""
        return BusyResources(
            groups=tuple(g for g, count in self._groups.items() if count >= self._per_group),
            resources=tuple(h for h, count in self._hosts.items() if count >= self._limit_of(h)),
            all_resources=self._hosts.total() >= self._in_all,
        )

    async def wait_until_freed(self, *, timeout_seconds: float) -> None:
        """Wait until a fetch has ended, but at most for this time."""
        self._freed.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._freed.wait(), timeout_seconds)

    @contextmanager
    def turn(self, host: str, group: str) -> Iterator[None]:
        """Count a fetch from *host*; raise at once if it may not start now.

        FetchLimitReached means that it may start later, SourceUnavailable that the host does not
        answer. Without a host nothing is limited.
        """
        if not host:
            yield
            return
        self._check(host, group)
        self._hosts[host] += 1
        self._groups[group] += 1
        try:
            yield
        except HostUnresponsive:
            self._note_failure(host)
            raise
        except SourceRefused:  # the host did answer
            self._failing.pop(host, None)
            raise
        else:
            self._failing.pop(host, None)
        finally:
            self._hosts -= Counter((host,))
            self._groups -= Counter((group,))
            self._freed.set()

    def _check(self, host: str, group: str) -> None:
        failing = self._failing.get(host)
        left = failing.closed_until - self._monotonic() if failing else 0
        if left > 0:
            error = SourceUnavailable(f"{host} has not answered several times in a row")
            error.retry_after = timedelta(seconds=round(left) + 1)
            raise error
        if (
            self._hosts[host] >= self._limit_of(host)
            or self._groups[group] >= self._per_group
            or self._hosts.total() >= self._in_all
        ):
            raise FetchLimitReached(
                f"the limit of concurrent fetches from {host} or for the same submitter is reached"
            )

    def _limit_of(self, host: str) -> int:
        failing = self._failing.get(host)
        is_doubtful = failing is not None and failing.failures >= FAILURES_TO_OPEN
        return 1 if is_doubtful else self._per_host

    def _note_failure(self, host: str) -> None:
        failing = self._failing.pop(host, None) or _Failing()
        failing.failures += 1
        beyond = failing.failures - FAILURES_TO_OPEN
        if beyond >= 0:
            backoff = min(FIRST_BACKOFF_SECONDS * 2 ** min(beyond, 10), MAX_BACKOFF_SECONDS)
            failing.closed_until = self._monotonic() + backoff
        self._failing[host] = failing
        while len(self._failing) > _MAX_HOSTS:
            del self._failing[next(iter(self._failing))]
