"""`admin check`: find problems of a registry before its users do."""

import asyncio
import re
import shutil
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import NamedTuple
from urllib.parse import urlsplit

import click

from vskill_platform.access.oidc.provider import find_provider
from vskill_platform.access.users import has_admin
from vskill_platform.base.program import ProgramLimits, Streams, running_program
from vskill_platform.base.show_text import count_of
from vskill_platform.base.tls import certificate_file, tls_context
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.tables import show_table
from vskill_platform.cli.output.terminal import print_json
from vskill_platform.cli.run_command import current_scanners, current_settings, run_command
from vskill_platform.errors import VskillError
from vskill_platform.events.smtp import connect
from vskill_platform.mail_settings import mail_server
from vskill_platform.queue.health import check_health
from vskill_platform.setting_values import is_loopback
from vskill_platform.settings import variable
from vskill_platform.stores.db import bound_env, get_settings

OK, UNUSED, WARNING, PROBLEM = "ok", "not used", "warning", "problem"
_OLDEST_GIT = (2, 36)
_AT_MOST = timedelta(seconds=30)


class CheckResult(NamedTuple):
    result: str
    detail: str = ""


@click.command()
@json_option
@click.pass_context
def check(context: click.Context, *, as_json: bool) -> None:
    """Check settings, database, disk, git, email and sign-on.

    It changes nothing and sends nothing. The exit code is 1 if there is a problem.
    """
    found = run_command(_check_all, with_policy=True)
    if as_json:
        rows = [{"check": name, **one._asdict()} for name, one in found.items()]
        print_json({"checks": rows})
    else:
        show_table(
            ("check", "result", "detail"),
            [(name, one.result, one.detail) for name, one in found.items()],
        )
    if any(one.result == PROBLEM for one in found.values()):
        context.exit(1)


async def _check_all() -> dict[str, CheckResult]:
    found = await asyncio.gather(*(_run(each) for each in _CHECKS.values()))
    return dict(zip(_CHECKS, found, strict=True))


async def _run(each: Callable[[], Awaitable[CheckResult]]) -> CheckResult:
    try:
        async with asyncio.timeout(_AT_MOST.total_seconds()):
            return await each()
    except VskillError as error:
        return CheckResult(PROBLEM, str(error))
    except TimeoutError:
        return CheckResult(PROBLEM, f"no answer within {_AT_MOST.seconds} seconds")


async def _settings() -> CheckResult:
    # Everything else was read before: an invalid value stops this command with the variable's name.
    current_scanners(current_settings(), bound_env().policy)
    return CheckResult(OK, "`admin config` shows each with its origin")


async def _database() -> CheckResult:
    await bound_env().engine.check_writable()
    return CheckResult(OK, "it can be written")


async def _certificates() -> CheckResult:
    tls_context()
    return CheckResult(OK, f"those of {certificate_file() or 'the system'} are trusted")


async def _disk() -> CheckResult:
    await bound_env().engine.check_free_space()
    return CheckResult(OK, "there is room for submissions")


async def _git() -> CheckResult:
    program = shutil.which("git")
    if program is None:
        return CheckResult(PROBLEM, "git is not on the PATH; repositories cannot be fetched")
    streams = Streams(stdout=PIPE)
    async with running_program(
        [program, "--version"], env={}, streams=streams, limits=ProgramLimits()
    ) as process:
        printed = (await process.communicate())[0].decode(errors="replace").strip()
    version = re.search(r"(\d+)\.(\d+)", printed)
    if version is None or (int(version[1]), int(version[2])) < _OLDEST_GIT:
        return CheckResult(PROBLEM, f"{printed or program} is too old: 2.36 or newer is needed")
    return CheckResult(OK, printed)


async def _address() -> CheckResult:
    settings = get_settings()
    public = urlsplit(settings.public_url)
    if not settings.public_url:
        if is_loopback(settings.host):
            return CheckResult(OK, "only this machine can reach the registry")
        return CheckResult(WARNING, f"others can reach the registry: set {variable('public_url')}")
    if public.scheme != "https" and not is_loopback(public.hostname or ""):
        return CheckResult(
            WARNING, f"{settings.public_url} has no TLS: passwords are not encrypted"
        )
    if public.scheme == "https" and not settings.trusted_proxies:
        return CheckResult(
            WARNING,
            f"{variable('trusted_proxies')} names no proxy: all visitors share the limits of one",
        )
    return CheckResult(OK, settings.public_url)


async def _admin() -> CheckResult:
    if await has_admin():
        return CheckResult(OK)
    return CheckResult(WARNING, "there is no admin: `admin users admin-link` prints a link for one")


async def _queue() -> CheckResult:
    health = await check_health()
    if health.problems:
        return CheckResult(PROBLEM, "; ".join(health.problems))
    workers, letters = len(health.workers), health.queue.dead
    return CheckResult(OK, f"{count_of(workers, 'worker')}, {count_of(letters, 'dead letter')}")


async def _email() -> CheckResult:
    server = mail_server(get_settings())
    if server is None:
        return CheckResult(UNUSED)
    async with connect(server):
        return CheckResult(OK, f"{server.shown} answers; `admin mail test ADDRESS` sends an email")


async def _sign_on() -> CheckResult:
    if not get_settings().oidc_issuer:
        return CheckResult(UNUSED)
    provider = await find_provider()
    return CheckResult(OK, f"{provider.metadata.issuer} answers")


#: The checks, which run concurrently.
_CHECKS: dict[str, Callable[[], Awaitable[CheckResult]]] = {
    "settings": _settings,
    "database": _database,
    "disk": _disk,
    "git": _git,
    "certificates": _certificates,
    "address": _address,
    "admin": _admin,
    "queue": _queue,
    "email": _email,
    "sign-on": _sign_on,
}
