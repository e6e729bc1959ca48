"""Requests to rescan all skills, or one."""

import secrets

from vskill_platform.engines.operations import Operation
from vskill_platform.stores.db import get_now
from vskill_platform.stores.records import Stored
from vskill_platform.stores.rescan_store import (
    OneRescanRequest,
    RescanRequest,
    get_rescan_done,
    get_rescan_request,
    put_rescan_request,
)


def write_rescan_request(actor: str) -> Operation:
    """Return the operation that stores a request for a full rescan."""
    return put_rescan_request(RescanRequest(by=actor, at=get_now(), id=secrets.token_hex(8)))


def new_one_rescan_request(slug: str, actor: str) -> OneRescanRequest:
    """Return a request to check one skill again."""
    return OneRescanRequest(slug=slug, by=actor, at=get_now(), id=f"rsc_{secrets.token_hex(8)}")


async def get_open_rescan_request() -> RescanRequest | None:
    """Return the request for a rescan that is not complete yet."""
    stored = await get_open_stored_request()
    return stored.record if stored else None


async def get_open_stored_request() -> Stored[RescanRequest] | None:
    asked, done = await get_rescan_request(), await get_rescan_done()
    is_open = asked is not None and (done is None or done.request_id != asked.record.id)
    return asked if is_open else None
