"""Deliver webhooks: at least once, in no guaranteed order, retried for three days."""

import random
from datetime import datetime, timedelta
from functools import partial

import msgspec

from vskill_platform.base.metrics import count_delivery
from vskill_platform.base.settle import settle
from vskill_platform.base.show_text import count_of
from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import RecordMalformed
from vskill_platform.events.fan_out import fan_out, has_new_events, owner_may
from vskill_platform.events.payloads import build_payload
from vskill_platform.events.post_webhook import ReceiverResponse, post_webhook
from vskill_platform.events.sign_webhook import sign_webhook
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.mail_address_store import mail_to_user
from vskill_platform.stores.records import Stored
from vskill_platform.stores.webhook_store import (
    DeliveryAttempt,
    WebhookDelivery,
    WebhookEndpoint,
    get_delivery,
    get_endpoint,
    list_due_deliveries,
    write_delivery,
    write_endpoint,
)

log = get_logger(__name__)

#: Waits before the next attempt, three days in total; after the last one, a delivery has failed.
WAITS = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 72000)
)
_JITTER = 0.2
#: While a node sends a delivery, no other node does.
_LEASE = timedelta(minutes=2)
#: How long other deliveries to the same endpoint wait after one has failed.
_POSTPONE = timedelta(minutes=1)
#: An endpoint that has failed for this long is switched off.
OFF_AFTER = timedelta(days=5)
_AT_ONCE = 200
_ENDPOINTS_AT_ONCE = 16
#: The receiver wants no more deliveries.
_GONE = 410


class _Tally(msgspec.Struct):
    delivered: int = 0
    failed: int = 0


async def has_events_to_send() -> bool:
    return bool(await list_due_deliveries(limit=1)) or await has_new_events()


async def send_events() -> str:
    """Fan out new events and deliver what is due; return what was done."""
    events = await fan_out()
    tally = _Tally()
    while ids := await list_due_deliveries(limit=_AT_ONCE):
        by_endpoint = await _due_by_endpoint(ids)
        if not by_endpoint:
            break
        # Endpoints are independent: a slow one delays no other.
        done = await settle(
            partial(_deliver_to, tally=tally), by_endpoint.items(), at_once=_ENDPOINTS_AT_ONCE
        )
        for error in (one for one in done if isinstance(one, Exception)):
            raise error
        if not any(done):
            break
    return (
        f"{count_of(events, 'event')}, {tally.delivered} delivered, {tally.failed} will be retried"
    )


