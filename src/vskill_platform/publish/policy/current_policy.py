"""The policy that applies now: the operator's file, or else the last saved version.

It is read when a piece of work begins and stays the same until its end, so that no decision mixes
two policies.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import ConfigError, PolicyUnavailable
from vskill_platform.model.read_policy import read_policy
from vskill_platform.runtime.env import PolicyInUse, WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.scan.external.load_scanners import scanners_in_use
from vskill_platform.settings import Settings
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.stores.policy_store import CurrentPolicy, get_current, get_policy_version

log = get_logger(__name__)

Result = TypeVar("Result")


async def run_with_current_policy(work: Callable[[], Awaitable[Result]]) -> Result:
    """Run *work* with the current policy."""
    return await run_with_worker_env(await with_current_policy(bound_env()), work)


async def with_current_policy(env: WorkerEnv) -> WorkerEnv:
    """Return *env*, which must be bound, with the current policy."""
    if env.settings.policy:
        return env  # a file takes precedence; it was read at the start
    current = await get_current()
    if current is None:
        return env
    in_use = env.policies.get(current.record.sha256)
    if in_use is None:
        in_use = await _load(current.record, env.settings)
        env.policies.keep(current.record.sha256, in_use)
    return replace(env, policy=in_use.policy, scanners=in_use.scanners)


async def _load(current: CurrentPolicy, settings: Settings) -> PolicyInUse:
    version = await get_policy_version(current.number)
    if version is None:
        raise PolicyUnavailable(f"version {current.number} of the policy is missing")
    try:
        found = await work_in_thread(_read, version.text, settings)
    except ConfigError as error:
        raise PolicyUnavailable(
            f"version {current.number} of the policy cannot be applied by {settings.node}: {error}"
        ) from error
    today = get_now().date()
    for item in found.policy.suppressions:
        if item.is_expired(today):
            log.warning(
                "suppression expired", rule=item.rule, path=item.path, expires=str(item.expires)
            )
    return found


def _read(text: str, settings: Settings) -> PolicyInUse:
    """Parse a saved policy, which a release with other rules may have checked."""
    policy = read_policy(text, rules=None)
    return PolicyInUse(policy, scanners_in_use(settings, policy))
