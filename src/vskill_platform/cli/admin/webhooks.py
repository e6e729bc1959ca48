"""`admin webhooks`: the webhooks in the database of this machine, as `webhooks` shows them."""

import getpass
from datetime import datetime
from typing import Any

import click
import msgspec

from vskill_platform.access.users import find_user
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import echo
from vskill_platform.cli.remote.webhooks import (
    check_replayed,
    chosen_changes,
    show_changed,
    show_deliveries,
    show_secret,
    show_tested,
    show_webhooks,
)
from vskill_platform.cli.run_command import run_command
from vskill_platform.cli.webhooks import change_options
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.events.manage_webhooks import (
    EndpointChange,
    add_endpoint,
    change_endpoint,
    remove_endpoint,
    replay_delivery,
    replay_failed,
    rotate_secret,
    send_test_event,
)
from vskill_platform.model.rights import Visitor
from vskill_platform.stores.webhook_store import (
    PayloadShape,
    get_endpoint,
    list_deliveries,
    list_endpoints,
)
from vskill_platform.web.events.webhooks_api import WebhookChange, delivery_item, webhook_item

_MAX_ROWS = 100
_id = click.argument("webhook_id", metavar="ID")
_UTC_TIME = click.DateTime(["%Y-%m-%dT%H:%M:%S%z"])


@click.group()
def webhooks() -> None:
    """Manage webhooks and see their deliveries."""


@webhooks.command("list")
@json_option
def list_webhooks(*, as_json: bool) -> None:
    """List all webhooks of the registry."""

    async def work() -> Any:
        found = sorted(await list_endpoints(), key=lambda one: (one.namespace, one.created_at))
        return msgspec.to_builtins({"webhooks": [webhook_item(one) for one in found]})

    show_webhooks(run_command(work, read_only=True), as_json=as_json)


@webhooks.command()
@click.argument("url")
@click.option("--owner", required=True, metavar="USER", help="Events that this user may see.")
@click.option(
    "--namespace",
    default="",
    metavar="NAME",
    help="Events of this namespace (default: the whole registry).",
)
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Event type; repeat it for more (default: all).",
)
@click.option(
    "--shape",
    type=click.Choice([shape.value for shape in PayloadShape]),
    default="standard",
    show_default=True,
    help="Format of the messages.",
)
@click.option("--label", default="", metavar="TEXT", help="Name of the webhook.")
@click.option("--with-private", is_flag=True, help="Without --namespace: also private skills.")
@json_option
def add(*, url: str, owner: str, namespace: str, as_json: bool, **options: Any) -> None:
    """Add a webhook for a user and print its secret, once.

    Events are sent while this user may see them.
    """
    shape = PayloadShape(options.pop("shape"))

    async def work() -> Any:
        made = await add_endpoint(
            url,
            namespace=namespace,
            owner=Visitor(user=await find_user(owner), via="session"),
            chosen=EndpointChange(shape=shape, **options),
            actor=getpass.getuser(),
        )
        return msgspec.to_builtins({"webhook": webhook_item(made.endpoint), "secret": made.secret})

    show_secret(run_command(work), as_json=as_json)


@webhooks.command()
@_id
@change_options
@json_option
def change(*, webhook_id: str, as_json: bool, **options: Any) -> None:
    """Change a webhook, or switch it on or off."""
    try:
        wanted = msgspec.convert(chosen_changes(**options), WebhookChange)
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error)) from error
    changes = EndpointChange(**msgspec.structs.asdict(wanted))

    async def work() -> Any:
        changed = await change_endpoint(webhook_id, changes, actor=getpass.getuser())
        return msgspec.to_builtins(webhook_item(changed))

    show_changed(run_command(work), as_json=as_json)


@webhooks.command()
@_id
@json_option
def rotate(*, webhook_id: str, as_json: bool) -> None:
    """Print a new secret; deliveries are signed with both for a day."""

    async def work() -> Any:
        made = await rotate_secret(webhook_id, actor=getpass.getuser())
        return msgspec.to_builtins({"webhook": webhook_item(made.endpoint), "secret": made.secret})

    show_secret(run_command(work), as_json=as_json)


@webhooks.command()
@_id
def test(*, webhook_id: str) -> None:
    """Send a test event; `admin webhooks log` shows the answer."""

    async def work() -> None:
        await send_test_event(webhook_id, actor=getpass.getuser())

    run_command(work)
    show_tested(f"admin webhooks log {webhook_id}")


@webhooks.command()
@_id
@click.option("--failed", is_flag=True, help="Only failed deliveries.")
@json_option
def log(*, webhook_id: str, failed: bool, as_json: bool) -> None:
    """List the latest deliveries, with the receiver's responses."""

    async def work() -> Any:
        if await get_endpoint(webhook_id) is None:
            raise NotFound(f"there is no webhook {webhook_id!r}")
        found = await list_deliveries(webhook_id, limit=_MAX_ROWS, only="failed" if failed else "")
        return msgspec.to_builtins({"deliveries": [delivery_item(one) for one in found]})

    show_deliveries(run_command(work, read_only=True), as_json=as_json)


@webhooks.command()
@_id
@click.argument("delivery", required=False)
@click.option("--failed", is_flag=True, help="All failed deliveries.")
@click.option(
    "--since",
    type=_UTC_TIME,
    metavar="TIME",
    help="Only those since this time, such as 2026-01-31T12:00:00Z.",
)
def replay(*, webhook_id: str, delivery: str | None, failed: bool, since: datetime | None) -> None:
    """Send one delivery again, or all that failed."""
    check_replayed(delivery, failed=failed)

    async def work() -> int:
        if not delivery:
            return await replay_failed(webhook_id, since=since, actor=getpass.getuser())
        await replay_delivery(webhook_id, delivery, actor=getpass.getuser())
        return 1

    echo(f"{run_command(work)} will be sent again.")


@webhooks.command()
@_id
def remove(*, webhook_id: str) -> None:
    """Remove a webhook; pending events are not sent."""

    async def work() -> None:
        await remove_endpoint(webhook_id, actor=getpass.getuser())

    run_command(work)
    echo(f"{webhook_id} was removed.")
