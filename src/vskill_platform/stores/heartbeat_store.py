"""Heartbeats of workers, to detect a worker that is alive but makes no progress."""

from datetime import datetime, timedelta

from vskill_platform.engines.operations import NEVER, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import commit
from vskill_platform.stores.records import decode, encode, list_all_keys, read_each

_HEARTBEAT = "heartbeat:"
#: A worker without a heartbeat for this long is considered dead.
HEARTBEAT_TTL = timedelta(seconds=45)


class Heartbeat(Record, frozen=True, kw_only=True):
    node: str
    started_at: datetime
    beat_at: datetime
    in_flight: int
    #: How many messages this node has finished, with any result.
    handled: int
    last_handled_at: datetime | None = None


async def get_heartbeats() -> list[Heartbeat]:
    keys = await list_all_keys(_HEARTBEAT)
    return await read_each(keys, lambda key, value: decode(key, value, Heartbeat))


async def put_heartbeat(heartbeat: Heartbeat) -> None:
    await commit(
        [
            Put(
                _HEARTBEAT + heartbeat.node,
                encode(heartbeat),
                due=NEVER,
                expires_at=heartbeat.beat_at + HEARTBEAT_TTL,
            )
        ]
    )
