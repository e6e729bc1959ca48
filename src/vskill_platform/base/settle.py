"""Many awaits at once, none of which spoils another."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar, cast

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
    todo = _reserve(items, outcomes)

    async def run(first: tuple[int, Item]) -> None:
        for place, item in chain((first,), todo):
            try:
                outcomes[place] = await work(item)
            except Exception as error:  # noqa: BLE001 - handed back to the caller, in its place
                outcomes[place] = error

    # A pool over one shared iterator, not a task per item behind a semaphore: an item that
    # waits for its turn costs nothing.
    pool = [asyncio.create_task(run(first)) for first in islice(todo, at_once)]
    try:
        await asyncio.gather(*pool)
    finally:
        for task in pool:
            task.cancel()
        await asyncio.gather(*pool, return_exceptions=True)
    return outcomes


def _reserve(
    items: Iterable[Item], outcomes: list[Result | Exception]
) -> Iterator[tuple[int, Item]]:
    """Number the items as they are taken, and keep a place for the outcome of each."""
    for place, item in enumerate(items):
        outcomes.append(cast("Result", None))
        yield place, item
