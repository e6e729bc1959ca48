"""Removing what has served its time: expired records and old traces of deletions."""

from datetime import timedelta

from vskill_platform.stores.db import bound_env

#: A reader of the change feed that was away for longer reads everything anew.
FEED_RETENTION = timedelta(days=7)


async def prune() -> str:
    env = bound_env()
    removed = await env.engine.prune(deleted_before=env.clock.now() - FEED_RETENTION)
    return f"{removed} removed"
