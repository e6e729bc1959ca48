"""Manage webhooks: by owners for their namespaces, by admins for the whole registry."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from urllib.parse import urlsplit

import msgspec

from vskill_platform.base.show_text import show
from vskill_platform.engines.operations import ABSENT
from vskill_platform.errors import InvalidInput, NotFound, TooMany
from vskill_platform.events.post_webhook import checked_webhook_url
from vskill_platform.events.sign_webhook import new_webhook_secret
from vskill_platform.model.event import CHOICES, REGISTRY_ONLY, Event, EventData, EventType
from vskill_platform.model.namespace import checked_namespace
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.event_feed import begin_feed
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.records import Stored
from vskill_platform.stores.webhook_store import (
    PayloadShape,
    WebhookDelivery,
    WebhookEndpoint,
    delete_endpoint,
    get_delivery,
    get_endpoint,
    get_endpoints_mark,
    list_deliveries,
    list_endpoints,
    new_delivery,
    new_endpoint_id,
    write_delivery,
    write_endpoint,
    write_endpoints_mark,
)

#: How long deliveries are also signed with the old secret after a rotation.
ROTATION = timedelta(days=1)
#: The maximum number of endpoints of one namespace, and of the registry.
MAX_ENDPOINTS = 20
#: The maximum number of deliveries that one replay queues.
MAX_REPLAYED = 1_000
_MAX_LABEL = 100


class EndpointChange(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to an endpoint; None keeps the current value."""

    url: str | None = None
    types: Sequence[str] | None = None
    shape: PayloadShape | None = None
    label: str | None = None
    with_private: bool | None = None
    is_enabled: bool | None = None


class NewSecret(msgspec.Struct, frozen=True, kw_only=True):
    endpoint: WebhookEndpoint
    #: Shown once.
    secret: str


async def may_manage(visitor: Visitor, namespace: str) -> bool:
    """Return whether a visitor may manage webhooks of a namespace, or with "" of the registry."""
    if visitor.may(Right.ADMINISTER, get_settings()):
        return True
    return bool(namespace) and visitor.owns((await get_namespace(namespace)).record)


async def list_manageable(visitor: Visitor) -> list[WebhookEndpoint]:
    """Return the endpoints that a visitor may manage, ordered by namespace."""
    found = [one for one in await list_endpoints() if await may_manage(visitor, one.namespace)]
    return sorted(found, key=lambda one: (one.namespace, one.created_at, one.id))


async def find_endpoint(endpoint_id: str, visitor: Visitor) -> WebhookEndpoint:
    """Return an endpoint; raise NotFound if the visitor may not manage it."""
    stored = await get_endpoint(endpoint_id)
    if stored is None or not await may_manage(visitor, stored.record.namespace):
        raise NotFound(f"there is no webhook {endpoint_id!r}")
    return stored.record


async def add_endpoint(
    url: str, *, namespace: str, owner: Visitor, chosen: EndpointChange, actor: str = ""
) -> NewSecret:
    """Add an endpoint; its secret is shown once. *actor* is who adds it for the owner."""
    name = checked_namespace(namespace) if namespace else ""
    if not await may_manage(owner, name):
        raise NotFound(_no_right(name))
    first = WebhookEndpoint(
        id=new_endpoint_id(),
        url=checked_webhook_url(url, get_settings()),
        namespace=name,
        owner=owner.name,
        secret=new_webhook_secret(),
        created_at=get_now(),
    )
    endpoint = _apply(first, msgspec.structs.replace(chosen, url=None))

    async def plan() -> PlannedChange[NewSecret]:
        mark = await get_endpoints_mark(name)  # before counting, to detect concurrent ones
        others = [one for one in await list_endpoints() if one.namespace == name]
        if len(others) >= MAX_ENDPOINTS:
            raise TooMany(
                f"there are {MAX_ENDPOINTS} webhooks already; remove one first",
                retry_after=timedelta(hours=1),
            )
        operations = [
            write_endpoint(endpoint, expected=ABSENT),
            write_endpoints_mark(name, expected=mark),
            write_audit(
                "webhook add", endpoint.id, actor=actor or owner.name, reason="",
                outcome=_where(endpoint),
            ),
            *await begin_feed(),
        ]  # fmt: skip
        made = NewSecret(endpoint=endpoint, secret=endpoint.secret)
        return PlannedChange(operations=operations, result=made)

    return await change("the webhooks", plan)


def _no_right(namespace: str) -> str:
    if namespace:
        return f"{namespace} is not a namespace that you own"
    return "only admins can add webhooks for the whole registry; name a namespace that you own"


async def change_endpoint(
    endpoint_id: str, wanted: EndpointChange, *, actor: str
) -> WebhookEndpoint:
    return await _change(endpoint_id, "change", lambda one: _apply(one, wanted), actor=actor)


async def rotate_secret(endpoint_id: str, *, actor: str) -> NewSecret:
    """Give an endpoint a new secret; deliveries are signed with both for a day."""
    secret = new_webhook_secret()

    def rotate(one: WebhookEndpoint) -> WebhookEndpoint:
        return msgspec.structs.replace(
            one, secret=secret, old_secret=one.secret, old_secret_until=get_now() + ROTATION
        )

    endpoint = await _change(endpoint_id, "rotate", rotate, actor=actor)
    return NewSecret(endpoint=endpoint, secret=secret)


