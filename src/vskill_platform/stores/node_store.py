"""The processes of this registry: their roles, release, rules and policy.

Separate from the heartbeats of workers, whose records an older release must be able to read.
"""

import re
from datetime import datetime

from vskill_platform.engines.operations import NEVER, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import commit
from vskill_platform.stores.heartbeat_store import HEARTBEAT_TTL
from vskill_platform.stores.records import decode, encode, list_all_keys, read_each

_NODE = "node:"


class Node(Record, frozen=True, kw_only=True):
    node: str
    started_at: datetime
    beat_at: datetime
    #: Its roles: web, worker, cron.
    roles: tuple[str, ...]
    #: The release.
    version: str
    #: Digests of the rules and of the policy; empty without a policy.
    rules: str
    policy: str
    #: The record format that it can read; see RECORD_FORMAT.
    record_format: int = 0

    @property
    def release(self) -> tuple[int, ...]:
        """The release as comparable numbers."""
        return tuple(int(number) for number in re.findall(r"\d+", self.version))


async def get_nodes() -> list[Node]:
    keys = await list_all_keys(_NODE)
    return await read_each(keys, lambda key, value: decode(key, value, Node))


async def all_nodes_know(record_format: int) -> bool:
    """Return whether every live node can read this record format, so that it may be written."""
    return all(node.record_format >= record_format for node in await get_nodes())


async def put_node(node: Node) -> None:
    await commit(
        [
            Put(
                _NODE + node.node,
                encode(node),
                due=NEVER,
                expires_at=node.beat_at + HEARTBEAT_TTL,
            )
        ]
    )
