"""Work that would block the event loop: three ways to run it elsewhere, and when to use which.

**A thread** (this module), for trusted code that waits for a disk or computes a little:

- `work_in_thread` for anything that writes files or must not be left running. A cancelled caller
  waits until the thread has ended.
- `in_few_threads` for short computations that visitors cause. No more than two threads run, however
  many visitors ask.

**A killable process** (`base/killable_process.py`), for our own code on hostile data. It has limits
on processor time and memory, and cancelling the caller kills it:

- `run_in_process` where the caller bounds how many run at once (scan slots).
- `run_for_visitor` where a visitor waits for the answer; it raises Busy when that takes too long.
- `base/worker_pool.py` for commands that scan many skills and have no event loop or threads: it
  forks, so that no process loads the rules again.

**A program** (`base/program.py`), for code that is not ours: git, third-party scanners, the notify
command. It runs in a process group of its own, with limits, and the whole group is killed at the
end.

Searches have a process of their own that stays with its index file
(`catalogue/search_process.py`): trusted code, but so much of it that threads would compete with the
event loop for the interpreter lock. `base/python_process.py` starts it, and killable processes.

Two more tools limit how much of this happens at once: `base/bounded_turns.py` (a bounded queue that
answers Busy) and anyio's CapacityLimiter. SQLite has its own threads (`engines/sqlite/threads.py`),
because a connection belongs to one thread, and so has password hashing (`access/passwords.py`).
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")

#: Two, so that one long computation does not delay all others; more threads would only share the
#: same processors.
_FEW_THREADS = ThreadPoolExecutor(2, thread_name_prefix="reading")


async def work_in_thread(work: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """Run *work* in a thread and wait for its end, even when cancelled.

    A thread cannot be stopped, and files that it writes after its workspace was removed would stay
    forever.
    """
    thread = asyncio.ensure_future(asyncio.to_thread(work, *arguments, **options))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait([thread])
        raise


async def in_few_threads(work: Callable[..., Result], *arguments: Any) -> Result:
    """Run a pure computation of bounded length; a cancelled caller does not wait for its end."""
    return await asyncio.get_running_loop().run_in_executor(_FEW_THREADS, work, *arguments)
