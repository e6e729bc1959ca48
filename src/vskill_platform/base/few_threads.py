"""Blocking work that visitors cause: however many ask, it has few threads and leaves the rest."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")

#: One that takes long must not hold up all others; more would only share the same processors.
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="reading")


async def in_few_threads(work: Callable[..., Result], *arguments: Any) -> Result:
    """Run pure *work* of bounded length; it gets no env, and its end is not waited for."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work, *arguments)
