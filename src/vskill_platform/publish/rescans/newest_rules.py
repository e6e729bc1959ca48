"""Check whether this node has the newest rules and policy of all nodes, as rescans require."""

from vskill_platform import __version__
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import PolicyUnavailable
from vskill_platform.model.policy import digest_of
from vskill_platform.publish.policy.current_policy import with_current_policy
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.scan.facts.data_files import ruleset_version
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.stores.node_store import Node, get_nodes

log = get_logger(__name__)


async def policy_digest(env: WorkerEnv) -> str:
    """Return the digest of the current policy, or a note if this node cannot apply it."""
    try:
        return digest_of((await with_current_policy(env)).policy)
    except PolicyUnavailable as error:
        log.error("policy cannot be applied", error=str(error))
        return "cannot be applied"


async def has_newest_rules() -> bool:
    """Return whether no live node has newer rules or another, newer policy than this one.

    The newest release wins, and within a release the node that was started last, because operators
    roll out a policy by restarting node after node.
    """
    nodes = await get_nodes()
    if not nodes:
        return True
    newest = max(nodes, key=lambda node: (node.release, node.started_at))
    env = bound_env()
    policy = await policy_digest(env)
    mine = Node(
        node=env.settings.node,
        started_at=get_now(),
        beat_at=get_now(),
        roles=(),
        version=__version__,
        rules=ruleset_version(),
        policy=policy,
    )
    if mine.release > newest.release:
        return True
    is_known = any(node.node == mine.node for node in nodes)
    if not is_known and mine.release == newest.release:
        return True  # a command is newer than all nodes
    return (mine.version, mine.rules, mine.policy) == (
        newest.version,
        newest.rules,
        newest.policy,
    )
