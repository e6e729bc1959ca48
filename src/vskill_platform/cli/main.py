"""The command `vskill-platform`: every subcommand in one table, every error in one sentence."""

import gc
import sys
import traceback
from types import TracebackType

import click

from vskill_platform import __version__
from vskill_platform.base.safe_stderr import guard_stderr
from vskill_platform.cli.lazy import LazyGroup, load
from vskill_platform.errors import VskillError

_HERE = "vskill_platform.cli"
COMMANDS = {
    "serve": f"{_HERE}.serve:serve",
    "scan": f"{_HERE}.scan:scan",
    "judge": f"{_HERE}.judge:judge",
    "discover": f"{_HERE}.discover:discover",
    "submit": f"{_HERE}.submit:submit",
    "status": f"{_HERE}.submissions:status",
    "list": f"{_HERE}.submissions:list_submissions",
    "retry": f"{_HERE}.retry_commands:retry",
    "requeue": f"{_HERE}.retry_commands:requeue",
    "withdraw": f"{_HERE}.retry_commands:withdraw",
    "work": f"{_HERE}.work:work",
    "tick": f"{_HERE}.work:tick",
    "stuck": f"{_HERE}.queue:stuck",
    "dead-letters": f"{_HERE}.dead_letters:dead_letters",
    "queue": f"{_HERE}.queue:queue",
    "reviews": f"{_HERE}.reviews:reviews",
    "pause": f"{_HERE}.queue:pause",
    "resume": f"{_HERE}.queue:resume",
    "similar": f"{_HERE}.similar:similar",
    "versions": f"{_HERE}.versions:versions",
    "diff": f"{_HERE}.versions:diff",
    "yank": f"{_HERE}.versions:yank",
    "unyank": f"{_HERE}.versions:unyank",
    "block": f"{_HERE}.block:block_group",
    "rescan": f"{_HERE}.rescan:rescan",
    "users": f"{_HERE}.users:users",
    "tokens": f"{_HERE}.tokens:tokens",
    "namespaces": f"{_HERE}.namespaces:namespaces",
    "backup": f"{_HERE}.backup:backup",
    "restore": f"{_HERE}.backup:restore",
    "audit": f"{_HERE}.audit:audit",
    "policy": f"{_HERE}.policy:policy",
    "scanners": f"{_HERE}.scanners:scanners",
    "config": f"{_HERE}.config:config",
    "admin": f"{_HERE}.admin:admin",
}


@click.group(
    cls=LazyGroup, places=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="vskill-platform")
def cli() -> None:
    """Run and use a verified registry of agent skills."""
    if not gc.isenabled():  # the command is loaded, and its modules stay until the end
        gc.freeze()
        gc.enable()


def print_crash(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print the traceback of a bug in our code, with control characters escaped."""
    lines = "".join(traceback.format_exception(kind, error, trace)).rstrip("\n").split("\n")
    load("vskill_platform.cli.terminal:echo")(*lines, err=True)


def main() -> None:
    sys.excepthook = print_crash
    # Imports create many objects and no garbage: collecting it takes a fifth of a short command.
    gc.disable()
    guard_stderr()
    try:
        cli()
    except VskillError as error:
        load("vskill_platform.cli.terminal:echo")(f"vskill-platform: {error}", err=True)
        sys.exit(1)
    finally:
        gc.freeze()  # otherwise Python searches all remaining objects before it exits