async def remove_endpoint(endpoint_id: str, *, actor: str) -> None:
    """Remove an endpoint; pending events are not sent."""

    async def plan() -> PlannedChange[None]:
        stored = await _find(endpoint_id)
        audit = write_audit(
            "webhook remove", endpoint_id, actor=actor, reason="", outcome=_where(stored.record)
        )
        return PlannedChange(operations=[delete_endpoint(stored), audit], result=None)

    await change(f"the webhook {endpoint_id}", plan)


async def send_test_event(endpoint_id: str, *, actor: str) -> WebhookDelivery:
    """Queue a test event; the delivery log shows what the receiver answered."""
    endpoint = (await _find(endpoint_id)).record
    if not endpoint.is_enabled:
        raise InvalidInput("switch the webhook on first")
    now = get_now()
    seed = f"{endpoint_id} {now.isoformat()} {new_endpoint_id()}"
    event = Event(
        id=f"evt_{sha256(seed.encode()).hexdigest()[:32]}",
        type=EventType.TEST,
        at=now,
        namespace=endpoint.namespace,
        data=EventData(namespace=endpoint.namespace, actor=actor),
    )
    delivery = new_delivery(endpoint, event)
    await commit([write_delivery(delivery)])
    return delivery


async def replay_delivery(endpoint_id: str, delivery_id: str, *, actor: str) -> WebhookDelivery:
    """Send a delivery again, with the same webhook-id."""
    stored = await get_delivery(delivery_id)
    if stored is None or stored.record.endpoint != endpoint_id:
        raise NotFound(f"there is no delivery {delivery_id!r}")
    again = _again(stored.record)
    audit = write_audit("webhook replay", endpoint_id, actor=actor, reason="", outcome=delivery_id)
    if await commit([write_delivery(again, expected=stored.revision), audit]) is None:
        raise InvalidInput("this delivery is being sent at the moment")
    return again


async def replay_failed(endpoint_id: str, *, since: datetime | None, actor: str) -> int:
    """Send failed deliveries again, all or only those since a time; return how many."""
    await _find(endpoint_id)
    count = 0
    for failed in await list_deliveries(endpoint_id, limit=MAX_REPLAYED, only="failed"):
        stored = await get_delivery(failed.id)
        if stored is None or stored.record.state != "failed":
            continue
        if since and failed.created_at < since:
            continue
        again = write_delivery(_again(stored.record), expected=stored.revision)
        count += await commit([again]) is not None
    if count:
        audit = write_audit(
            "webhook replay", endpoint_id, actor=actor, reason="", outcome=f"{count} deliveries"
        )
        await commit([audit])
    return count


def _again(delivery: WebhookDelivery) -> WebhookDelivery:
    return msgspec.structs.replace(delivery, state="waiting", attempts=0, due_at=get_now())


async def _find(endpoint_id: str) -> Stored[WebhookEndpoint]:
    stored = await get_endpoint(endpoint_id)
    if stored is None:
        raise NotFound(f"there is no webhook {endpoint_id!r}")
    return stored


async def _change(
    endpoint_id: str,
    action: str,
    update: Callable[[WebhookEndpoint], WebhookEndpoint],
    *,
    actor: str,
) -> WebhookEndpoint:
    async def plan() -> PlannedChange[WebhookEndpoint]:
        stored = await _find(endpoint_id)
        changed = update(stored.record)
        if changed == stored.record:
            return PlannedChange(result=changed)
        audit = write_audit(
            f"webhook {action}", endpoint_id, actor=actor, reason="", outcome=_where(changed)
        )
        operations = [write_endpoint(changed, expected=stored.revision), audit]
        return PlannedChange(operations=operations, result=changed)

    return await change(f"the webhook {endpoint_id}", plan)


def _apply(endpoint: WebhookEndpoint, wanted: EndpointChange) -> WebhookEndpoint:
    given = {
        name: value
        for name in wanted.__struct_fields__
        if (value := getattr(wanted, name)) is not None
    }
    if "url" in given:
        given["url"] = checked_webhook_url(given["url"], get_settings())
    if "types" in given:
        given["types"] = _checked_types(given["types"], endpoint.namespace)
    if "label" in given:
        given["label"] = show(given["label"].strip(), limit=_MAX_LABEL)
    if given.get("is_enabled"):  # switched on again: forget earlier failures
        given |= {"problem": "", "failing_since": None}
    return msgspec.structs.replace(endpoint, **given)


def _checked_types(types: Sequence[str], namespace: str) -> tuple[str, ...]:
    allowed = [item.value for item in CHOICES if not (namespace and item in REGISTRY_ONLY)]
    for item in types:
        if item not in allowed:
            raise InvalidInput(
                f"{show(item, limit=60)} is not an event type; use {', '.join(allowed)}"
            )
    return tuple(dict.fromkeys(types))


def _where(endpoint: WebhookEndpoint) -> str:
    # Without the path and query, which may contain a secret of the receiver.
    parts = urlsplit(endpoint.url)
    return f"{endpoint.namespace or 'the whole registry'}: {parts.scheme}://{parts.netloc}"
