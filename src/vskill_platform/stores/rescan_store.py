"""Results of rescanning published skills, by the rules and policy that were applied."""

import hashlib
from datetime import datetime, timedelta

from vskill_platform.engines.ports import NEVER, Operation, Put
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
#: What was found is looked at soon, or found again.
KEPT_FOR = timedelta(days=90)
_ORDER = {outcome: place for place, outcome in enumerate(Outcome)}


class Rescan(Record, frozen=True, kw_only=True):
    slug: str
    version: str
    digest: str
    #: Names the rules and the policy.
    standard: str
    old: Outcome
    new: Outcome
    #: What decided, in words, and the finding that did; None where none was needed.
    clause: str
    finding: Finding | None
    checked_at: datetime
    #: Whether something decides now that the reviewer who approved it had not seen.
    is_unseen: bool = False
    #: The request for a rescan that it answers; empty if nobody asked.
    request_id: str = ""

    @property
    def is_worse(self) -> bool:
        return _ORDER[self.new] > _ORDER[self.old] or self.is_unseen

    @property
    def is_changed(self) -> bool:
        return self.new is not self.old or self.is_unseen


class RescanDone(Record, frozen=True, kw_only=True):
    """The standard that everything published was held to last."""

    standard: str
    at: datetime
    #: The last request that it answers; empty if there was none.
    request_id: str = ""


class RescanAsked(Record, frozen=True, kw_only=True):
    """Somebody wanted everything published to be checked again."""

    by: str
    at: datetime
    #: Answers name it, so no clock decides which of them came later; empty in older records.
    id: str = ""


def standard_id(*parts: object) -> str:
    """Name a standard by all that makes it up."""
    return hashlib.sha256(encode(parts)).hexdigest()[:16]


async def get_rescan_done() -> RescanDone | None:
    stored = await get_record(_DONE, RescanDone)
    return stored.record if stored else None


async def get_rescan_asked() -> Stored[RescanAsked] | None:
    return await get_record(_ASKED, RescanAsked)


async def get_rescans(standard: str) -> dict[str, Rescan]:
    """Return what was found by that standard, by slug."""
    keys = await list_all_keys(f"{_RESCAN}{standard}:")
    found = await read_each(keys, lambda key, value: decode(key, value, Rescan))
    return {rescan.slug: rescan for rescan in found}


def write_rescan(rescan: Rescan) -> Operation:
    return Put(
        f"{_RESCAN}{rescan.standard}:{rescan.slug}",
        encode(rescan),
        due=NEVER,
        expires_at=rescan.checked_at + KEPT_FOR,
    )


def write_rescan_done(done: RescanDone) -> Operation:
    return Put(_DONE, encode(done), due=NEVER)


def write_rescan_asked(asked: RescanAsked) -> Operation:
    return Put(_ASKED, encode(asked), due=NEVER)
