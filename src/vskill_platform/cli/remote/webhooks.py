"""`webhooks` on a registry."""

from typing import Any

import click

from vskill_platform.cli.output.tables import show_table
from vskill_platform.cli.output.terminal import echo, print_json
from vskill_platform.client.addresses import segment
from vskill_platform.client.registry import ANY_OBJECT, Registry
from vskill_platform.client.shapes import (
    Replayed,
    Webhook,
    WebhookDeliveries,
    WebhookDelivery,
    Webhooks,
    WebhookSecret,
)

_WEBHOOKS = "/api/v1/webhooks"


def list_all(registry: Registry, *, as_json: bool) -> None:
    show_webhooks(registry.get_json(_WEBHOOKS, Webhooks), as_json=as_json)


def show_webhooks(found: Webhooks, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    if not found["webhooks"]:
        echo("No webhooks. Add one with: vskill-platform webhooks add URL", err=True)
        return
    show_table(
        ("id", "events of", "address", "types", "status"),
        [
            (one["id"], one["namespace"] or "the whole registry", one["url"],
             ", ".join(one["types"]) or "all", _status(one))
            for one in found["webhooks"]
        ],
        keys=("id",),
    )  # fmt: skip


def add(registry: Registry, *, as_json: bool, **options: Any) -> None:
    body = {
        "url": options["url"],
        "namespace": options["namespace"],
        "types": list(options["types"]),
        "shape": options["shape"],
        "label": options["label"],
        "withPrivate": options["with_private"],
    }
    made: WebhookSecret = registry.post_json(_WEBHOOKS, body, WebhookSecret)
    show_secret(made, as_json=as_json)


def change(registry: Registry, *, webhook_id: str, as_json: bool, **options: Any) -> None:
    wanted = chosen_changes(**options)
    changed: Webhook = registry.patch_json(_path(webhook_id), wanted, Webhook)
    show_changed(changed, as_json=as_json)


def chosen_changes(**options: Any) -> dict[str, Any]:
    """Return the values of the options of `change`, by the field names of the API."""
    types = [] if options["all_types"] else list(options["types"]) or None
    body = {
        "url": options["url"],
        "types": types,
        "shape": options["shape"],
        "label": options["label"],
        "isEnabled": options["is_enabled"],
    }
    wanted = {name: value for name, value in body.items() if value is not None}
    if not wanted:
        raise click.UsageError("say what to change: --url, --type, --shape, --label, --on or --off")
    return wanted


def show_changed(changed: Webhook, *, as_json: bool) -> None:
    if as_json:
        print_json(changed)
    else:
        echo(f"{changed['id']} is {_status(changed)}: {changed['url']}")


def rotate(registry: Registry, *, webhook_id: str, as_json: bool) -> None:
    made: WebhookSecret = registry.post_json(_path(webhook_id, "rotate"), None, WebhookSecret)
    show_secret(made, as_json=as_json)


def test(registry: Registry, *, webhook_id: str) -> None:
    registry.post_json(_path(webhook_id, "test"), None, WebhookDelivery)
    show_tested(f"webhooks log {webhook_id}")


def show_tested(log_command: str) -> None:
    echo(f"A test event will be sent. See: vskill-platform {log_command}")


def log(registry: Registry, *, webhook_id: str, failed: bool, as_json: bool) -> None:
    only = "failed" if failed else "all"
    path = _path(webhook_id, "deliveries")
    show_deliveries(registry.get_json(path, WebhookDeliveries, only=only), as_json=as_json)


def show_deliveries(found: WebhookDeliveries, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    show_table(
        ("id", "time (UTC)", "event", "state", "attempts", "answer"),
        [
            (one["id"], one["createdAt"][:16].replace("T", " "), one["type"], one["state"],
             str(one["attempts"]), f"{one['status'] or ''} {one['answer']}".strip())
            for one in found["deliveries"]
        ],
        keys=("id",),
    )  # fmt: skip


def replay(
    registry: Registry, *, webhook_id: str, delivery: str | None, failed: bool, since: str | None
) -> None:
    check_replayed(delivery, failed=failed)
    body = {"delivery": delivery or "", **({"since": since} if since else {})}
    done: Replayed = registry.post_json(_path(webhook_id, "replay"), body, Replayed)
    echo(f"{done['replayed']} will be sent again.")


def check_replayed(delivery: str | None, *, failed: bool) -> None:
    if bool(delivery) == failed:
        raise click.UsageError("name one delivery, or use --failed")


def remove(registry: Registry, *, webhook_id: str) -> None:
    registry.delete_json(_path(webhook_id), ANY_OBJECT)
    echo(f"{webhook_id} was removed.")


def show_secret(made: WebhookSecret, *, as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    echo(f"{made['webhook']['id']} sends events to {made['webhook']['url']}")
    echo(f"Its secret, which is not shown again: {made['secret']}")


def _status(one: Webhook) -> str:
    if one["isEnabled"]:
        return "on"
    return f"off ({one['problem']})" if one["problem"] else "off"


def _path(webhook_id: str, action: str = "") -> str:
    path = f"{_WEBHOOKS}/{segment(webhook_id)}"
    return f"{path}/{action}" if action else path
