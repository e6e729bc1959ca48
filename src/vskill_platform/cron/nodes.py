"""The jobs of each node: report what it runs, compare nodes, sweep its folders."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from vskill_platform import __version__
from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import EngineError
from vskill_platform.fetch.temporary_folders import sweep_workspaces
from vskill_platform.model.record import RECORD_FORMAT
from vskill_platform.publish.rescans.newest_rules import policy_digest
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.scan.facts.data_files import ruleset_version
from vskill_platform.stores.db import get_now
from vskill_platform.stores.node_store import Node, put_node

log = get_logger(__name__)

BEAT_EVERY_SECONDS = 10.0
SWEEP_EVERY = timedelta(hours=1)


async def beat(env: WorkerEnv, roles: Sequence[str]) -> None:
    """Record this node every few seconds until cancelled, and sweep its folders every hour."""
    started = swept = env.clock.now()

    async def once() -> None:
        await put_node(
            Node(
                node=env.settings.node,
                started_at=started,
                beat_at=get_now(),
                roles=tuple(roles),
                version=__version__,
                rules=ruleset_version(),
                policy=await policy_digest(env),
                record_format=RECORD_FORMAT,
            )
        )

    while True:
        try:
            await run_with_worker_env(env, once)
        except EngineError as error:
            log.error("node not recorded", error=str(error))
        swept = await sweep_if_due(env, swept)
        await asyncio.sleep(BEAT_EVERY_SECONDS)


async def sweep_if_due(env: WorkerEnv, last: datetime) -> datetime:
    """Remove this machine's abandoned work folders every hour; return the time of the last removal.

    This is not a scheduled job, because those run on one node, but each machine has its own
    folders.
    """
    now = env.clock.now()
    if abs(now - last) < SWEEP_EVERY:
        return last
    if removed := await work_in_thread(sweep_workspaces):
        log.info("abandoned work folders removed", folders=removed)
    return now


def find_differences(
    nodes: Sequence[Node], *, policy_saved_at: datetime | None = None
) -> list[str]:
    """Return a sentence for each difference between live nodes.

    A node that has not reported since the policy was saved may already apply the new one.
    """
    current = [node for node in nodes if not policy_saved_at or node.beat_at > policy_saved_at]
    figures = {
        "releases": {node.version for node in nodes},
        "rules": {node.rules for node in nodes},
        "policies": {node.policy or "none" for node in current},
    }
    return [
        f"Nodes run different {what}: {', '.join(sorted(values))}. Restart those that are behind."
        for what, values in figures.items()
        if len(values) > 1
    ]
