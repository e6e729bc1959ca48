"""The interface of an engine: records, a queue, atomic commits over both, a change feed.

docs/engines.md specifies each method, and tests/contracts/ checks every engine against it.
"""

from collections.abc import AsyncIterator, Awaitable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

import msgspec

from vskill_platform.base.clock import Clock
from vskill_platform.engines.exported import Export, StoredItem, StoredRecord
from vskill_platform.engines.operations import Delivery, Operation

if TYPE_CHECKING:  # loads asyncio, which `scan` does not need
    from vskill_platform.engines.blobs.blobs import Blobs

#: The maximum size of a value; a larger one is refused before anything is written.
MAX_VALUE_BYTES = 25 * 1024 * 1024
#: Positions in the queue are counted up to this number, so that the cost is bounded.
MAX_POSITION = 1_000
#: How many turns a retried message waits behind new ones.
RETRY_PENALTY = 10
#: How many waiting messages a receive examines when some resources are busy.
LOOK_AHEAD = 1_000
#: The group of background messages, which are queued separately: `receive` delivers them only to
#: callers that ask for them, and `stats` counts them separately. No submitter has this name.
BACKGROUND = "(background)"
#: Ranks of background messages start here, behind all others in the same index.
BACKGROUND_RANK = 2**40


class Entry(msgspec.Struct, frozen=True, gc=False):
    value: bytes
    #: The revision of the commit that wrote it.
    revision: int


class KeyPage(msgspec.Struct, frozen=True):
    keys: list[str]
    #: Where the next page starts; None after the last.
    cursor: str | None


class DeadLetter(msgspec.Struct, frozen=True):
    message_id: int
    body: bytes
    key: str | None
    attempts: int
    reason: str
    buried_at: datetime


class BackgroundStats(msgspec.Struct, frozen=True):
    ready: int = 0
    leased: int = 0
    delayed: int = 0


class QueueStats(msgspec.Struct, frozen=True):
    ready: int
    leased: int
    delayed: int
    dead: int
    #: How long the oldest ready message has been waiting; None if none is ready.
    oldest_ready_age: timedelta | None
    delivered_last_minute: int
    #: None if the queue is not paused.
    paused_until: datetime | None
    #: Background messages; all other figures except `dead` exclude them.
    background: BackgroundStats = BackgroundStats()


class BusyResources(msgspec.Struct, frozen=True):
    """Groups or resources whose messages `receive` skips."""

    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    #: Every message with a resource.
    all_resources: bool = False


NOTHING_BUSY = BusyResources()


class RecordChange(msgspec.Struct, frozen=True):
    """The changes of one commit. Of several changes of a key, only the latest is reported."""

    revision: int
    keys: tuple[str, ...]


class ChangesPage(msgspec.Struct, frozen=True):
    changes: list[RecordChange]
    #: Everything committed up to this revision is in this page or an earlier one. It is lower than
    #: requested if the database is older than before.
    through: int
    #: Whether there is no more at the moment.
    is_last: bool
    #: Identifies the history up to `through`. Pass it to the next read, so that this detects
    #: whether the database was replaced.
    checkpoint: str


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """The size of the database in bytes, before and after."""

    before_bytes: int
    after_bytes: int


