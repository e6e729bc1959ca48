"""What an engine must offer: records, a queue, one atomic commit over both, a change feed.

An engine knows bytes, not skills. docs/engines.md says each promise in full and
tests/contracts/ holds every engine to it.
"""

from collections.abc import AsyncIterator, Awaitable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeAlias

import msgspec

#: A value may be this large; a larger one is refused before anything is written.
MAX_VALUE_BYTES = 25 * 1024 * 1024
#: Places in line are counted up to here, so that asking costs the same however many wait.
MAX_POSITION = 1_000
#: How many turns a retried message waits behind those that are new.
RETRY_PENALTY = 10
#: How many messages in line a receive looks at when some resources are busy.
LOOK_AHEAD = 1_000
#: What *expected* says when there must be no record yet.
ABSENT = 0
#: The `due` of a record that is finished and never deserves a look.
NEVER = datetime.max.replace(tzinfo=UTC)


class Entry(msgspec.Struct, frozen=True, gc=False):
    value: bytes
    #: The revision of the commit that wrote it.
    revision: int


class Page(msgspec.Struct, frozen=True):
    keys: list[str]
    #: Where the next page starts; None after the last.
    cursor: str | None


class Delivery(msgspec.Struct, frozen=True):
    """One handing-out of one message. It is good until another delivery replaces it."""

    message_id: int
    #: Which handing-out this is; an older one can no longer change anything.
    token: int
    body: bytes
    key: str | None
    #: How often the message was handed out, this time included.
    attempt: int
    group: str = ""
    resource: str = ""


class DeadLetter(msgspec.Struct, frozen=True):
    message_id: int
    body: bytes
    key: str | None
    attempts: int
    reason: str
    buried_at: datetime


class QueueStats(msgspec.Struct, frozen=True):
    ready: int
    leased: int
    delayed: int
    dead: int
    #: How long the oldest ready message has been waiting; None when none is ready.
    oldest_ready_age: timedelta | None
    delivered_last_minute: int
    #: None when the queue hands out messages.
    paused_until: datetime | None


class Busy(msgspec.Struct, frozen=True):
    """Messages with a resource that `receive` passes over: of these groups or resources."""

    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    #: Every message that has a resource.
    all_resources: bool = False


NOTHING_BUSY = Busy()


class Change(msgspec.Struct, frozen=True):
    """What one commit changed. Of a key that changed again since, only the latest is told."""

    revision: int
    keys: tuple[str, ...]


