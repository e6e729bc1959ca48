"""`users`: accounts and their roles."""

import getpass
import sys
from collections.abc import Awaitable, Callable

import click
from rich.table import Table

from vskill_platform.access.delete_account import (
    AccountDeletion,
    delete_account,
    preview_account_deletion,
)
from vskill_platform.access.mail_addresses import invite_by_mail, set_mail_address
from vskill_platform.access.oidc.accounts import link_subject, unlink_account
from vskill_platform.access.one_time_links import invite_admin, invite_user
from vskill_platform.access.second_factor.factors import reset_second_factor
from vskill_platform.access.sessions import browser_name, list_open_sessions
from vskill_platform.access.users import (
    add_user,
    disable_user,
    enable_user,
    find_user,
    set_break_glass,
    set_password,
    set_role,
    sign_out_everywhere,
)
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.show_account_deletion import show_account_deletion
from vskill_platform.cli.output.show_sessions import show_sessions
from vskill_platform.cli.output.terminal import Console, echo, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.model.user import Role, Session, User
from vskill_platform.stores.user_store import list_users

_name = click.argument("name")
_reason = click.option(
    "--reason", default="", metavar="TEXT", help="Reason, kept in the audit log."
)
_roles = click.Choice([role.value for role in Role])


@click.group()
def users() -> None:
    """Invite users, set their roles, disable or enable them."""


@users.command("list")
@json_option
def list_command(*, as_json: bool) -> None:
    """List all users."""
    found = run_command(list_users, read_only=True)
    if as_json:
        print_json(found)
        return
    table = Table("name", "role", "since (UTC)", "")
    for user in found:
        since = f"{user.created_at:%Y-%m-%d}"
        table.add_row(user.name, user.role, since, ", ".join(_notes(user)))
    Console().print(table)


@users.command()
@_name
@click.option("--role", type=_roles, default=Role.PUBLISHER.value, show_default=True)
@click.option("--mail", metavar="ADDRESS", help="Email the link to this address.")
@json_option
def add(*, name: str, role: str, mail: str | None, as_json: bool) -> None:
    """Invite a user.

    It prints a link to choose a password, valid once, for 24 hours. With --mail the link is mailed
    instead, by a running server.
    """

    async def work() -> tuple[User, str]:
        if mail:
            return await invite_by_mail(name, Role(role), mail, actor=getpass.getuser()), ""
        user = await add_user(name, Role(role), actor=getpass.getuser())
        return user, await invite_user(user.name, actor=getpass.getuser())

    user, url = run_command(work, create=True)
    if as_json:
        print_json({"user": user, "link": url})
    elif not url:
        echo(f"{user.name} has the role {user.role}. An invitation will be emailed to {mail}.")
    else:
        echo(
            f"{user.name} has the role {user.role}. Send them this link (valid once, for 24 hours):"
        )
        echo(f"  {url}")


@users.command()
@_name
@json_option
def invite(*, name: str, as_json: bool) -> None:
    """Print a password reset link.

    It is valid once, for 24 hours.
    """

    async def work() -> str:
        return await invite_user(name, actor=getpass.getuser())

    _show_link(run_command(work), as_json=as_json)


@users.command("set-mail")
@_name
@click.argument("address")
def set_mail(*, name: str, address: str) -> None:
    """Set a user's email address.

    The user gets an email with a link to confirm it.
    """

    async def work() -> str:
        return (await set_mail_address(name, address, actor=getpass.getuser())).user

    echo(f"The email address of {run_command(work)} was set.")


@users.command("admin-link")
@json_option
def admin_link(*, as_json: bool) -> None:
    """Print a link that creates an admin.

    It is valid once, for 24 hours. Use it to regain access.
    """

    async def work() -> str:
        return await invite_admin(actor=getpass.getuser())

    _show_link(run_command(work, create=True), as_json=as_json)


@users.command()
@_name
@_reason
@json_option
def disable(*, name: str, reason: str, as_json: bool) -> None:
    """Disable a user at once.

    Sign-in, sessions and tokens stop working.
    """
    _change(lambda: disable_user(name, actor=getpass.getuser(), reason=reason), as_json=as_json)


