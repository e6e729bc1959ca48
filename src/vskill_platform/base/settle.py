"""Many awaits at once, none of which spoils another."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: How many reads a store keeps in flight. Wide on purpose: the engine turns the gets that
#: wait together into one query, so the bound is there for memory, not for the database.
READS_AT_ONCE = 1024


async def settle(
    work: Callable[[Item], Awaitable[Result]],
    items: Iterable[Item],
    *,
    at_once: int = READS_AT_ONCE,
) -> list[Result | Exception]:
    """Run *work* on all items side by side; return each result or error, in order.

    Cancellation is not an error here: it ends every run and travels on.
    """
    outcomes: list[Result | Exception] = []
    # A sliding window, not a task for every item behind a semaphore: an item that waits for its
    # turn costs nothing. Work that is a future already needs no task at all.
    in_flight: deque[asyncio.Future[Result]] = deque()
    try:
        for item in items:
            if len(in_flight) == at_once:
                await _settle_oldest(in_flight, outcomes)
            run = work(item)
            in_flight.append(run if isinstance(run, asyncio.Future) else asyncio.ensure_future(run))
        while in_flight:
            await _settle_oldest(in_flight, outcomes)
    finally:
        for future in in_flight:
            future.cancel()
        await asyncio.gather(*in_flight, return_exceptions=True)
    return outcomes


async def _settle_oldest(
    in_flight: deque[asyncio.Future[Result]], outcomes: list[Result | Exception]
) -> None:
    """Wait for the oldest; then take it and all behind it that are done, each in its place."""
    if not in_flight[0].done():
        await asyncio.wait((in_flight[0],))
    while in_flight and in_flight[0].done():
        try:
            outcomes.append(in_flight.popleft().result())
        except Exception as error:  # noqa: BLE001 - handed back to the caller, in its place
            outcomes.append(error)
