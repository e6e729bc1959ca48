"""Removing what has served its time: expired records, old traces of deletions, lost folders."""

import asyncio
from datetime import timedelta

from vskill_platform.fetch.workspace import sweep_workspaces
from vskill_platform.stores.db import bound_env

#: A reader of the change feed that was away for longer reads everything anew.
FEED_RETENTION = timedelta(days=7)


async def prune() -> str:
    env = bound_env()
    removed = await env.engine.prune(deleted_before=env.clock.now() - FEED_RETENTION)
    swept = await asyncio.to_thread(sweep_workspaces)
    return f"{removed} records and {swept} abandoned folders removed"
