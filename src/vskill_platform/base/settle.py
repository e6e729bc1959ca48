"""Run many awaitables concurrently, a bounded number at once; a failure does not affect others."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: How many reads a store keeps in flight. The bound protects memory, not the database, so it is
#: high: the engine turns concurrent gets into one query.
READS_AT_ONCE = 1024


async def settle(
    work: Callable[[Item], Awaitable[Result]],
    items: Iterable[Item],
    *,
    at_once: int = READS_AT_ONCE,
) -> list[Result | Exception]:
    """Run *work* on all items concurrently; return each result or error, in order.

    Cancellation is not treated as an error: it cancels every run and propagates.
    """
    outcomes: list[Result | Exception] = []
    runs: list[asyncio.Future[Result]] = []
    # A sliding window, not a task for every item behind a semaphore: a waiting item costs nothing,
    # and a slow item occupies only one slot of the window.
    in_flight: set[asyncio.Future[Result]] = set()
    try:
        for item in items:
            if len(in_flight) >= at_once:
                _, in_flight = await asyncio.wait(in_flight, return_when=asyncio.FIRST_COMPLETED)
            begun = work(item)
            run = begun if isinstance(begun, asyncio.Future) else asyncio.ensure_future(begun)
            runs.append(run)
            in_flight.add(run)
        for run in runs:
            if not run.done():
                await asyncio.wait((run,))
            try:
                outcomes.append(run.result())
            except Exception as error:  # noqa: BLE001 - returned to the caller, at its position
                outcomes.append(error)
    finally:
        left = [run for run in runs if not run.done()]
        for run in left:
            run.cancel()
        if left:
            await asyncio.gather(*left, return_exceptions=True)
    return outcomes
