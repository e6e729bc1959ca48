"""Limits on submissions: quotas, queued submissions, and skills of other submitters."""

from datetime import UTC, datetime, time, timedelta
from hashlib import blake2b

import msgspec

from vskill_platform.engines.operations import Operation
from vskill_platform.errors import NotAllowed, TooMany
from vskill_platform.model.namespace import namespace_of
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.source import Source
from vskill_platform.model.submission import TERMINAL_STATES, Submission
from vskill_platform.model.user import own_namespace
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now, get_queue, get_settings
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.quota_store import Quota, get_quota, write_quota
from vskill_platform.stores.records import Stored
from vskill_platform.stores.submission_store import get_source_owner, get_submission
from vskill_platform.web.http.rate_limits import quota_key

#: Skills in one request without an account.
MAX_ANONYMOUS_SKILLS = 50
_DIGEST_BYTES = 12
_ASK_AGAIN = timedelta(minutes=1)


def check_count(visitor: Visitor, count: int) -> None:
    """Limit anonymous requests, because each skill costs a fetch and a scan."""
    if visitor.user is None and count > MAX_ANONYMOUS_SKILLS:
        raise NotAllowed(
            f"submitting {count} skills at once requires signing in; without it, the limit is "
            f"{MAX_ANONYMOUS_SKILLS}"
        )


def group_of(visitor: Visitor) -> str:
    """Return the fair-queueing group: the user, or the address without an account.

    Only a digest of an address is stored, and only as long as the message.
    """
    if visitor.user:
        return visitor.user.name
    address = quota_key(visitor).encode()
    return f"anonymous {blake2b(address, digest_size=_DIGEST_BYTES).hexdigest()}"


async def check_pending(visitor: Visitor, count: int) -> None:
    """Limit the queued submissions of one address without an account."""
    if visitor.user is not None:
        return
    most, pending = (
        get_settings().anonymous_pending,
        await get_queue().count_group(group_of(visitor)),
    )
    if pending + count > most:
        raise TooMany(
            f"you have {pending} submissions in the queue, and the limit without signing in is "
            f"{most}; wait until some are done, or sign in",
            retry_after=_ASK_AGAIN,
        )


async def check_may_replace(visitor: Visitor, source: Source) -> bool:
    """Refuse an upload that would replace a skill of another submitter.

    If the namespace has owners, their rights decide. In a namespace without owners, anyone may
    create a skill, but only its submitter may update it, and an anonymous submitter cannot be
    verified. Returns False, because uploads have no ref to replace.
    """
    known = await _known(source)
    if known is None or visitor.may(Right.OPERATE, get_settings()):
        return False
    is_theirs = visitor.user is not None and visitor.user.name == known.submitter
    is_alive = known.slug is not None or known.state not in TERMINAL_STATES
    is_other = source.upload_sha256 != known.source.upload_sha256
    namespace = (await get_namespace(namespace_of(source))).record
    if is_alive and is_other and not is_theirs and not namespace.is_owned:
        raise NotAllowed(
            f"{known.skill_name} was uploaded by someone else; choose another name, "
            "or sign in and upload it to your own namespace"
        )
    return False


async def _known(source: Source) -> Submission | None:
    owner = await get_source_owner(source)
    existing = await get_submission(owner) if owner else None
    return existing.record if existing else None


async def charge_upload(visitor: Visitor, namespace: str, size: int) -> None:
    """Count an upload against the daily quotas; raise TooMany if they are exceeded.

    Namespaces with owners are exempt: the policy limits them.
    """
    settings = get_settings()
    is_own = visitor.user is not None and namespace == own_namespace(visitor.user.name)
    if is_own or visitor.may(Right.OPERATE, settings):
        return
    if (await get_namespace(namespace)).record.is_owned:
        return
    today = get_now().date()

    async def plan() -> PlannedChange[None]:
        theirs = await get_quota(f"uploads of {quota_key(visitor)}", today)
        everyones = await get_quota(f"uploads to {namespace}", today)
        _check(theirs.record, everyones.record, namespace, size)
        put = [_added(stored, size) for stored in (theirs, everyones)]
        return PlannedChange(operations=put, result=None)

    await change(f"the upload quota of {namespace}", plan)


def _check(theirs: Quota, everyones: Quota, namespace: str, size: int) -> None:
    settings = get_settings()
    if theirs.used >= settings.unowned_uploads_per_day:
        raise _full(f"{settings.unowned_uploads_per_day:,} uploads for each visitor", namespace)
    most = settings.unowned_upload_bytes_per_day
    if theirs.bytes + size > most:
        raise _full(f"{most:,} bytes for each visitor", namespace)
    most = settings.unowned_namespace_bytes_per_day
    if everyones.bytes + size > most:
        raise _full(f"{most:,} bytes in total", namespace)


def _full(quota: str, namespace: str) -> TooMany:
    now = get_now()
    midnight = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
    return TooMany(
        f"the daily limit of {namespace} is {quota}, and this upload would exceed it; sign in "
        "and upload to your own namespace, or try again tomorrow (UTC)",
        retry_after=midnight - now,
    )


def _added(stored: Stored[Quota], size: int) -> Operation:
    quota = msgspec.structs.replace(
        stored.record, used=stored.record.used + 1, bytes=stored.record.bytes + size
    )
    return write_quota(quota, expected=stored.revision)
