"""`admin trusted-publishers`: those in the database of this machine."""

import getpass
from typing import Any

import click
import msgspec

from vskill_platform.access.namespaces import may_manage_in
from vskill_platform.access.trusted_publishing import (
    JobFilter,
    add_trusted_publisher,
    audience,
    issuers,
    remove_trusted_publisher,
)
from vskill_platform.access.users import find_user
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import echo
from vskill_platform.cli.run_command import run_command
from vskill_platform.cli.trusted_publishers import issuer_of, show_added, show_publishers
from vskill_platform.errors import NotAllowed
from vskill_platform.model.namespace import checked_namespace
from vskill_platform.model.rights import Visitor
from vskill_platform.stores.trusted_publisher_store import list_trusted_publishers
from vskill_platform.web.people.trusted_publishers import publisher_item


@click.group("trusted-publishers")
def trusted_publishers() -> None:
    """Let the CI of a repository publish without a stored token."""


@trusted_publishers.command("list")
@click.argument("namespace")
@json_option
def list_command(*, namespace: str, as_json: bool) -> None:
    """List the trusted publishers of a namespace."""
    name = checked_namespace(namespace)

    async def work() -> Any:
        found = [publisher_item(one) for one in await list_trusted_publishers(name)]
        return msgspec.to_builtins(
            {"publishers": found, "audience": audience(), "issuers": list(issuers())}
        )

    show_publishers(run_command(work, read_only=True), namespace=name, as_json=as_json)


@trusted_publishers.command()
@click.argument("namespace")
@click.argument("repository")
@click.option("--owner", required=True, metavar="USER", help="Versions are published as this user.")
@click.option("--ci", default="github", show_default=True, metavar="github|gitlab|URL")
@click.option("--workflow", default="", metavar="FILE", help="Only jobs of this file.")
@click.option("--environment", default="", metavar="NAME", help="Only jobs in this environment.")
@click.option("--ref", default="", metavar="REF", help="Only this ref, such as refs/heads/main.")
@json_option
def add(
    *, namespace: str, repository: str, owner: str, ci: str, as_json: bool, **only: str
) -> None:
    """Let the CI jobs of a repository publish to a namespace."""

    async def work() -> Any:
        user, name = await find_user(owner), checked_namespace(namespace)
        if not await may_manage_in(Visitor(user=user, via="session"), name):
            raise NotAllowed(f"{user.name} does not manage {name}; name one of its owners")
        jobs = JobFilter(issuer=issuer_of(ci), repository=repository, **only)
        made = await add_trusted_publisher(name, jobs, user=user, actor=getpass.getuser())
        return msgspec.to_builtins(publisher_item(made))

    show_added(run_command(work), as_json=as_json)


@trusted_publishers.command()
@click.argument("publisher_id", metavar="ID")
def remove(*, publisher_id: str) -> None:
    """Remove a trusted publisher."""

    async def work() -> None:
        await remove_trusted_publisher(publisher_id, actor=getpass.getuser())

    run_command(work)
    echo(f"Removed {publisher_id}.")
