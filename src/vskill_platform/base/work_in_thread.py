"""Blocking work beside the event loop that nobody leaves behind."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


async def work_in_thread(work: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """Run what writes to a workspace, or reads there, in a thread.

    Who is cancelled still waits for its end: a thread cannot be stopped, and what it writes after
    the workspace was removed would stay for ever.
    """
    thread = asyncio.ensure_future(asyncio.to_thread(work, *arguments, **options))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait([thread])
        raise
