"""The command `vskill-platform`: every subcommand in one table, every error in one sentence."""

import gc
import sys
import traceback
from types import TracebackType

import click

from vskill_platform import __version__
from vskill_platform.base.safe_stderr import guard_stderr, guard_stdout
from vskill_platform.cli.admin.group import ALIASES
from vskill_platform.cli.lazy import LazyGroup, load
from vskill_platform.cli.local_or_remote import uses_named_database
from vskill_platform.errors import VskillError

_HERE = "vskill_platform.cli"
_USER, _MODERATION = f"{_HERE}.user_commands", f"{_HERE}.moderation_commands"
#: Every command that the help shows, by section.
SECTIONS = {
    "Publish": {
        "publish": f"{_HERE}.publish:publish",
        "scan": f"{_HERE}.scan.scan:scan",
        "submit": f"{_USER}:submit",
        "status": f"{_USER}:status",
        "submissions": f"{_USER}:submissions",
        "retry": f"{_USER}:retry",
        "withdraw": f"{_USER}:withdraw",
        "yank": f"{_USER}:yank",
        "unyank": f"{_USER}:unyank",
        "visibility": f"{_USER}:visibility",
        "deprecate": f"{_USER}:deprecate",
        "undeprecate": f"{_USER}:undeprecate",
        "delete": f"{_USER}:delete",
        "rename": f"{_USER}:rename",
        "transfer": f"{_USER}:transfer",
        "transfers": f"{_USER}:transfers",
        "follow": f"{_USER}:follow",
        "members": f"{_HERE}.members:members",
        "webhooks": f"{_HERE}.webhooks:webhooks",
        "trusted-publishers": f"{_HERE}.trusted_publishers:trusted_publishers",
        "ci-token": f"{_HERE}.trusted_publishers:ci_token",
        "discover": f"{_USER}:discover",
        "judge": f"{_HERE}.scan.judge:judge",
    },
    "Find": {
        "search": f"{_USER}:search",
        "versions": f"{_USER}:versions",
        "diff": f"{_USER}:diff",
        "info": f"{_HERE}.install.info:info",
    },
    "Install": {
        "install": f"{_HERE}.install.install:install",
        "update": f"{_HERE}.install.install:update",
        "outdated": f"{_HERE}.install.installed:outdated",
        "list": f"{_HERE}.install.installed:list_installed",
        "verify": f"{_HERE}.install.installed:verify",
        "remove": f"{_HERE}.install.install:remove",
    },
    "Sign in": {
        "login": f"{_HERE}.login:login",
        "logout": f"{_HERE}.login:logout",
        "whoami": f"{_HERE}.login:whoami",
        "registries": f"{_HERE}.login:registries",
        "sessions": f"{_HERE}.sessions:sessions",
        "delete-account": f"{_HERE}.delete_account:delete_account",
    },
    "Moderate": {
        "reviews": f"{_MODERATION}:reviews",
        "block": f"{_MODERATION}:block",
        "appeals": f"{_HERE}.appeals:appeals",
        "reports": f"{_HERE}.reports:reports",
    },
    "Run a registry": {
        "serve": f"{_HERE}.node.serve:serve",
        "admin": f"{_HERE}.admin.group:admin",
    },
}
COMMANDS = {name: place for section in SECTIONS.values() for name, place in section.items()}
_WRONG_USAGE = 2
#: Scripts that use the database of this machine list its submissions with `list`.
_LIST_OF_SUBMISSIONS = f"{_USER}:submissions"


class _Commands(LazyGroup):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "list" and uses_named_database():
            command: click.Command = load(_LIST_OF_SUBMISSIONS)
            return command
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=_Commands,
    sections=SECTIONS,
    hidden=ALIASES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="vskill-platform")
def cli() -> None:
    """Publish, find and verify agent skills, and run a registry for them."""
    if not gc.isenabled():  # the command is loaded; its modules stay until the end
        gc.freeze()
        gc.enable()


def print_crash(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print the traceback of a bug in our code, with control characters escaped."""
    lines = "".join(traceback.format_exception(kind, error, trace)).rstrip("\n").split("\n")
    load("vskill_platform.cli.output.terminal:echo")(*lines, err=True)


def _print_error(text: str) -> None:
    load("vskill_platform.cli.output.terminal:echo")(f"vskill-platform: {text}", err=True)


def main() -> None:
    sys.excepthook = print_crash
    # Imports create many objects but no garbage; collecting it takes a fifth of a short command.
    gc.disable()
    guard_stderr()
    if sys.stdout.encoding != "utf-8":  # such as Latin-1, which lacks the signs that we print
        guard_stdout()
    try:
        cli()
    except (VskillError, OSError, UnicodeEncodeError) as error:
        described = load(f"{_HERE}.output.errors:describe_error")(error)
        if described is None:
            raise
        _print_error(described)
        sys.exit(_WRONG_USAGE if isinstance(error, UnicodeEncodeError) else 1)
    finally:
        gc.freeze()  # otherwise Python searches all remaining objects before it exits
