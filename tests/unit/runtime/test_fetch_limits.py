"""Limits on fetching: per host, per group, in total, and a breaker for silent hosts."""

import asyncio
from contextlib import ExitStack
from datetime import timedelta

import pytest

from vskill_platform.engines.ports import NOTHING_BUSY, BusyResources
from vskill_platform.errors import (
    FetchLimitReached,
    HostUnresponsive,
    SourceRefused,
    SourceUnavailable,
)
from vskill_platform.runtime.fetch_limits import (
    FIRST_BACKOFF_SECONDS,
    MAX_BACKOFF_SECONDS,
    FetchLimits,
)

HOST, OTHER = "https://git.example:443", "https://other.example:443"


class Hands:
    """A monotonic clock that a test turns."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def fail(limits: FetchLimits, host: str = HOST, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(HostUnresponsive), limits.turn(host, "ada"):
            raise HostUnresponsive("says nothing")


async def test_a_host_is_busy_when_enough_is_fetched_from_it() -> None:
    limits = FetchLimits(per_host=2, per_group=9)

    with limits.turn(HOST, "ada"), limits.turn(HOST, "ben"):
        busy = limits.busy()
        with pytest.raises(FetchLimitReached, match=r"git\.example"), limits.turn(HOST, "cyd"):
            pass
        with limits.turn(OTHER, "cyd"):
            pass

    assert busy == BusyResources(resources=(HOST,))
    assert limits.busy() == NOTHING_BUSY


async def test_a_group_is_busy_whatever_hosts_it_names() -> None:
    limits = FetchLimits(per_host=9, per_group=2)

    with limits.turn(HOST, "ada"), limits.turn(OTHER, "ada"):
        busy = limits.busy()
        with pytest.raises(FetchLimitReached), limits.turn("https://third.example:443", "ada"):
            pass

    assert busy == BusyResources(groups=("ada",))


async def test_all_fetches_together_leave_room_for_what_needs_none() -> None:
    limits = FetchLimits(per_host=9, per_group=9, in_all=2)

    with limits.turn(HOST, "ada"), limits.turn(OTHER, "ben"):
        assert limits.busy().all_resources
        with pytest.raises(FetchLimitReached), limits.turn("https://third.example:443", "cyd"):
            pass


async def test_sources_without_a_host_are_not_limited() -> None:
    limits = FetchLimits(per_host=1, per_group=1, in_all=1)

    with ExitStack() as held:
        for _ in range(20):
            held.enter_context(limits.turn("", "ada"))

        assert limits.busy() == NOTHING_BUSY


async def test_waiters_are_notified_when_a_fetch_ends() -> None:
    limits = FetchLimits()
    with limits.turn(HOST, "ada"):
        waiting = asyncio.create_task(limits.wait_until_freed(timeout_seconds=3600))
        await asyncio.sleep(0)
        assert not waiting.done()

    await waiting


async def test_a_host_that_does_not_answer_is_left_alone_for_longer_each_time() -> None:
    hands = Hands()
    limits = FetchLimits(monotonic=hands)
    fail(limits, times=2)

    waits = []
    for _ in range(6):
        with pytest.raises(SourceUnavailable, match="has not answered") as told:
            limits.turn(HOST, "ben").__enter__()
        assert told.value.retry_after
        waits.append(told.value.retry_after)
        hands.now += told.value.retry_after.total_seconds()
        fail(limits)

    assert waits[:3] == [
        timedelta(seconds=factor * FIRST_BACKOFF_SECONDS + 1) for factor in (1, 2, 4)
    ]
    assert waits[-1] == timedelta(seconds=MAX_BACKOFF_SECONDS + 1)


async def test_one_failure_alone_is_not_held_against_a_host() -> None:
    limits = FetchLimits()

    fail(limits)

    with limits.turn(HOST, "ada"), limits.turn(HOST, "ben"):
        pass


async def test_after_the_break_one_fetch_tries_and_an_answer_opens_the_host_again() -> None:
    hands = Hands()
    limits = FetchLimits(per_host=2, monotonic=hands)
    fail(limits, times=2)
    hands.now += FIRST_BACKOFF_SECONDS

    with limits.turn(HOST, "ada"):
        busy_while_trying = limits.busy()

    assert busy_while_trying == BusyResources(resources=(HOST,))
    with limits.turn(HOST, "ada"), limits.turn(HOST, "ben"):
        pass


async def test_a_refusal_is_an_answer() -> None:
    limits = FetchLimits()
    fail(limits)

    with pytest.raises(SourceRefused), limits.turn(HOST, "ada"):
        raise SourceRefused("there is no such repo")
    fail(limits)

    with limits.turn(HOST, "ben"):
        pass


async def test_another_host_is_not_touched() -> None:
    limits = FetchLimits()

    fail(limits, times=2)

    with limits.turn(OTHER, "ada"):
        pass
