"""Endpoints of webhooks, and the deliveries to them: first waiting, then their log."""

import secrets
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

import msgspec

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.event import Event
from vskill_platform.model.record import Record
from vskill_platform.stores.db import get_kv, get_now, get_settings
from vskill_platform.stores.records import (
    MAX_COUNTED,
    Backlog,
    Stored,
    decode,
    encode,
    get_record,
    list_all_keys,
    moment_in_id,
    read_each,
)

_ENDPOINT = "webhook:"
_DELIVERY = "webhook-delivery:"
#: Changes with every new endpoint of a namespace.
_ADDED = "webhook-added:"
#: Prefixes of the marks that find the deliveries of an endpoint, and the failed ones.
_OF = "webhook-deliveries "
_FAILED_OF = "webhook-failed "
_WAITING_OF = "webhook-waiting "
#: How long a successful delivery stays in the log.
_KEPT = timedelta(days=14)


class PayloadShape(StrEnum):
    STANDARD = "standard"
    SLACK = "slack"
    TEAMS = "teams"


class WebhookEndpoint(Record, frozen=True, kw_only=True):
    id: str
    url: str
    #: Empty for events of the whole registry.
    namespace: str
    #: The owner; events are sent only while this user has the right to see them.
    owner: str
    #: Empty for all types.
    types: tuple[str, ...] = ()
    shape: PayloadShape = PayloadShape.STANDARD
    #: Whether events of private skills are also sent; always true for an endpoint of a namespace.
    with_private: bool = False
    label: str = ""
    secret: str
    #: Also signs deliveries until that time, so that the receiver has time to change its secret.
    old_secret: str = ""
    old_secret_until: datetime | None = None
    created_at: datetime
    is_enabled: bool = True
    #: Why it was switched off, if the registry did so.
    problem: str = ""
    #: Since when all deliveries have failed; None after a success.
    failing_since: datetime | None = None


class DeliveryAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """The last attempt of a delivery."""

    at: datetime
    #: The HTTP status; 0 without a response.
    status: int = 0
    #: The beginning of the response, or why there was none.
    answer: str = ""
    milliseconds: int = 0


class WebhookDelivery(Record, frozen=True, kw_only=True):
    #: Sorts by time.
    id: str
    endpoint: str
    event: Event
    state: Literal["waiting", "delivered", "failed"] = "waiting"
    created_at: datetime
    attempts: int = 0
    #: When it is tried next; while a node sends it, when that node is considered dead.
    due_at: datetime
    last: DeliveryAttempt | None = None


def new_endpoint_id() -> str:
    return f"ep_{secrets.token_hex(8)}"


async def get_endpoint(endpoint_id: str) -> Stored[WebhookEndpoint] | None:
    return await get_record(_ENDPOINT + endpoint_id, WebhookEndpoint)


async def list_endpoints() -> list[WebhookEndpoint]:
    keys = await list_all_keys(_ENDPOINT)
    return await read_each(keys, lambda key, value: decode(key, value, WebhookEndpoint))


def write_endpoint(endpoint: WebhookEndpoint, *, expected: int) -> Operation:
    return Put(_ENDPOINT + endpoint.id, encode(endpoint), expected=expected, due=NEVER)


async def get_endpoints_mark(namespace: str) -> int:
    """Return the revision of the mark that changes with every new endpoint of a namespace."""
    entry = await get_kv().get(_ADDED + namespace)
    return entry.revision if entry else ABSENT


def write_endpoints_mark(namespace: str, *, expected: int) -> Operation:
    """Return the operation that fails if another endpoint was added since the mark was read."""
    return Put(_ADDED + namespace, b"", expected=expected, due=NEVER)


def delete_endpoint(stored: Stored[WebhookEndpoint]) -> Operation:
    return Delete(_ENDPOINT + stored.record.id, expected=stored.revision)


def new_delivery(endpoint: WebhookEndpoint, event: Event) -> WebhookDelivery:
    now = get_now()
    delivery_id = f"{_micros(now):014x}{secrets.token_hex(8)}"
    return WebhookDelivery(
        id=delivery_id, endpoint=endpoint.id, event=event, created_at=now, due_at=now
    )


def write_delivery(delivery: WebhookDelivery, *, expected: int = ABSENT) -> Operation:
    marks = [_OF + delivery.endpoint]
    if delivery.state == "failed":
        marks.append(_FAILED_OF + delivery.endpoint)
    elif delivery.state == "waiting":
        marks.append(_WAITING_OF + delivery.endpoint)
    kept = _KEPT if delivery.state == "delivered" else get_settings().keep_dead_letters
    is_kept = delivery.state == "waiting" or kept <= timedelta(0)
    return Put(
        _DELIVERY + delivery.id,
        encode(delivery),
        expected=expected,
        due=delivery.due_at if delivery.state == "waiting" else NEVER,
        expires_at=None if is_kept else get_now() + kept,
        marks=tuple(marks),
        rank=_micros(delivery.created_at),
    )


async def get_delivery(delivery_id: str) -> Stored[WebhookDelivery] | None:
    return await get_record(_DELIVERY + delivery_id, WebhookDelivery)


async def list_due_deliveries(*, limit: int) -> list[str]:
    """Return the ids of deliveries that are due, most overdue first."""
    page = await get_kv().list_keys(_DELIVERY, due_before=get_now(), limit=limit)
    return [key.removeprefix(_DELIVERY) for key in page.keys]


async def list_deliveries(
    endpoint_id: str, *, limit: int, only: Literal["", "failed", "waiting"] = ""
) -> list[WebhookDelivery]:
    """Return the latest deliveries to an endpoint, newest first."""
    prefix = {"": _OF, "failed": _FAILED_OF, "waiting": _WAITING_OF}[only]
    (keys,) = await get_kv().find_marked([prefix + endpoint_id], limit=limit, last_first=True)
    return await read_each(keys, lambda key, value: decode(key, value, WebhookDelivery))


async def measure_deliveries() -> Backlog:
    """Count waiting and failed deliveries; also return since when the first waits."""
    endpoints = [key.removeprefix(_ENDPOINT) for key in await list_all_keys(_ENDPOINT)]
    waiting = await _find_all(_WAITING_OF, endpoints)
    failed = await _find_all(_FAILED_OF, endpoints)
    ids = [key.removeprefix(_DELIVERY) for key in waiting]
    oldest = moment_in_id(min(ids)) if ids else None
    return Backlog(waiting=len(ids), failed=len(failed), oldest=oldest)


async def _find_all(prefix: str, endpoints: list[str]) -> list[str]:
    """Return the keys of deliveries with a mark, at most MAX_COUNTED for each endpoint."""
    marks = [prefix + endpoint for endpoint in endpoints]
    found = await get_kv().find_marked(marks, limit=MAX_COUNTED) if marks else []
    return [key for keys in found for key in keys]


async def count_waiting(endpoint_id: str, *, limit: int) -> int:
    (keys,) = await get_kv().find_marked([_WAITING_OF + endpoint_id], limit=limit)
    return len(keys)


def _micros(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)
