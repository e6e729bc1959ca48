"""`members`: who can see the private skills of a namespace on a registry."""

from typing import Any

import click

from vskill_platform.cli.local_or_remote import json_option, registry_option, run_remote

_HERE = "members"
_PATH = "/api/v1/namespaces"
_namespace = click.argument("namespace")
_user = click.argument("user")


@click.group()
def members() -> None:
    """Manage who sees the private skills of your namespaces.

    Members cannot change anything. Admins choose the owners of a namespace.
    """


@members.command("list")
@json_option
@registry_option
def list_command(*, as_json: bool, registry: str | None) -> None:
    """List your namespaces with their owners and members; for admins, all."""
    run_remote(f"{_HERE}:show_all", registry, as_json=as_json)


@members.command()
@_namespace
@_user
@json_option
@registry_option
def add(*, namespace: str, user: str, as_json: bool, registry: str | None) -> None:
    """Let a user see the private skills of a namespace."""
    run_remote(f"{_HERE}:add_one", registry, namespace=namespace, user=user, as_json=as_json)


@members.command()
@_namespace
@_user
@json_option
@registry_option
def remove(*, namespace: str, user: str, as_json: bool, registry: str | None) -> None:
    """Remove a member, who then only sees public skills."""
    run_remote(f"{_HERE}:remove_one", registry, namespace=namespace, user=user, as_json=as_json)


def show_all(registry: Any, *, as_json: bool) -> None:
    from vskill_platform.cli.output.tables import show_table  # noqa: PLC0415 - after --help
    from vskill_platform.cli.output.terminal import print_json  # noqa: PLC0415 - as above
    from vskill_platform.client.responses import add_page  # noqa: PLC0415 - as above
    from vskill_platform.client.shapes import Namespaces  # noqa: PLC0415 - as above

    answer: Namespaces = registry.get_json(_PATH, Namespaces, limit=100)
    while cursor := answer.get("nextCursor"):
        more = registry.get_json(_PATH, Namespaces, limit=100, cursor=cursor)
        add_page(answer, more, "namespaces")
    if as_json:
        print_json(answer)
        return
    show_table(
        ("namespace", "owners", "members"),
        [
            (one["name"], ", ".join(one["owners"]), _members(one["members"]))
            for one in answer["namespaces"]
        ],
        keys=("namespace",),
    )


def add_one(registry: Any, *, namespace: str, user: str, as_json: bool) -> None:
    from vskill_platform.client.shapes import NamespaceItem  # noqa: PLC0415 - after --help

    body = {"namespace": namespace, "user": user}
    _show(registry.post_json(f"{_PATH}/members", body, NamespaceItem), as_json=as_json)


def remove_one(registry: Any, *, namespace: str, user: str, as_json: bool) -> None:
    from vskill_platform.client.shapes import NamespaceItem  # noqa: PLC0415 - after --help

    changed = registry.delete_json(
        f"{_PATH}/members", NamespaceItem, namespace=namespace, user=user
    )
    _show(changed, as_json=as_json)


def _show(changed: Any, *, as_json: bool) -> None:
    from vskill_platform.cli.output.terminal import echo, print_json  # noqa: PLC0415 - after --help

    if as_json:
        print_json(changed)
        return
    owners = ", ".join(changed["owners"]) or "nobody else"
    echo(f"{changed['name']}: owned by {owners}; members: {_members(changed['members'])}.")


def _members(names: list[str] | None) -> str:
    """Return the names of the members; a user who is only a member does not see them."""
    return "not shown" if names is None else ", ".join(names) or "none"
