"""Webhooks as pages: of the user's namespaces and of the registry."""

from datetime import timedelta
from typing import Any

import msgspec
from litestar import Response
from litestar.params import FromPath
from litestar.response import Redirect, Template

from vskill_platform.errors import InvalidInput, NotFound, TooMany
from vskill_platform.events.fan_out import owner_may
from vskill_platform.events.manage_webhooks import (
    EndpointChange,
    add_endpoint,
    change_endpoint,
    list_manageable,
    remove_endpoint,
    replay_delivery,
    replay_failed,
    rotate_secret,
)
from vskill_platform.events.payloads import build_payload
from vskill_platform.model.event import CHOICES, REGISTRY_ONLY
from vskill_platform.stores.db import get_now
from vskill_platform.stores.namespace_store import get_namespace, list_namespaces_of
from vskill_platform.stores.webhook_store import PayloadShape, WebhookEndpoint, list_deliveries
from vskill_platform.web.events.webhooks_api import find_webhook, manager_of, queue_test
from vskill_platform.web.html.flash import act, act_and_show, admin_page
from vskill_platform.web.http.bodies import read_choices, read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of

_HERE = "/admin/webhooks"
_MAX_ROWS = 100
#: Choices of the page: which failed deliveries are replayed.
_SINCE = {"1": "the last hour", "24": "the last day", "": "all"}


async def webhooks_page(request: WebRequest) -> Template:
    return await _show_all(request)


async def _show_all(request: WebRequest, *, secret: str = "", made: str = "") -> Template:
    visitor = manager_of(request)
    names = await list_namespaces_of(visitor.name)
    owned = [one for one in names if visitor.owns((await get_namespace(one)).record)]
    webhooks = await list_manageable(visitor)
    context = {
        "webhooks": webhooks,
        "without_right": {one.id for one in webhooks if not await owner_may(one)},
        "owned": owned,
        "choices": CHOICES,
        "registry_only": REGISTRY_ONLY,
        "shapes": list(PayloadShape),
        "secret": secret,
        "made": made,
    }
    return admin_page(request, "admin/webhooks.html", context, is_kept=not secret)


async def add_webhook_form(request: WebRequest) -> Response[Any]:
    fields, visitor = await read_fields(request), manager_of(request)
    types = await read_choices(request, "type")

    async def work() -> Template:
        made = await add_endpoint(
            fields.get("url", ""),
            namespace=fields.get("namespace", ""),
            owner=visitor,
            chosen=_chosen(fields, types),
        )
        return await _show_all(request, secret=made.secret, made=made.endpoint.id)

    return await _act_and_show(_HERE, work)


async def webhook_page(request: WebRequest, webhook_id: FromPath[str]) -> Template:
    return await _show_one(request, await find_webhook(request, webhook_id))


async def _show_one(
    request: WebRequest, endpoint: WebhookEndpoint, *, secret: str = ""
) -> Template:
    deliveries = await list_deliveries(endpoint.id, limit=_MAX_ROWS)
    context = {
        "webhook": endpoint,
        "deliveries": deliveries,
        "payloads": {
            one.id: build_payload(one.event, endpoint.shape).decode() for one in deliveries
        },
        "failed": len(await list_deliveries(endpoint.id, limit=_MAX_ROWS, only="failed")),
        "has_right": await owner_may(endpoint),
        "choices": CHOICES,
        "registry_only": REGISTRY_ONLY,
        "shapes": list(PayloadShape),
        "since": _SINCE,
        "secret": secret,
    }
    return admin_page(request, "admin/webhook.html", context, is_kept=not secret)


async def webhook_form(
    request: WebRequest, webhook_id: FromPath[str], action: FromPath[str]
) -> Response[Any]:
    await find_webhook(request, webhook_id)
    fields, actor = await read_fields(request), visitor_of(request).name
    types, back = await read_choices(request, "type"), f"{_HERE}/{webhook_id}"

    async def rotate() -> Template:
        made = await rotate_secret(webhook_id, actor=actor)
        return await _show_one(request, made.endpoint, secret=made.secret)

    async def change() -> str:
        wanted = msgspec.structs.replace(_chosen(fields, types), url=fields.get("url", ""))
        await change_endpoint(webhook_id, wanted, actor=actor)
        return "The webhook was changed."

    async def switch() -> str:
        wanted = EndpointChange(is_enabled=action == "enable")
        await change_endpoint(webhook_id, wanted, actor=actor)
        return f"The webhook was switched {'on' if wanted.is_enabled else 'off'}."

    async def test() -> str:
        await queue_test(request, webhook_id)
        return "A test event will be sent in a few seconds. Reload this page to see the answer."

    async def replay() -> str:
        if fields.get("delivery"):
            await replay_delivery(webhook_id, fields["delivery"], actor=actor)
            return "The delivery will be sent again in a few seconds."
        hours = fields.get("hours", "")
        since = get_now() - timedelta(hours=int(hours)) if hours in {"1", "24"} else None
        count = await replay_failed(webhook_id, since=since, actor=actor)
        return f"{count} failed deliveries will be sent again."

    async def remove() -> str:
        await remove_endpoint(webhook_id, actor=actor)
        return "The webhook was removed."

    if action == "rotate":
        return await _act_and_show(back, rotate)
    actions = {
        "change": change, "enable": switch, "disable": switch, "test": test, "replay": replay,
        "remove": remove,
    }  # fmt: skip
    if action not in actions:
        raise NotFound(f"unknown action {action!r}")
    return await _act(_HERE if action == "remove" else back, actions[action], on_error=back)


async def _act(back: str, work: Any, *, on_error: str) -> Redirect:
    async def shown() -> str:
        try:
            message: str = await work()
        except TooMany as error:  # a page with the reason says more than one about the limit
            raise InvalidInput(str(error)) from error
        return message

    return await act(back, shown, on_error=on_error)


async def _act_and_show(back: str, work: Any) -> Response[Any]:
    async def shown() -> Template:
        try:
            page: Template = await work()
        except TooMany as error:
            raise InvalidInput(str(error)) from error
        return page

    return await act_and_show(back, shown)


def _chosen(fields: dict[str, str], types: list[str]) -> EndpointChange:
    try:
        shape = PayloadShape(fields.get("shape", "standard"))
    except ValueError as error:
        raise InvalidInput(f"choose one of {', '.join(PayloadShape)}") from error
    return EndpointChange(
        types=types,
        shape=shape,
        label=fields.get("label", ""),
        with_private=fields.get("with_private") == "yes",
    )
