"""The environment of the running work.

A ContextVar, not a module variable: every task has its own, so one batch that ends
cannot take the env away from another that is still in flight.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TypeVar

from vskill_platform.runtime.env import WorkerEnv

Result = TypeVar("Result")

worker_env_storage: ContextVar[WorkerEnv | None] = ContextVar("worker_env", default=None)


def get_worker_env() -> WorkerEnv | None:
    """Return the env of the running work, or None outside of any."""
    return worker_env_storage.get()


async def run_with_worker_env(env: WorkerEnv, work: Callable[[], Awaitable[Result]]) -> Result:
    """Run *work* with *env* bound; the previous env is restored afterwards."""
    token = worker_env_storage.set(env)
    try:
        return await work()
    finally:
        worker_env_storage.reset(token)
