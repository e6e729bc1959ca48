"""The operations of a commit: on records, and on messages of the queue."""

from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import msgspec

#: The *expected* revision of a record that must not exist yet.
ABSENT = 0
#: The `due` of a finished record, which will never be due again.
NEVER = datetime.max.replace(tzinfo=UTC)


class Delivery(msgspec.Struct, frozen=True):
    """One delivery of a message; valid until another delivery replaces it."""

    message_id: int
    #: The number of this delivery; an older delivery can no longer change anything.
    token: int
    body: bytes
    key: str | None
    #: How often the message was delivered, including this delivery.
    attempt: int
    group: str = ""
    resource: str = ""


class Put(msgspec.Struct, frozen=True):
    key: str
    value: bytes
    #: The revision that must exist, ABSENT for none, None for any.
    expected: int | None = None
    #: When the record is due; NEVER when it is finished, None if unknown.
    due: datetime | None = None
    #: After this time no reader sees the record.
    expires_at: datetime | None = None
    #: Words that find the record; every put must name all of them.
    marks: tuple[str, ...] = ()
    #: The rank of the record among those with the same word.
    rank: int = 0


class Delete(msgspec.Struct, frozen=True):
    key: str
    expected: int | None = None


class Expect(msgspec.Struct, frozen=True):
    """A check: the commit is applied only if the record still has this revision."""

    key: str
    #: The revision that must exist, ABSENT for none.
    expected: int


class Send(msgspec.Struct, frozen=True):
    body: bytes
    #: While a message with this key waits or is leased, a second send is a no-op.
    key: str | None = None
    delay: timedelta = timedelta(0)
    #: Groups take turns, however many messages each has. Empty for the default group. Messages of
    #: the group BACKGROUND do not take part.
    group: str = ""
    #: A shared resource that the handler needs, such as a host; `receive` can skip resources.
    resource: str = ""


class Acknowledge(msgspec.Struct, frozen=True):
    delivery: Delivery


class Retry(msgspec.Struct, frozen=True):
    """Deliver a message again after *delay*, behind the new messages of its group."""

    delivery: Delivery
    delay: timedelta
    reason: str


class Release(msgspec.Struct, frozen=True):
    """Return a message to its old position in the queue; the delivery does not count."""

    delivery: Delivery


class Extend(msgspec.Struct, frozen=True):
    """Extend a lease until *lease* from now."""

    delivery: Delivery
    lease: timedelta


class Bury(msgspec.Struct, frozen=True):
    delivery: Delivery
    reason: str


class Requeue(msgspec.Struct, frozen=True):
    """Queue a dead letter again, as a new message with all attempts left."""

    message_id: int


class Drop(msgspec.Struct, frozen=True):
    """Delete a dead letter."""

    message_id: int


#: The operations on records.
RecordOperation: TypeAlias = Put | Delete | Expect
Operation: TypeAlias = (
    RecordOperation | Send | Acknowledge | Retry | Release | Extend | Bury | Requeue | Drop
)
