"""`webhooks`: where a registry sends events, and what the receivers answered."""

from collections.abc import Callable
from typing import Any

import click

from vskill_platform.cli.local_or_remote import json_option, registry_option, run_remote

_HERE = "remote.webhooks"
_id = click.argument("webhook_id", metavar="ID")
_SHAPES = click.Choice(["standard", "slack", "teams"])
_CHANGES = (
    click.option("--url", metavar="URL", help="A new address."),
    click.option("--type", "types", multiple=True, metavar="TYPE", help="Only these event types."),
    click.option("--all-types", is_flag=True, help="All event types."),
    click.option("--shape", type=_SHAPES, help="Format of the messages."),
    click.option("--label", metavar="TEXT", help="A new name."),
    click.option("--on/--off", "is_enabled", default=None, help="Switch it on or off."),
)


def change_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `change`, also for `admin webhooks`."""
    for option in reversed(_CHANGES):
        command = option(command)
    return command


@click.group()
def webhooks() -> None:
    """Send events of a registry to other programs.

    Owners manage the webhooks of their namespaces, admins also those of the whole registry.
    """


@webhooks.command("list")
@json_option
@registry_option
def list_webhooks(*, registry: str | None, **options: Any) -> None:
    """List the webhooks that you may manage."""
    run_remote(f"{_HERE}:list_all", registry, **options)


@webhooks.command()
@click.argument("url")
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
    "--shape", type=_SHAPES, default="standard", show_default=True, help="Format of the messages."
)
@click.option("--label", default="", metavar="TEXT", help="Name of the webhook.")
@click.option("--with-private", is_flag=True, help="Without --namespace: also private skills.")
@json_option
@registry_option
def add(*, registry: str | None, **options: Any) -> None:
    """Add a webhook and print its secret, once."""
    run_remote(f"{_HERE}:add", registry, **options)


@webhooks.command()
@_id
@change_options
@json_option
@registry_option
def change(*, registry: str | None, **options: Any) -> None:
    """Change a webhook, or switch it on or off."""
    run_remote(f"{_HERE}:change", registry, **options)


@webhooks.command()
@_id
@json_option
@registry_option
def rotate(*, registry: str | None, **options: Any) -> None:
    """Print a new secret; deliveries are signed with both for a day."""
    run_remote(f"{_HERE}:rotate", registry, **options)


@webhooks.command()
@_id
@registry_option
def test(*, registry: str | None, **options: Any) -> None:
    """Send a test event; `webhooks log` shows the answer."""
    run_remote(f"{_HERE}:test", registry, **options)


@webhooks.command()
@_id
@click.option("--failed", is_flag=True, help="Only failed deliveries.")
@json_option
@registry_option
def log(*, registry: str | None, **options: Any) -> None:
    """List the latest deliveries, with the receiver's responses."""
    run_remote(f"{_HERE}:log", registry, **options)


@webhooks.command()
@_id
@click.argument("delivery", required=False)
@click.option("--failed", is_flag=True, help="All failed deliveries.")
@click.option(
    "--since", metavar="TIME", help="Only those since this time, such as 2026-01-31T12:00:00Z."
)
@registry_option
def replay(*, registry: str | None, **options: Any) -> None:
    """Send one delivery again, or all that failed."""
    run_remote(f"{_HERE}:replay", registry, **options)


@webhooks.command()
@_id
@registry_option
def remove(*, registry: str | None, **options: Any) -> None:
    """Remove a webhook; pending events are not sent."""
    run_remote(f"{_HERE}:remove", registry, **options)
