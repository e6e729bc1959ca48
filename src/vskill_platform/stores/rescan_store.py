"""Results of rescanning published skills, by the rules and policy that were applied."""

import hashlib
from datetime import datetime, timedelta

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.decision import Outcome
from vskill_platform.model.record import Record
from vskill_platform.model.verdict import Finding
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_record,
    list_all_keys,
    read_each,
)

_RESCAN = "rescan:"
_DONE = "rescan-done"
_ASKED = "rescan-asked"
_ASKED_FOR_ONE = "rescan-one:"
#: How long a result is kept; a missing one is computed again.
KEPT_FOR = timedelta(days=90)
#: After this time, a request for one skill is dropped if its checks have failed.
_TRIED_FOR = timedelta(days=1)
_ORDER = {outcome: place for place, outcome in enumerate(Outcome)}


class Rescan(Record, frozen=True, kw_only=True):
    slug: str
    version: str
    digest: str
    #: Identifies the rules and the policy.
    standard: str
    old: Outcome
    new: Outcome
    #: The reason for the decision, and the deciding finding; None if there is none.
    clause: str
    finding: Finding | None
    checked_at: datetime
    #: Whether a deciding finding is one that the approving reviewer has not seen.
    is_unseen: bool = False
    #: The request that it fulfils; empty if there was none.
    request_id: str = ""

    @property
    def is_worse(self) -> bool:
        return _ORDER[self.new] > _ORDER[self.old] or self.is_unseen

    @property
    def is_changed(self) -> bool:
        return self.new is not self.old or self.is_unseen


class RescanDone(Record, frozen=True, kw_only=True):
    """The rules and policy with which all published skills were last checked."""

    standard: str
    at: datetime
    #: The last request that it fulfils; empty if there was none.
    request_id: str = ""


class RescanRequest(Record, frozen=True, kw_only=True):
    """A request to check all published skills again."""

    by: str
    at: datetime
    #: Results contain this id, so that their order does not depend on a clock; empty in older
    #: records.
    id: str = ""


class OneRescanRequest(Record, frozen=True, kw_only=True):
    """A request to check one skill again."""

    slug: str
    by: str
    at: datetime
    id: str


def standard_id(*parts: object) -> str:
    """Return an id for the rules and policy."""
    return hashlib.sha256(encode(parts)).hexdigest()[:16]


async def get_rescan_done() -> RescanDone | None:
    stored = await get_record(_DONE, RescanDone)
    return stored.record if stored else None


async def get_rescan_request() -> Stored[RescanRequest] | None:
    return await get_record(_ASKED, RescanRequest)


async def get_rescans(standard: str) -> dict[str, Rescan]:
    """Return the results for these rules and this policy, by slug."""
    keys = await list_all_keys(f"{_RESCAN}{standard}:")
    found = await read_each(keys, lambda key, value: decode(key, value, Rescan))
    return {rescan.slug: rescan for rescan in found}


async def get_rescan(standard: str, slug: str) -> Rescan | None:
    stored = await get_record(f"{_RESCAN}{standard}:{slug}", Rescan)
    return stored.record if stored else None


def write_rescan(rescan: Rescan) -> Operation:
    return Put(
        f"{_RESCAN}{rescan.standard}:{rescan.slug}",
        encode(rescan),
        due=NEVER,
        expires_at=rescan.checked_at + KEPT_FOR,
    )


async def get_one_rescan_request(slug: str) -> Stored[OneRescanRequest] | None:
    return await get_record(_ASKED_FOR_ONE + slug, OneRescanRequest)


async def list_one_rescan_requests() -> dict[str, OneRescanRequest]:
    """Return the open requests for single skills, by slug."""
    keys = await list_all_keys(_ASKED_FOR_ONE)
    found = await read_each(keys, lambda key, value: decode(key, value, OneRescanRequest))
    return {request.slug: request for request in found}


def put_one_rescan_request(asked: OneRescanRequest) -> Operation:
    return Put(
        _ASKED_FOR_ONE + asked.slug,
        encode(asked),
        expected=ABSENT,
        due=NEVER,
        expires_at=asked.at + _TRIED_FOR,
    )


def delete_one_rescan_request(slug: str, *, expected: int) -> Operation:
    return Delete(_ASKED_FOR_ONE + slug, expected=expected)


def write_rescan_done(done: RescanDone) -> Operation:
    return Put(_DONE, encode(done), due=NEVER)


def put_rescan_request(asked: RescanRequest) -> Operation:
    return Put(_ASKED, encode(asked), due=NEVER)
