"""The operations of a commit: on records, and on messages of the queue."""

from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import msgspec

#: The *expected* revision of a record that must not exist yet.
ABSENT = 0
#: The `due` of a finished record, which is never due again.
NEVER = datetime.max.replace(tzinfo=UTC)


class Delivery(msgspec.Struct, frozen=True):
    """One delivery of a message; valid until another delivery replaces it."""

    message_id: int
    #: The number of this delivery; an older one can no longer change anything.
    token: int
    body: bytes
    key: str | None
    #: How often the message was delivered, this time included.
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
    #: Words to find it by; every put names all of them.
    marks: tuple[str, ...] = ()
    #: Its rank among records with the same word.
    rank: int = 0


class Delete(msgspec.Struct, frozen=True):
    key: str
    expected: int | None = None


class Expect(msgspec.Struct, frozen=True):
    """Check without changing: the commit is applied only if the record is still like this."""

    key: str
    #: The revision that must exist, ABSENT for none.
    expected: int


class Send(msgspec.Struct, frozen=True):
    body: bytes
    #: While a message with this key waits or is leased, a second send is a no-op.
    key: str | None = None
    delay: timedelta = timedelta(0)
    #: Groups take turns, however many messages each has. Without one, the default group. Messages
    #: of the group BACKGROUND do not take part.
    group: str = ""
    #: A shared resource that handling needs, such as a host; `receive` can skip some.
    resource: str = ""


class Acknowledge(msgspec.Struct, frozen=True):
    delivery: Delivery


class Retry(msgspec.Struct, frozen=True):
    """Deliver a message again after *delay*, behind the new messages of its group."""

    delivery: Delivery
    delay: timedelta
    reason: str


class Release(msgspec.Struct, frozen=True):
    """Return a message: ready at once, at its old position, and the delivery does not count."""

    delivery: Delivery


class Extend(msgspec.Struct, frozen=True):
    """Extend a lease: it ends *lease* from now."""

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


#: Those that concern one record.
RecordOperation: TypeAlias = Put | Delete | Expect
Operation: TypeAlias = (
    RecordOperation | Send | Acknowledge | Retry | Release | Extend | Bury | Requeue | Drop
)
