"""Fan out events: write deliveries to endpoints and emails to submitters, and move the cursor.

All of this is one commit, so a crash neither loses nor repeats an event.
"""

from datetime import timedelta

import msgspec

from vskill_platform.access.mail_addresses import MailTopic
from vskill_platform.access.one_time_links import is_mail_on
from vskill_platform.base.show_text import show
from vskill_platform.engines.operations import Operation
from vskill_platform.events.collect_events import collect_events
from vskill_platform.model.event import REGISTRY_ONLY, Event, EventType
from vskill_platform.model.rights import RIGHTS, Right
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.event_feed import FeedPage, read_feed, write_event_cursor
from vskill_platform.stores.mail_address_store import get_mail_address
from vskill_platform.stores.mail_store import (
    Mail,
    find_unsent_mail,
    new_mail,
    write_mail,
)
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.stores.user_store import get_user
from vskill_platform.stores.webhook_store import (
    DeliveryAttempt,
    WebhookDelivery,
    WebhookEndpoint,
    count_waiting,
    list_endpoints,
    new_delivery,
    write_delivery,
)

_E = EventType
_VERDICTS = {
    _E.SUBMISSION_PUBLISHED: "published",
    _E.SUBMISSION_REJECTED: "rejected",
    _E.SUBMISSION_BLOCKED: "blocked",
    _E.SUBMISSION_NEEDS_REVIEW: "needs review",
    _E.SUBMISSION_WITHDRAWN: "withdrawn",
}
#: Verdicts wait for this long, so that one email contains those of a whole repository.
_GATHER = timedelta(minutes=1)
_MAX_LISTED = 100
#: Beyond this number, deliveries to one endpoint fail at once; they can be replayed.
_MAX_WAITING = 1_000
_MAX_REASON = 500


async def has_new_events() -> bool:
    page = await read_feed()
    return page is not None and (bool(page.happened) or page.must_move or not page.is_last)


async def fan_out() -> int:
    """Write the deliveries and emails for new events; return the number of events."""
    count = 0
    while page := await read_feed():
        events = [
            event
            for key, happening in page.happened.items()
            for event in await collect_events(key, happening)
        ]
        if not await _write(page, events):
            break  # another node was faster
        count += len(events)
        if page.is_last:
            break
    return count


async def _write(page: FeedPage, events: list[Event]) -> bool:
    if not page.happened and not page.must_move:
        return True
    operations = [write_event_cursor(page.cursor, expected=page.expected)]
    operations += await _deliveries(events)
    operations += await _verdict_mails(events)
    return await commit(operations) is not None


async def _deliveries(events: list[Event]) -> list[Operation]:
    endpoints = [one for one in await list_endpoints() if one.is_enabled] if events else []
    operations: list[Operation] = []
    for endpoint in endpoints:
        wanted = [event for event in events if await wants(endpoint, event)]
        room = _MAX_WAITING - await count_waiting(endpoint.id, limit=_MAX_WAITING) if wanted else 0
        deliveries = [new_delivery(endpoint, event) for event in wanted]
        operations += map(write_delivery, deliveries[:room])
        operations += map(_overflowing, deliveries[room:])
    return operations


def _overflowing(delivery: WebhookDelivery) -> Operation:
    why = DeliveryAttempt(at=get_now(), answer=f"{_MAX_WAITING:,} deliveries are waiting already")
    return write_delivery(msgspec.structs.replace(delivery, state="failed", last=why))


async def wants(endpoint: WebhookEndpoint, event: Event) -> bool:
    """Return whether an endpoint has chosen this event, and its owner may see it."""
    if endpoint.types and event.type not in endpoint.types:
        return False
    if endpoint.namespace and (
        event.type in REGISTRY_ONLY or event.namespace != endpoint.namespace
    ):
        return False
    if not endpoint.namespace and event.is_private and not endpoint.with_private:
        return False
    return await owner_may(endpoint)


async def owner_may(endpoint: WebhookEndpoint) -> bool:
    """Return whether the owner of an endpoint still has the right to it."""
    owner = await get_user(endpoint.owner)
    if owner is None or owner.record.is_disabled:
        return False
    if Right.ADMINISTER in RIGHTS[owner.record.role]:
        return True
    if not endpoint.namespace:
        return False
    return (await get_namespace(endpoint.namespace)).record.is_owner(endpoint.owner)


async def _verdict_mails(events: list[Event]) -> list[Operation]:
    """Return the emails about verdicts, one for each submitter."""
    if not is_mail_on():
        return []
    lines: dict[str, list[str]] = {}
    for event in events:
        submitter = await _submitter_of(event) if event.type in _VERDICTS else None
        is_own = event.type is _E.SUBMISSION_WITHDRAWN and event.data.actor == submitter
        if submitter and not is_own:
            lines.setdefault(submitter, []).append(_line(event))
    return [
        operation for user, found in lines.items() for operation in await _verdict_mail(user, found)
    ]


async def _submitter_of(event: Event) -> str | None:
    """Return the user who submitted it, if that user may see it."""
    stored = await get_submission(event.data.submission)
    user = await get_user(stored.record.submitter) if stored else None
    if user is None:
        return None
    name = user.record.name
    if event.is_private and Right.REVIEW not in RIGHTS[user.record.role]:
        namespace = (await get_namespace(event.namespace)).record
        return name if namespace.is_insider(name) else None
    return name


def _line(event: Event) -> str:
    data = event.data
    reason = f"\n  {show(data.reason, limit=_MAX_REASON)}" if data.reason else ""
    return f"{show(data.name)}: {_VERDICTS[event.type]}{reason}\n  {data.url}"


async def _verdict_mail(user: str, lines: list[str]) -> list[Operation]:
    """Return a new email with these verdicts, or a waiting one with these verdicts added."""
    address = await get_mail_address(user)
    if address is None or not address.record.is_confirmed:
        return []
    if MailTopic.VERDICTS.value in address.record.muted:
        return []
    topic = f"verdicts {user}"
    waiting = await find_unsent_mail(topic)
    if waiting and waiting.record.to == address.record.address:
        earlier = waiting.record
        fields = _fields([*earlier.fields["lines"].split("\n\n"), *lines], earlier)
        more = msgspec.structs.replace(earlier, fields=fields)
        return [write_mail(more, expected=waiting.revision)]
    mail = new_mail(
        "verdicts", address.record.address, user=user, fields=_fields(lines), topic=topic
    )
    return [write_mail(msgspec.structs.replace(mail, due_at=get_now() + _GATHER))]


def _fields(lines: list[str], earlier: Mail | None = None) -> dict[str, str]:
    left_out = int(earlier.fields["left_out"]) if earlier else 0
    left_out += max(len(lines) - _MAX_LISTED, 0)
    shown = lines[:_MAX_LISTED]
    first = shown[0].partition("\n")[0]
    count = len(shown) + left_out
    return {
        "lines": "\n\n".join(shown),
        "left_out": str(left_out),
        "summary": first if count == 1 else f"results of {count} submissions",
    }
