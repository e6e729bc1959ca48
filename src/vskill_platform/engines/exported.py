"""The contents of a database in a form that every engine can write and read."""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Protocol, TypeAlias

import msgspec

#: A page has at most this many items, and values of about this many bytes.
PAGE_ITEMS = 500
PAGE_BYTES = 8 * 1024 * 1024


class StoredRecord(msgspec.Struct, frozen=True, array_like=True, tag="record"):
    key: str
    value: bytes
    due: datetime | None = None
    expires_at: datetime | None = None
    marks: tuple[str, ...] = ()
    rank: int = 0


class StoredMessage(msgspec.Struct, frozen=True, array_like=True, tag="message"):
    body: bytes
    key: str | None
    group: str
    resource: str
    #: The number of deliveries.
    attempts: int
    #: The end of its delay or lease, or when it became ready.
    ready_at: datetime
    #: Its position, counted from the last delivered turn; None if it is not ready.
    turn: int | None
    is_retry: bool


class StoredDeadLetter(msgspec.Struct, frozen=True, array_like=True, tag="letter"):
    body: bytes
    key: str | None
    group: str
    resource: str
    attempts: int
    reason: str
    buried_at: datetime


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the contents of a database or backup."""

    revision: int
    #: Records per kind: the part of their keys before the first colon.
    records: dict[str, int]
    messages: int
    dead_letters: int


StoredItem: TypeAlias = StoredRecord | StoredMessage | StoredDeadLetter


class Export(Protocol):
    """A snapshot of a database; it does not contain later writes."""

    @property
    def history_id(self) -> str: ...

    @property
    def revision(self) -> int: ...

    @property
    def items(self) -> int:
        """The number of records, messages and dead letters."""
        ...

    def pages(self) -> AsyncIterator[list[StoredItem]]:
        """Yield everything in bounded pages of one kind.

        Records come first, by key; then messages and dead letters, in the order of their ids.
        Expired records that were not pruned yet are included.
        """
        ...


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[StoredItem])


def encode_page(page: Sequence[StoredItem]) -> bytes:
    return _encoder.encode(page)


def decode_page(content: bytes) -> list[StoredItem]:
    return _decoder.decode(content)


class Tally:
    """Counts and digest of a stream of items; equal for equal items in the same order."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.records: Counter[str] = Counter()
        self.messages = 0
        self.dead_letters = 0

    def add(self, page: Sequence[StoredItem]) -> None:
        for item in page:
            content = _encoder.encode(item)
            self._digest.update(len(content).to_bytes(8, "big"))
            self._digest.update(content)
            match item:
                case StoredRecord(key):
                    kind, colon, _ = key.partition(":")
                    self.records[kind if colon else "(other)"] += 1
                case StoredMessage():
                    self.messages += 1
                case StoredDeadLetter():
                    self.dead_letters += 1

    @property
    def items(self) -> int:
        return self.records.total() + self.messages + self.dead_letters

    @property
    def digest(self) -> str:
        return f"sha256:{self._digest.hexdigest()}"
