"""Webhooks over the API: of the user's namespaces and of the registry."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from litestar import Response
from litestar.params import FromPath, FromQuery, JSONBody
from litestar.status_codes import HTTP_201_CREATED, HTTP_202_ACCEPTED

from vskill_platform.errors import InvalidInput, NotAllowed, NotSignedIn
from vskill_platform.events.manage_webhooks import (
    EndpointChange,
    add_endpoint,
    change_endpoint,
    find_endpoint,
    list_manageable,
    remove_endpoint,
    replay_delivery,
    replay_failed,
    rotate_secret,
    send_test_event,
)
from vskill_platform.model.rights import Visitor
from vskill_platform.stores.db import get_now
from vskill_platform.stores.webhook_store import (
    PayloadShape,
    WebhookDelivery,
    WebhookEndpoint,
    list_deliveries,
)
from vskill_platform.web.http.api_types import Limit, Ok, Shape, Text, clamp
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.rate_limits import limits_of, quota_key
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of

_MAX_ROWS = 100
#: Limited, because each makes the registry send something to an address that a user chose.
_TESTS_PER_HOUR = 60


class NewWebhook(Shape, frozen=True, kw_only=True):
    url: Annotated[str, msgspec.Meta(max_length=1000)]
    #: Empty for the whole registry, which needs an admin.
    namespace: Text = ""
    #: Empty for all event types.
    types: list[Text] = msgspec.field(default_factory=list)
    shape: PayloadShape = PayloadShape.STANDARD
    label: Text = ""
    #: For a webhook of the whole registry: whether events of private skills are also sent.
    with_private: bool = False


class WebhookChange(Shape, frozen=True, kw_only=True):
    url: Annotated[str, msgspec.Meta(max_length=1000)] | None = None
    types: list[Text] | None = None
    shape: PayloadShape | None = None
    label: Text | None = None
    with_private: bool | None = None
    is_enabled: bool | None = None


class WebhookItem(Shape, frozen=True, kw_only=True):
    id: str
    url: str
    namespace: str
    owner: str
    types: list[str]
    shape: str
    label: str
    with_private: bool
    is_enabled: bool
    problem: str
    failing_since: datetime | None
    created_at: datetime


class WebhookList(Shape, frozen=True, kw_only=True):
    webhooks: list[WebhookItem]


class WebhookSecret(Shape, frozen=True, kw_only=True):
    webhook: WebhookItem
    #: Shown once.
    secret: str


class DeliveryItem(Shape, frozen=True, kw_only=True):
    id: str
    event_id: str
    type: str
    #: waiting, delivered or failed
    state: str
    attempts: int
    created_at: datetime
    next_attempt_at: datetime | None
    #: The status of the last response; 0 if there was none.
    status: int
    answer: str


class DeliveryList(Shape, frozen=True, kw_only=True):
    deliveries: list[DeliveryItem]


class Replay(Shape, frozen=True, kw_only=True):
    #: One delivery; without it, all that failed.
    delivery: Text = ""
    since: datetime | None = None


class Replayed(Shape, frozen=True, kw_only=True):
    replayed: int


async def list_webhooks(request: WebRequest) -> WebhookList:
    """List the webhooks that you may manage."""
    found = await list_manageable(manager_of(request))
    return WebhookList(webhooks=[webhook_item(one) for one in found])


@operation(status=HTTP_201_CREATED, response_headers=NO_STORE_HEADER, also=(404,))
async def add_webhook(request: WebRequest, data: JSONBody[NewWebhook]) -> WebhookSecret:
    """Add a webhook. Its secret is shown only in this response."""
    chosen = EndpointChange(
        types=data.types, shape=data.shape, label=data.label, with_private=data.with_private
    )
    made = await add_endpoint(
        data.url, namespace=data.namespace, owner=manager_of(request), chosen=chosen
    )
    return WebhookSecret(webhook=webhook_item(made.endpoint), secret=made.secret)


async def show_webhook(request: WebRequest, webhook_id: FromPath[str]) -> WebhookItem:
    """Show a webhook."""
    return webhook_item(await find_webhook(request, webhook_id))


async def change_webhook(
    request: WebRequest, webhook_id: FromPath[str], data: JSONBody[WebhookChange]
) -> WebhookItem:
    """Change a webhook, or switch it off or on."""
    await find_webhook(request, webhook_id)
    wanted = EndpointChange(**{name: getattr(data, name) for name in data.__struct_fields__})
    return webhook_item(await change_endpoint(webhook_id, wanted, actor=visitor_of(request).name))


async def remove_webhook(request: WebRequest, webhook_id: FromPath[str]) -> Ok:
    """Remove a webhook; pending events are not sent."""
    await find_webhook(request, webhook_id)
    await remove_endpoint(webhook_id, actor=visitor_of(request).name)
    return Ok()


@operation(response_headers=NO_STORE_HEADER, also=(404,))
async def rotate_over_api(request: WebRequest, webhook_id: FromPath[str]) -> WebhookSecret:
    """Create a new secret; deliveries are signed with both for a day."""
    await find_webhook(request, webhook_id)
    made = await rotate_secret(webhook_id, actor=visitor_of(request).name)
    return WebhookSecret(webhook=webhook_item(made.endpoint), secret=made.secret)


@operation(status=HTTP_202_ACCEPTED, also=(404, 429))
async def test_over_api(request: WebRequest, webhook_id: FromPath[str]) -> DeliveryItem:
    """Send a test event soon; the list of deliveries shows the response."""
    await find_webhook(request, webhook_id)
    return delivery_item(await queue_test(request, webhook_id))


async def deliveries_over_api(
    request: WebRequest,
    webhook_id: FromPath[str],
    only: FromQuery[Literal["all", "failed", "waiting"]] = "all",
    limit: Limit = 50,
) -> Response[DeliveryList]:
    """List the latest deliveries to a webhook, newest first; at most 100."""
    await find_webhook(request, webhook_id)
    size, headers = clamp(limit, _MAX_ROWS)
    found = await list_deliveries(webhook_id, limit=size, only="" if only == "all" else only)
    return Response(DeliveryList(deliveries=list(map(delivery_item, found))), headers=headers)


@operation(status=HTTP_202_ACCEPTED, also=(404,))
async def replay_over_api(
    request: WebRequest, webhook_id: FromPath[str], data: JSONBody[Replay]
) -> Replayed:
    """Send one delivery again, or all that failed, at most 1,000."""
    await find_webhook(request, webhook_id)
    actor = visitor_of(request).name
    if data.delivery:
        await replay_delivery(webhook_id, data.delivery, actor=actor)
        return Replayed(replayed=1)
    if data.since and data.since.tzinfo is None:
        raise InvalidInput("since must have a time zone, such as 2026-01-31T12:00:00Z")
    return Replayed(replayed=await replay_failed(webhook_id, since=data.since, actor=actor))


async def queue_test(request: WebRequest, webhook_id: str) -> WebhookDelivery:
    limits_of(request).take_hourly(
        "webhook-test", quota_key(visitor_of(request)), per_hour=_TESTS_PER_HOUR, now=get_now()
    )
    return await send_test_event(webhook_id, actor=visitor_of(request).name)


async def find_webhook(request: WebRequest, webhook_id: str) -> WebhookEndpoint:
    return await find_endpoint(webhook_id, manager_of(request))


def manager_of(request: WebRequest) -> Visitor:
    """Return the visitor, who must be signed in and able to see private skills."""
    visitor = visitor_of(request)
    if visitor.user is None:
        raise NotSignedIn("sign in to manage webhooks")
    if not visitor.can_see_own or visitor.only_in:
        raise NotAllowed("webhooks show private skills, so the token also needs the scope read")
    return visitor


def webhook_item(one: WebhookEndpoint) -> WebhookItem:
    return WebhookItem(
        id=one.id,
        url=one.url,
        namespace=one.namespace,
        owner=one.owner,
        types=list(one.types),
        shape=one.shape,
        label=one.label,
        with_private=one.with_private,
        is_enabled=one.is_enabled,
        problem=one.problem,
        failing_since=one.failing_since,
        created_at=one.created_at,
    )


def delivery_item(one: WebhookDelivery) -> DeliveryItem:
    return DeliveryItem(
        id=one.id,
        event_id=one.event.id,
        type=one.event.type,
        state=one.state,
        attempts=one.attempts,
        created_at=one.created_at,
        next_attempt_at=one.due_at if one.state == "waiting" else None,
        status=one.last.status if one.last else 0,
        answer=one.last.answer if one.last else "",
    )