async def _due_by_endpoint(ids: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for delivery_id in ids:
        try:
            stored = await get_delivery(delivery_id)
        except RecordMalformed as error:
            log.error("delivery skipped, its record cannot be read", error=str(error))
            continue
        if stored:
            found.setdefault(stored.record.endpoint, []).append(delivery_id)
    return found


async def _deliver_to(item: tuple[str, list[str]], *, tally: _Tally) -> int:
    """Send the deliveries of one endpoint one by one; after a failure, postpone the rest."""
    endpoint_id, ids = item
    has_failed, claimed = False, 0
    for delivery_id in ids:
        stored = await _claim(
            delivery_id, _POSTPONE if has_failed else _LEASE, is_try=not has_failed
        )
        if stored is None:
            continue
        claimed += 1
        if not has_failed:
            has_failed = not await _deliver(endpoint_id, stored, tally)
    return claimed


async def _claim(
    delivery_id: str, until: timedelta, *, is_try: bool
) -> Stored[WebhookDelivery] | None:
    """Claim a delivery for this node; return None if another node was faster."""
    stored = await get_delivery(delivery_id)
    if stored is None or stored.record.state != "waiting" or stored.record.due_at > get_now():
        return None
    claimed = msgspec.structs.replace(
        stored.record, attempts=stored.record.attempts + is_try, due_at=get_now() + until
    )
    revision = await commit([write_delivery(claimed, expected=stored.revision)])
    return Stored(claimed, revision) if revision is not None else None


async def _deliver(endpoint_id: str, stored: Stored[WebhookDelivery], tally: _Tally) -> bool:
    """Send one delivery and record the result; return whether it needs no further attempt."""
    endpoint = await get_endpoint(endpoint_id)
    delivery = stored.record
    if endpoint is None or not endpoint.record.is_enabled or not await owner_may(endpoint.record):
        why = "the endpoint is gone or switched off, or its owner has lost the right to it"
        await _record(stored, DeliveryAttempt(at=get_now(), answer=why), state="failed")
        count_delivery("failed")
        return True
    settings, watch = get_settings(), Stopwatch()
    body = build_payload(delivery.event, endpoint.record.shape)
    headers = {
        "content-type": "application/json",
        "user-agent": "vskill-platform",
        **sign_webhook(endpoint.record, delivery.event.id, body, now=get_now()),
    }
    answer = await post_webhook(endpoint.record.url, body, headers, settings)
    attempt = DeliveryAttempt(
        at=get_now(),
        status=answer.status,
        answer=answer.text,
        milliseconds=round(watch.total_seconds * 1000),
    )
    if answer.is_success:
        tally.delivered += 1
        count_delivery("delivered")
        await _record(stored, attempt, state="delivered")
        await _note_success(endpoint.record.id)
        return True
    tally.failed += 1
    await _retry_later(stored, attempt, answer)
    await _note_failure(endpoint.record.id, answer)
    return False


async def _record(stored: Stored[WebhookDelivery], attempt: DeliveryAttempt, *, state: str) -> None:
    done = msgspec.structs.replace(stored.record, state=state, last=attempt)
    await commit([write_delivery(done, expected=stored.revision)])


async def _retry_later(
    stored: Stored[WebhookDelivery], attempt: DeliveryAttempt, answer: ReceiverResponse
) -> None:
    delivery = stored.record
    if delivery.attempts > len(WAITS):
        log.warning(
            "webhook failed (dead letter)", endpoint=delivery.endpoint, delivery=delivery.id
        )
        await _record(stored, attempt, state="failed")
        count_delivery("failed")
        return
    count_delivery("retried")
    wait = WAITS[delivery.attempts - 1] * (1 + random.uniform(0, _JITTER))  # noqa: S311 - not a secret
    wait = max(wait, answer.retry_after or wait)
    later = msgspec.structs.replace(delivery, due_at=get_now() + wait, last=attempt)
    await commit([write_delivery(later, expected=stored.revision)])


async def _note_success(endpoint_id: str) -> None:
    async def plan() -> PlannedChange[None]:
        stored = await get_endpoint(endpoint_id)
        if stored is None or stored.record.failing_since is None:
            return PlannedChange(result=None)
        works = msgspec.structs.replace(stored.record, failing_since=None)
        operations = [write_endpoint(works, expected=stored.revision)]
        return PlannedChange(operations=operations, result=None)

    await change(f"the endpoint {endpoint_id}", plan)


async def _note_failure(endpoint_id: str, answer: ReceiverResponse) -> None:
    """Record since when an endpoint has been failing; switch it off after too long."""

    async def plan() -> PlannedChange[None]:
        stored = await get_endpoint(endpoint_id)
        if stored is None or not stored.record.is_enabled:
            return PlannedChange(result=None)
        endpoint, now = stored.record, get_now()
        why = _why_off(endpoint, answer, now)
        if why:
            return PlannedChange(operations=await _switch_off(stored, why), result=None)
        if endpoint.failing_since:
            return PlannedChange(result=None)
        fails = msgspec.structs.replace(endpoint, failing_since=now)
        operations = [write_endpoint(fails, expected=stored.revision)]
        return PlannedChange(operations=operations, result=None)

    await change(f"the endpoint {endpoint_id}", plan)


def _why_off(endpoint: WebhookEndpoint, answer: ReceiverResponse, now: datetime) -> str:
    if answer.status == _GONE:
        return "it answered 410 Gone"
    if endpoint.failing_since and now - endpoint.failing_since >= OFF_AFTER:
        return f"every delivery has failed for {OFF_AFTER.days} days"
    return ""


async def _switch_off(stored: Stored[WebhookEndpoint], why: str) -> list[Operation]:
    endpoint = msgspec.structs.replace(stored.record, is_enabled=False, problem=why)
    log.error("webhook endpoint switched off", endpoint=endpoint.id, reason=why)
    audit = write_audit("webhook off", endpoint.id, actor="cron", reason=why)
    fields = {"url": endpoint.url, "reason": why, "namespace": endpoint.namespace}
    mails = await mail_to_user("endpoint_off", endpoint.owner, fields)
    return [write_endpoint(endpoint, expected=stored.revision), audit, *mails]
