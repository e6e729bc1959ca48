"""Access to the database of the current worker env, for all stores.

Outside a worker env it raises; there is no default database.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from vskill_platform.engines.blobs.blobs import Blobs
from vskill_platform.engines.operations import Operation, Put
from vskill_platform.engines.ports import KeyValueStore, MessageQueue
from vskill_platform.errors import NoWorkerEnv
from vskill_platform.model.unknown_fields import restore_unknown
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
    """Commit all operations or none; changed records keep fields unknown to this release."""
    env = bound_env()
    if env.unknown_fields:
        operations = [_with_unknown(operation, env) for operation in operations]
    return await env.engine.commit(operations)


async def check_free_space() -> None:
    """Raise if the database has no room for new submissions."""
    await bound_env().engine.check_free_space()


def _with_unknown(operation: Operation, env: WorkerEnv) -> Operation:
    if not isinstance(operation, Put) or not operation.expected:
        return operation  # it was not read before, so nothing has to be restored
    unknown = env.unknown_fields.get((operation.key, operation.expected))
    if unknown is None:
        return operation
    tree = restore_unknown(msgspec.json.decode(operation.value), unknown)
    return msgspec.structs.replace(operation, value=msgspec.json.encode(tree))


def bound_env() -> WorkerEnv:
    env = get_worker_env()
    if env is None:
        raise NoWorkerEnv
    return env