class ChangesPage(msgspec.Struct, frozen=True):
    changes: list[Change]
    #: Whatever was committed up to this revision is in this page, or was before it. It is lower
    #: than what was asked for if the database is an older one than it was.
    through: int
    #: Whether that was all there was at the moment.
    is_last: bool
    #: Stands for everything up to `through`; pass it to the next read, which then notices if the
    #: database is no longer the one that was read.
    checkpoint: str


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """How many bytes of disk the database took, and takes."""

    before_bytes: int
    after_bytes: int


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What a database or a backup holds, counted."""

    revision: int
    #: How many records there are of each kind: the part of their keys before the first colon.
    records: dict[str, int]
    messages: int
    dead_letters: int


class Put(msgspec.Struct, frozen=True):
    key: str
    value: bytes
    #: The revision that must be there, ABSENT for none, None for whatever is there.
    expected: int | None = None
    #: When the record deserves a look; NEVER when it is finished, None when nobody knows.
    due: datetime | None = None
    #: After this moment the record is gone to every reader.
    expires_at: datetime | None = None
    #: Words under which it is found; every put names all of them.
    marks: tuple[str, ...] = ()
    #: Its place among those that are found under the same word.
    rank: int = 0


class Delete(msgspec.Struct, frozen=True):
    key: str
    expected: int | None = None


class Expect(msgspec.Struct, frozen=True):
    """Look, and change nothing: the commit stands only if this is how the record still is."""

    key: str
    #: The revision that must be there, ABSENT for none.
    expected: int


class Send(msgspec.Struct, frozen=True):
    body: bytes
    #: While a message with this key waits or is leased, a second send is a no-op.
    key: str | None = None
    delay: timedelta = timedelta(0)
    #: Groups take turns, whatever each of them has waiting. Without one, the common group.
    group: str = ""
    #: What handling it needs and others need too, such as a host; `receive` can leave some out.
    resource: str = ""


class Acknowledge(msgspec.Struct, frozen=True):
    delivery: Delivery


class Retry(msgspec.Struct, frozen=True):
    """Hand a message out again after *delay*, behind the messages of its group that are new."""

    delivery: Delivery
    delay: timedelta
    reason: str


class Release(msgspec.Struct, frozen=True):
    """Hand a message back: ready at once, in its old place, and the delivery does not count."""

    delivery: Delivery


class Extend(msgspec.Struct, frozen=True):
    """Keep a message: its lease ends *lease* from now."""

    delivery: Delivery
    lease: timedelta


class Bury(msgspec.Struct, frozen=True):
    delivery: Delivery
    reason: str


class Revive(msgspec.Struct, frozen=True):
    """Queue a dead letter again, as a new message with all its attempts before it."""

    message_id: int


class Drop(msgspec.Struct, frozen=True):
    """Throw a dead letter away."""

    message_id: int


Operation: TypeAlias = (
    Put | Delete | Expect | Send | Acknowledge | Retry | Release | Extend | Bury | Revive | Drop
)


class KeyValueStore(Protocol):
    def get(self, key: str) -> Awaitable[Entry | None]:
        """Return the record, or None if there is none. Gets that wait together share a query."""
        ...

    def get_many(self, keys: Sequence[str]) -> Awaitable[list[Entry | None]]:
        """Return the records of *keys*, in their order, read at one moment; all or an error.

        For a few records that are needed together: one answer costs less than one for each.
        """
        ...

    def list_keys(
        self,
        prefix: str,
        *,
        after: str | None = None,
        limit: int = 1000,
        due_before: datetime | None = None,
        newest_first: bool = False,
    ) -> Awaitable[Page]:
        """Return one page of the keys with *prefix*, in code point order or in its reverse.

        With *due_before*, keys known not to be due by then are left out; a key whose record
        has no `due` never is. Such a page has the undated keys first, then the longest overdue.
        """
        ...

    def find_marked(
        self, words: Sequence[str], *, limit: int = 1000, last_first: bool = False
    ) -> Awaitable[list[list[str]]]:
        """Return for each word the keys of the records with that mark, by rank or in its reverse.

        All of them are looked up at once, and no more than *limit* are returned for each.
        """
        ...


class MessageQueue(Protocol):
    async def receive(
        self,
        limit: int,
        *,
        lease: timedelta,
        wait: timedelta = timedelta(0),
        busy: Busy = NOTHING_BUSY,
    ) -> list[Delivery]:
        """Lease up to *limit* ready messages; wait up to *wait* for the first.

        Groups take turns; within a group the oldest goes first. A message that is retried, or
        whose lease ran out, goes behind the new ones of its group and RETRY_PENALTY turns behind
        the other groups. Messages that need something *busy* are passed over and keep their place.

        Each delivery is counted when it is handed out, so that a worker that dies is counted too.
        A paused queue hands out nothing.
        """
        ...

    async def pending(self, keys: Collection[str]) -> set[str]:
        """Return those *keys* under which a message waits or is leased."""
        ...

    async def position(self, key: str) -> int | None:
        """Return the place in line of the message with this *key*: 1 is next.

        0 means that a worker holds it, None that there is no such message. A message that waits
        for its delay counts behind all that are ready before it will be. Beyond MAX_POSITION it is
        not counted further: MAX_POSITION + 1 stands for any place behind it.
        """
        ...

    async def count_group(self, group: str) -> int:
        """Return how many messages of this group wait or are leased."""
        ...

    async def stats(self) -> QueueStats: ...

    async def pause(self, duration: timedelta) -> None:
        """Hand out nothing for *duration*; there is no pause without an end."""
        ...

    async def resume(self) -> None: ...

    async def dead_letters(self, *, after: int = 0, limit: int = 100) -> list[DeadLetter]:
        """Return a page of dead letters by message id, beginning behind *after*."""
        ...


class Engine(Protocol):
    @property
    def kv(self) -> KeyValueStore: ...

    @property
    def queue(self) -> MessageQueue: ...

    async def commit(self, operations: Sequence[Operation]) -> int | None:
        """Apply all operations or none; return the new revision, or None if none was applied.

        None means: an expectation did not hold, or a delivery or dead letter is no longer
        there. The caller hears only when what it asked for would survive a power cut.
        """
        ...

    def changes(self, *, after: int) -> AsyncIterator[Change]:
        """Yield what was committed after that revision, in commit order, and go on for ever."""
        ...

    async def read_changes(self, *, after: int, checkpoint: str = "") -> ChangesPage:
        """Return what was committed after that revision, as much as fits, without waiting.

        It tells how far it reaches: commits that changed no record leave no trace in a feed, so
        only this says that nothing is missing. With the *checkpoint* of the page that ended at
        *after*, it raises HistoryChanged if the database no longer has those commits, because
        it was restored or replaced by a copy.
        """
        ...

    async def history_id(self) -> str:
        """Return the random id of this database's history; a restore gives it a new one."""
        ...

    async def revision(self) -> int:
        """Return the revision of the latest commit."""
        ...

    async def check_writable(self) -> None:
        """Make a durable write that changes no record; raise EngineError if commits fail.

        A commit that has failed in the last seconds counts too: on a full disk a small write may
        still fit where larger ones do not.
        """
        ...

    async def prune(self, *, deleted_before: datetime) -> int:
        """Remove expired records and the traces of deletions older than that; return how many."""
        ...

    async def compact(self) -> Compacted:
        """Give the space of deleted records back; readers go on, writers wait meanwhile."""
        ...

    async def close(self) -> None: ...
