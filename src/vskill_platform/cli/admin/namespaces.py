"""`namespaces`: owners and members of namespaces."""

import getpass
from collections.abc import Awaitable, Callable

import click
from rich.table import Table

from vskill_platform.access.namespaces import add_member, add_owner, remove_member, remove_owner
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import Console, echo, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.model.user import Namespace
from vskill_platform.stores.namespace_store import list_namespaces

_namespace = click.argument("namespace")
_user = click.argument("user")


@click.group()
def namespaces() -> None:
    """Manage owners and members of namespaces.

    Owners may submit to a namespace, members see its private skills. A namespace is `@name` for
    uploads, `owner` for github.com, `host/owner` for other hosts.
    """


@namespaces.command("list")
@json_option
def list_command(*, as_json: bool) -> None:
    """List namespaces with owners or members.

    `@name` always belongs to the user of that name.
    """
    found = run_command(list_namespaces, read_only=True)
    if as_json:
        print_json(found)
        return
    table = Table("namespace", "owners", "members")
    for namespace in found:
        name = f"{namespace.name} (deleted)" if namespace.deleted else namespace.name
        table.add_row(name, ", ".join(namespace.owners), ", ".join(namespace.members))
    Console().print(table)


@namespaces.command("add-owner")
@_namespace
@_user
@json_option
def add_owner_command(*, namespace: str, user: str, as_json: bool) -> None:
    """Add an owner to a namespace.

    Once a namespace has an owner, nobody else may submit to it.
    """
    _change(lambda: add_owner(namespace, user, actor=getpass.getuser()), as_json=as_json)


@namespaces.command("remove-owner")
@_namespace
@_user
@json_option
def remove_owner_command(*, namespace: str, user: str, as_json: bool) -> None:
    """Remove an owner of a namespace.

    Everyone may submit to a namespace without owners, unless it has private skills.
    """
    _change(lambda: remove_owner(namespace, user, actor=getpass.getuser()), as_json=as_json)


@namespaces.command("add-member")
@_namespace
@_user
@json_option
def add_member_command(*, namespace: str, user: str, as_json: bool) -> None:
    """Let a user see private skills in a namespace."""
    _change(lambda: add_member(namespace, user, actor=getpass.getuser()), as_json=as_json)


@namespaces.command("remove-member")
@_namespace
@_user
@json_option
def remove_member_command(*, namespace: str, user: str, as_json: bool) -> None:
    """Remove a member, who then only sees public skills."""
    _change(lambda: remove_member(namespace, user, actor=getpass.getuser()), as_json=as_json)


def _change(work: Callable[[], Awaitable[Namespace]], *, as_json: bool) -> None:
    found = run_command(work)
    if as_json:
        print_json(found)
        return
    members = ", ".join(found.members) or "none"
    echo(f"{found.name}: {_owned(found)}; members: {members}.")


def _owned(namespace: Namespace) -> str:
    if namespace.deleted:
        return "deleted; add an owner to open it again"
    if not namespace.is_owned:
        return "no owners"
    if not namespace.owners and not namespace.name.startswith("@"):
        return "no owners, and closed until you add one"
    return f"owned by {', '.join(namespace.owners) or 'its user only'}"
