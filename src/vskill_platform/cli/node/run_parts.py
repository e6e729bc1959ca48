"""Run the parts of a node together until they end."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any


async def run_parts(
    *parts: Coroutine[Any, Any, None], meanwhile: Sequence[Coroutine[Any, Any, None]]
) -> None:
    """Run all *parts* until they end, then cancel those in *meanwhile*.

    If one of them fails, the others are cancelled and the process exits with that error, so that
    a failed part is never overlooked.
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            background = [tasks.create_task(each) for each in meanwhile]
            await asyncio.wait([tasks.create_task(part) for part in parts])
            for task in background:
                task.cancel()
    except ExceptionGroup as errors:
        # The first error is the cause. It is raised alone, because commands report our own errors
        # without a traceback, but not in a group.
        raise errors.exceptions[0] from errors