class KeyValueStore(Protocol):
    def get(self, key: str) -> Awaitable[Entry | None]:
        """Return the record, or None. Concurrent gets share a query."""
        ...

    def get_many(self, keys: Sequence[str]) -> Awaitable[list[Entry | None]]:
        """Return the records of *keys*, in order, from one snapshot; all or an error.

        For a few records that are needed together, this is cheaper than a get for each.
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
    ) -> Awaitable[KeyPage]:
        """Return one page of the keys with *prefix*, in code point order or reversed.

        With *due_before*, keys known not to be due by then are omitted; a key whose record has no
        `due` is never omitted. Such a page contains undated keys first, then the most overdue.
        """
        ...

    def find_marked(
        self, words: Sequence[str], *, limit: int = 1000, last_first: bool = False
    ) -> Awaitable[list[list[str]]]:
        """Return the keys of the records with each of these marks, by rank or in reverse.

        All marks are looked up at once, with at most *limit* keys for each.
        """
        ...


class MessageQueue(Protocol):
    async def receive(
        self,
        limit: int,
        *,
        lease: timedelta,
        wait: timedelta = timedelta(0),
        busy: BusyResources = NOTHING_BUSY,
        background: bool = False,
    ) -> list[Delivery]:
        """Lease up to *limit* ready messages; wait up to *wait* for the first.

        With *background*, these are messages of the group BACKGROUND, oldest first, and *busy* is
        ignored; otherwise they are messages of all other groups.

        Groups take turns; within a group the oldest message is first. A message that is retried, or
        whose lease expired, comes after the new ones of its group and RETRY_PENALTY turns after the
        other groups. Messages that need something *busy* are skipped and keep their position.

        A delivery counts as soon as it is made, even if the worker dies. A paused queue delivers
        nothing.
        """
        ...

    async def pending(self, keys: Collection[str]) -> set[str]:
        """Return the *keys* with a waiting or leased message."""
        ...

    async def position(self, key: str) -> int | None:
        """Return the position of the message with this *key*: 1 is next.

        0 means that a worker holds it, None that there is no such message. A delayed message comes
        after all messages that are ready before its delay ends. MAX_POSITION + 1 stands for any
        position beyond MAX_POSITION.
        """
        ...

    async def count_group(self, group: str) -> int:
        """Return how many messages of this group are waiting or leased."""
        ...

    async def stats(self) -> QueueStats: ...

    async def pause(self, duration: timedelta) -> None:
        """Deliver nothing for *duration*; every pause ends."""
        ...

    async def resume(self) -> None: ...

    async def dead_letters(self, *, after: int = 0, limit: int = 100) -> list[DeadLetter]:
        """Return a page of dead letters by message id, starting after *after*."""
        ...


class Engine(Protocol):
    @property
    def kv(self) -> KeyValueStore: ...

    @property
    def queue(self) -> MessageQueue: ...

    @property
    def blobs(self) -> "Blobs":
        """Contents that are too large for records, stored in this database or elsewhere."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock for leases, delays and deadlines, which is the same for every node."""
        ...

    async def commit(self, operations: Sequence[Operation]) -> int | None:
        """Apply all operations or none; return the new revision, or None if none was applied.

        None means that an expectation did not hold, or that a delivery or dead letter no longer
        exists. A commit that writes no records takes no revision and returns the latest one. It
        returns only after the commit would survive a power cut.

        An EngineError means that nothing was applied, except for OutcomeUnknown: the connection was
        lost during the commit, and the database did not come back in time to find out.
        """
        ...

    def changes(self, *, after: int, prefixes: Sequence[str] = ()) -> AsyncIterator[RecordChange]:
        """Yield the changes after a revision, in commit order, and keep following.

        With *prefixes*, only changes of keys that begin with one of them.
        """
        ...

    async def read_changes(
        self, *, after: int, checkpoint: str = "", prefixes: Sequence[str] = ()
    ) -> ChangesPage:
        """Return a page of changes after a revision, without waiting.

        The page says how far it reaches, which proves that nothing is missing: commits that changed
        no record leave no trace in a feed. With the *checkpoint* of the page that ended at *after*,
        this raises HistoryChanged if the database no longer contains those commits, because it was
        restored or replaced with a copy.
        """
        ...

    async def history_id(self) -> str:
        """Return the random id of this database's history; a restore gives it a new one."""
        ...

    async def revision(self) -> int:
        """Return the revision of the latest commit."""
        ...

    async def check_writable(self) -> None:
        """Raise EngineError if a test write fails, or if a commit has just failed."""
        ...

    async def check_free_space(self) -> None:
        """Raise DiskNearlyFull if the disk is known to have room only to finish old work."""
        ...

    async def prune(self, *, deleted_before: datetime) -> int:
        """Remove expired records, and traces of deletions before a time; return how many."""
        ...

    async def compact(self) -> Compacted:
        """Return the space of deleted records to the disk; writers wait, readers do not."""
        ...

    def export(self) -> AbstractAsyncContextManager[Export]:
        """Read everything from one snapshot, in bounded pages; writers continue meanwhile."""
        ...

    async def load(self, items: Sequence[StoredItem]) -> None:
        """Write exported items of one kind, all or none, to a database that is not in use.

        Messages keep their order, attempts and position, but get new ids and tokens.
        """
        ...

    async def clear(self, *, records: bool = True, then: StoredRecord | None = None) -> None:
        """Delete all messages and dead letters, or with *records* everything.

        Then the history changes: for a copy that begins again. The record *then* is written in the
        same commit.
        """
        ...

    async def close(self) -> None: ...
