"""How much may be uploaded on a day to a namespace that belongs to nobody."""

from datetime import UTC, datetime, time, timedelta

import msgspec

from vskill_platform.engines.ports import Operation
from vskill_platform.errors import TooMany
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.user import own_namespace
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.quota_store import Quota, get_quota, write_quota
from vskill_platform.stores.records import Stored
from vskill_platform.web.http.rate_limits import who_asks


async def charge_upload(visitor: Visitor, namespace: str, size: int) -> None:
    """Count an upload against the quotas of the day; raise TooMany if it does not fit.

    What somebody uploads to a namespace of their own, or of owners who let them, is their own
    affair: the policy bounds that.
    """
    settings = get_settings()
    is_own = visitor.user is not None and namespace == own_namespace(visitor.user.name)
    if is_own or visitor.may(Right.OPERATE, settings):
        return
    if (await get_namespace(namespace)).record.is_owned:
        return
    today = get_now().date()

    async def plan() -> PlannedChange[None]:
        theirs = await get_quota(f"uploads of {who_asks(visitor)}", today)
        everyones = await get_quota(f"uploads to {namespace}", today)
        _check(theirs.record, everyones.record, namespace, size)
        put = [_added(stored, size) for stored in (theirs, everyones)]
        return PlannedChange(operations=put, result=None)

    await change(f"the upload quota of {namespace}", plan)


def _check(theirs: Quota, everyones: Quota, namespace: str, size: int) -> None:
    settings = get_settings()
    if theirs.used >= settings.unowned_uploads_per_day:
        raise _full(f"{settings.unowned_uploads_per_day:,} uploads of one visitor", namespace)
    most = settings.unowned_upload_bytes_per_day
    if theirs.bytes + size > most:
        raise _full(f"{most:,} bytes of one visitor", namespace)
    most = settings.unowned_namespace_bytes_per_day
    if everyones.bytes + size > most:
        raise _full(f"{most:,} bytes of all visitors together", namespace)


def _full(quota: str, namespace: str) -> TooMany:
    now = get_now()
    midnight = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
    return TooMany(
        f"{namespace} takes {quota} on a day, and this upload would exceed that; sign in and "
        "upload to a namespace of your own, or try again tomorrow (UTC)",
        retry_after=midnight - now,
    )


def _added(stored: Stored[Quota], size: int) -> Operation:
    quota = msgspec.structs.replace(
        stored.record, used=stored.record.used + 1, bytes=stored.record.bytes + size
    )
    return write_quota(quota, expected=stored.revision)
