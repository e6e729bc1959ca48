"""The CLI's doorway: settings from the environment, one env for one command."""

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import click
import msgspec
import uvloop

from vskill_platform.base.telemetry import set_up_logs
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.open_env import open_worker_env
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import Settings, load_settings

Result = TypeVar("Result")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def run_command(work: Callable[[], Awaitable[Result]], *, create: bool = False) -> Result:
    """Run *work* with an env bound; with *create*, a missing database is made."""

    async def run(env: WorkerEnv) -> Result:
        return await run_with_worker_env(env, work)

    return run_with_env(run, create=create)


def run_with_env(work: Callable[[WorkerEnv], Awaitable[Result]], *, create: bool) -> Result:
    settings = current_settings()
    return uvloop.run(_open_and_run(settings, work, create=create))


def current_settings() -> Settings:
    settings = load_settings(os.environ)
    set_up_logs(level=settings.log_level, as_json=settings.log_format == "json")
    return settings


def print_json(value: Any) -> None:
    """Print one value as indented JSON; durations are written in seconds."""
    encoded = msgspec.json.encode(_plain(value))
    click.echo(msgspec.json.format(encoded, indent=2))


def in_order(values: Sequence[Any]) -> list[Any]:
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value, str_keys=True)


async def _open_and_run(
    settings: Settings, work: Callable[[WorkerEnv], Awaitable[Result]], *, create: bool
) -> Result:
    async with open_worker_env(settings, create=create) as env:
        return await work(env)
