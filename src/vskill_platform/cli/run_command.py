"""Run a command: settings from the environment, and one env per command."""

import os
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import msgspec
import uvloop

from vskill_platform import __version__
from vskill_platform.base.clock import SystemClock
from vskill_platform.base.metrics import start_metrics
from vskill_platform.base.process_limits import check_memory_limit
from vskill_platform.base.telemetry import get_logger, set_up_logs
from vskill_platform.base.tracing import tracing
from vskill_platform.cli.lazy import load
from vskill_platform.errors import ConfigError
from vskill_platform.model.policy import Policy
from vskill_platform.model.scanner import ScannerInUse
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.open_env import open_reading_env, open_worker_env
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import Settings, load_settings, variable

log = get_logger(__name__)

Result = TypeVar("Result")

#: How long `serve` and `work` check the database for damage before they start.
_CHECK_AT_START = timedelta(seconds=5)


def run_command(
    work: Callable[[], Awaitable[Result]],
    *,
    create: bool = False,
    read_only: bool = False,
    with_policy: bool = False,
) -> Result:
    """Run *work* with an env bound; with *create*, a missing database is created.

    With *read_only* it works on a full disk and with files that cannot be written. With
    *with_policy* the operator's policy applies, and an invalid one stops the command.
    """
    settings = current_settings()
    policy = read_current_policy(settings) if with_policy else None

    async def run(env: WorkerEnv) -> Result:
        return await run_with_worker_env(env, with_saved_policy if with_policy else work)

    async def with_saved_policy() -> Result:
        bind = load("vskill_platform.publish.policy.current_policy:run_with_current_policy")
        result: Result = await bind(work)
        return result

    if read_only:
        return uvloop.run(_open_and_look(settings, run, policy=policy))
    return uvloop.run(_open_and_run(settings, run, create=create, policy=policy))


def run_worker(
    work: Callable[[WorkerEnv], Awaitable[Result]], *, process: int | None = None
) -> Result:
    """Run a command that processes submissions; an invalid policy stops it here.

    For one of several processes, *process* is its number, which is also part of its name.
    """
    settings = current_settings()
    if process is not None:
        settings = msgspec.structs.replace(settings, node=f"{settings.node}-{process + 1}")
    check_memory_limit()
    policy = read_current_policy(settings)
    scanners = current_scanners(settings, policy)
    _remove_abandoned_folders()
    start_metrics()
    with tracing(__version__):
        return uvloop.run(
            _open_and_run(
                settings,
                work,
                create=True,
                check_for=_CHECK_AT_START,
                policy=policy,
                scanners=scanners,
            )
        )


def _remove_abandoned_folders() -> None:
    """Remove the folders of killed processes at once: after a crash, the disk may be full."""
    removed: int = load("vskill_platform.fetch.temporary_folders:sweep_workspaces")()
    if removed:
        log.info("abandoned work folders removed", folders=removed)


def read_current_policy(settings: Settings) -> Policy:
    """Read the configured policy; warn about expired suppressions."""
    if not settings.policy:
        return Policy()
    try:
        policy: Policy = load("vskill_platform.scan.apply_policy:load_policy")(
            Path(settings.policy)
        )
    except ConfigError as error:
        raise ConfigError(f"{variable('policy')}: {error}") from error
    today = SystemClock().now().date()
    for item in policy.suppressions:
        if item.is_expired(today):
            log.warning(
                "suppression expired", rule=item.rule, path=item.path, expires=str(item.expires)
            )
    return policy


def current_scanners(settings: Settings, policy: Policy) -> tuple[ScannerInUse, ...]:
    """Return the scanners that the policy names; without any, load nothing."""
    if not policy.scanners and not settings.scanners:
        return ()
    found: tuple[ScannerInUse, ...] = load(
        "vskill_platform.scan.external.load_scanners:scanners_in_use"
    )(settings, policy)
    return found


def current_settings() -> Settings:
    settings = load_settings(os.environ)
    set_up_logs(level=settings.log_level, as_json=settings.log_format == "json")
    return settings


async def _open_and_run(
    settings: Settings,
    work: Callable[[WorkerEnv], Awaitable[Result]],
    *,
    create: bool,
    check_for: timedelta = timedelta(0),
    policy: Policy | None = None,
    scanners: tuple[ScannerInUse, ...] = (),
) -> Result:
    async with open_worker_env(
        settings, create=create, check_for=check_for, policy=policy, scanners=scanners
    ) as env:
        return await work(env)


async def _open_and_look(
    settings: Settings,
    work: Callable[[WorkerEnv], Awaitable[Result]],
    *,
    policy: Policy | None,
) -> Result:
    async with open_reading_env(settings, policy=policy) as env:
        return await work(env)
