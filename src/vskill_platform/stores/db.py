"""Access to the database of the current worker env, for all stores.

Outside a worker env it raises; there is no default database.
"""

from collections.abc import Sequence
from datetime import datetime

from vskill_platform.engines.blobs.blobs import Blobs
from vskill_platform.engines.ports import KeyValueStore, MessageQueue, Operation
from vskill_platform.errors import NoWorkerEnv
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import get_worker_env
from vskill_platform.settings import Settings


def get_kv() -> KeyValueStore:
    return bound_env().engine.kv


def get_blobs() -> Blobs:
    return bound_env().engine.blobs


def get_queue() -> MessageQueue:
    return bound_env().engine.queue


def get_settings() -> Settings:
    return bound_env().settings


def get_now() -> datetime:
    return bound_env().clock.now()


async def commit(operations: Sequence[Operation]) -> int | None:
    return await bound_env().engine.commit(operations)


def bound_env() -> WorkerEnv:
    env = get_worker_env()
    if env is None:
        raise NoWorkerEnv
    return env
