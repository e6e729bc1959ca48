"""Pending transfers of skills and namespaces, until the receiver accepts them or they expire."""

from datetime import datetime, timedelta
from hashlib import blake2b

from vskill_platform.engines.operations import NEVER, Delete, Operation, Put
from vskill_platform.errors import NotFound
from vskill_platform.model.record import Record
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_record,
    list_all_keys,
    read_each,
)

_TRANSFER = "transfer:"
OFFERED_FOR = timedelta(days=30)
_ID_BYTES = 8


class Transfer(Record, frozen=True, kw_only=True):
    #: The slug of a skill, or a namespace.
    subject: str
    is_namespace: bool = False
    #: The namespace that receives the skill, or the user who receives the namespace.
    to: str
    by: str
    at: datetime

    @property
    def id(self) -> str:
        return transfer_id(self.subject, is_namespace=self.is_namespace)

    @property
    def expires_at(self) -> datetime:
        return self.at + OFFERED_FOR


def transfer_id(subject: str, *, is_namespace: bool = False) -> str:
    """Return the transfer id of a skill or namespace, which can have only one transfer."""
    kind = "namespace" if is_namespace else "skill"
    return blake2b(f"{kind} {subject}".encode(), digest_size=_ID_BYTES).hexdigest()


async def get_transfer(id_: str) -> Stored[Transfer] | None:
    return await get_record(_TRANSFER + id_, Transfer)


async def list_transfers() -> list[Transfer]:
    keys = await list_all_keys(_TRANSFER)
    return await read_each(keys, lambda key, value: decode(key, value, Transfer))


async def end_accepted(accepted: Stored[Transfer]) -> Operation:
    """Return the operation that removes an accepted offer; raise if it was withdrawn."""
    current = await get_transfer(accepted.record.id)
    if current is None or current.revision != accepted.revision:
        raise NotFound("this transfer no longer exists; it was withdrawn or changed")
    return delete_transfer(accepted.record.id, expected=accepted.revision)


async def end_offer(stored: Stored[Transfer], *, actor: str) -> None:
    """End an offer that was declined or withdrawn; raise if it was accepted meanwhile."""
    offer = stored.record
    audit = write_audit("transfer end", offer.subject, actor=actor, reason="")
    if await commit([delete_transfer(offer.id, expected=stored.revision), audit]) is None:
        raise NotFound("this transfer has just been accepted or changed")


def write_transfer(transfer: Transfer) -> Operation:
    """Store an offer; it replaces an earlier one of the same skill or namespace."""
    return Put(_TRANSFER + transfer.id, encode(transfer), due=NEVER, expires_at=transfer.expires_at)


def delete_transfer(id_: str, *, expected: int | None = None) -> Operation:
    return Delete(_TRANSFER + id_, expected=expected)