@users.command("delete")
@_name
@_reason
@click.option("--dry-run", is_flag=True, help="Only show what would happen.")
@json_option
def delete_command(*, name: str, reason: str, dry_run: bool, as_json: bool) -> None:
    """Delete a user.

    Deletes tokens, sessions, addresses and links. Published skills stay, and the name is reserved.
    """

    async def work() -> AccountDeletion:
        if dry_run:
            return await preview_account_deletion(name)
        return await delete_account(name, actor=getpass.getuser(), reason=reason)

    found = run_command(work, read_only=dry_run)
    if as_json:
        print_json(found)
        return
    show_account_deletion(found, is_done=not dry_run)


@users.command()
@_name
@_reason
@json_option
def enable(*, name: str, reason: str, as_json: bool) -> None:
    """Enable a disabled user."""
    _change(lambda: enable_user(name, actor=getpass.getuser(), reason=reason), as_json=as_json)


@users.command("set-role")
@_name
@click.argument("role", type=_roles)
@_reason
@json_option
def set_role_command(*, name: str, role: str, reason: str, as_json: bool) -> None:
    """Change a user's role.

    It applies from the next request.
    """
    _change(
        lambda: set_role(name, Role(role), actor=getpass.getuser(), reason=reason),
        as_json=as_json,
    )


@users.command("break-glass")
@_name
@click.option("--off", is_flag=True, help="Make it a normal account again.")
@_reason
@json_option
def break_glass(*, name: str, off: bool, reason: str, as_json: bool) -> None:
    """Always let a user sign in with a password.

    Use it if passwords are turned off, to prepare for an outage of the sign-on provider. The
    account must not be linked to that provider.
    """
    _change(
        lambda: set_break_glass(name, is_on=not off, actor=getpass.getuser(), reason=reason),
        as_json=as_json,
    )


@users.command()
@_name
@click.argument("subject")
@_reason
@json_option
def link(*, name: str, subject: str, reason: str, as_json: bool) -> None:
    """Link a user to an account of the sign-on provider.

    SUBJECT is the claim `sub` of that account. Its groups then decide the user's role.
    """

    async def work() -> User:
        await link_subject(name, subject, actor=getpass.getuser(), reason=reason)
        return await find_user(name)

    _change(work, as_json=as_json)


@users.command()
@_name
@_reason
@json_option
def unlink(*, name: str, reason: str, as_json: bool) -> None:
    """Unlink a user from the sign-on provider."""

    async def work() -> User:
        await unlink_account(name, actor=getpass.getuser(), reason=reason)
        return await find_user(name)

    _change(work, as_json=as_json)


@users.command("reset-second-factor")
@_name
@_reason
@json_option
def reset_second_factor_command(*, name: str, reason: str, as_json: bool) -> None:
    """Remove the second factor of a user who has lost it.

    The user can then sign in with the password alone.
    """
    _change(
        lambda: reset_second_factor(name, actor=getpass.getuser(), reason=reason), as_json=as_json
    )


@users.command()
@_name
@json_option
def sessions(*, name: str, as_json: bool) -> None:
    """List the browser sessions of a user, the most recently used first."""

    async def work() -> list[Session]:
        return await list_open_sessions(await find_user(name))

    found = run_command(work, read_only=True)
    if as_json:
        print_json(found)
        return
    show_sessions(
        (one.id, one.seen_at, one.expires_at, one.address, browser_name(one.browser))
        for one in found
    )


@users.command("sign-out")
@_name
@json_option
def sign_out(*, name: str, as_json: bool) -> None:
    """End all sessions of a user.

    Also revokes password reset links. Tokens stay valid.
    """
    _change(lambda: sign_out_everywhere(name, actor=getpass.getuser()), as_json=as_json)


@users.command("set-password")
@_name
@json_option
def set_password_command(*, name: str, as_json: bool) -> None:
    """Set a user's password.

    It is prompted for, or read from standard input. The user's sessions end.
    """

    async def work() -> User:
        user = await find_user(name)
        return await set_password(user.name, _read_password(), actor=getpass.getuser())

    _change(work, as_json=as_json)


def _read_password() -> str:
    if sys.stdin.isatty():
        password: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        return password
    return sys.stdin.readline().rstrip("\n")


def _change(work: Callable[[], Awaitable[User]], *, as_json: bool) -> None:
    user = run_command(work)
    if as_json:
        print_json(user)
    else:
        notes = _notes(user)
        echo(f"{user.name} has the role {', '.join([user.role, *notes])}.")


def _notes(user: User) -> list[str]:
    """Describe what is unusual about an account."""
    notes = {"disabled": user.is_disabled, "break-glass account": user.is_break_glass}
    return [note for note, applies in notes.items() if applies]


def _show_link(url: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"link": url})
    else:
        echo(url)
