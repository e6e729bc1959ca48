"""`sessions`: your browser sessions on a registry."""

from typing import Any

import click

from vskill_platform.cli.local_or_remote import json_option, registry_option, run_remote

_HERE = "sessions"
_PATH = "/api/v1/account/sessions"


@click.group()
def sessions() -> None:
    """List or end your browser sessions on a registry.

    Your tokens stay valid; `logout` revokes that of this machine.
    """


@sessions.command("list")
@json_option
@registry_option
def list_command(*, as_json: bool, registry: str | None) -> None:
    """List your sessions, the most recently used first."""
    run_remote(f"{_HERE}:show_all", registry, as_json=as_json)


@sessions.command()
@click.argument("session_id", metavar="ID", required=False)
@click.option("--all", "is_all", is_flag=True, help="End all sessions.")
@json_option
@registry_option
def end(*, session_id: str | None, is_all: bool, as_json: bool, registry: str | None) -> None:
    """End a session, or all of them."""
    if bool(session_id) == is_all:
        raise click.UsageError("name a session, or use --all")
    run_remote(f"{_HERE}:end_some", registry, session_id=session_id, as_json=as_json)


def show_all(registry: Any, *, as_json: bool) -> None:
    from vskill_platform.cli.output.show_sessions import show_sessions  # noqa: PLC0415 - after --help
    from vskill_platform.cli.output.terminal import print_json  # noqa: PLC0415 - as above
    from vskill_platform.client.shapes import Sessions  # noqa: PLC0415 - as above

    found: Sessions = registry.get_json(_PATH, Sessions)
    if as_json:
        print_json(found)
        return
    show_sessions(
        (one["id"], one["lastUsedAt"], one["expiresAt"], one["address"], one["browser"])
        for one in found["sessions"]
    )


def end_some(registry: Any, *, session_id: str | None, as_json: bool) -> None:
    from vskill_platform.cli.output.terminal import echo, print_json  # noqa: PLC0415 - after --help
    from vskill_platform.client.addresses import segment  # noqa: PLC0415 - as above
    from vskill_platform.client.registry import ANY_OBJECT  # noqa: PLC0415 - as above

    path = f"{_PATH}/{segment(session_id)}" if session_id else "/api/v1/auth/sign-out-all"
    registry.delete_json(path, ANY_OBJECT)
    if as_json:
        print_json({"registry": registry.url, "ended": session_id or "all"})
        return
    what = f"Session {session_id} has" if session_id else "All your sessions have"
    echo(f"{what} ended on {registry.url}.")
