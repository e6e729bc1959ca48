"""`tokens`: API tokens for programs."""

import getpass
from datetime import timedelta

import click
from rich.table import Table

from vskill_platform.access.tokens import NewToken, add_token, revoke_token
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import Console, echo, escape, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.model.user import ApiToken, Scope
from vskill_platform.stores.token_store import list_tokens


@click.group()
def tokens() -> None:
    """Create, list and revoke API tokens."""


@tokens.command()
@click.argument("user")
@click.option(
    "--label", required=True, metavar="TEXT", help="Name of the token, such as its purpose."
)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    default=[Scope.READ.value],
    show_default=True,
    type=click.Choice([scope.value for scope in Scope]),
    help="A scope; repeat it for more.",
)
@click.option(
    "--days",
    default=90,
    show_default=True,
    type=click.IntRange(1, 366),
    help="Days until it expires.",
)
@json_option
def add(*, user: str, label: str, scopes: tuple[str, ...], days: int, as_json: bool) -> None:
    """Create a token for a user and print it. It is shown only once."""

    async def work() -> NewToken:
        return await add_token(
            user,
            label,
            map(Scope, scopes),
            actor=getpass.getuser(),
            lifetime=timedelta(days=days),
        )

    token = run_command(work)
    if as_json:
        print_json({"token": token.text, "record": token.record})
    else:
        echo(token.text)
        end = f"{token.record.expires_at:%Y-%m-%d}"
        echo(f"{token.record.id}, valid until {end}; it is not shown again.", err=True)


@tokens.command("list")
@click.option("--user", metavar="NAME", help="Only the tokens of this user.")
@json_option
def list_command(*, user: str | None, as_json: bool) -> None:
    """List the valid tokens, with their last use."""

    async def work() -> list[ApiToken]:
        return await list_tokens(user)

    found = run_command(work, read_only=True)
    if as_json:
        print_json(found)
        return
    table = Table("id", "owner", "name", "scopes", "last used (UTC)", "expires (UTC)")
    for token in found:
        used = f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never"
        table.add_row(
            token.id, token.user, escape(token.label), ", ".join(token.scopes), used,
            f"{token.expires_at:%Y-%m-%d}",
        )  # fmt: skip
    Console().print(table)


@tokens.command()
@click.argument("token_id", metavar="ID")
@click.option("--reason", default="", metavar="TEXT", help="Reason, kept in the audit log.")
@json_option
def revoke(*, token_id: str, reason: str, as_json: bool) -> None:
    """Revoke a token; it stops working with the next request."""

    async def work() -> ApiToken:
        return await revoke_token(token_id, actor=getpass.getuser(), reason=reason)

    token = run_command(work)
    if as_json:
        print_json(token)
    else:
        echo(f"{token.id} of {token.user} ({token.label}) is revoked.")
