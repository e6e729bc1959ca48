"""Read the change feed once for all open pages, and wake those that wait for a topic."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import EngineError, FeedTrimmed, HistoryChanged
from vskill_platform.model.namespace import namespace_of
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.submission_store import (
    SUBMISSION,
    read_submissions,
    submission_of_key,
)
from vskill_platform.web.http.concurrency_quota import ConcurrencyQuota

log = get_logger(__name__)

#: Beyond these limits, in total and per visitor, pages poll.
MAX_LISTENERS = 2_000
MAX_OF_ONE = 20
#: Delay before the feed is read again after an outage.
_RETRY_SECONDS = 1.0
_LOOK_AGAIN = timedelta(seconds=30)
#: The topics of all submissions, and of only the public ones.
QUEUE, PUBLIC_QUEUE = "queue", "public queue"


def private_queue(namespace: str) -> str:
    """Return the topic of private submissions in a namespace."""
    return f"queue of {namespace}"


def submission_topic(submission_id: str) -> str:
    return f"submission {submission_id}"


class Listener:
    """One open page. It is notified that something changed, but not what, and reloads."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self.is_closed = False

    def wake(self) -> None:
        self._changed.set()

    def close(self) -> None:
        self.is_closed = True
        self._changed.set()

    async def wait(self) -> None:
        """Wait until something has changed since the last call, or until close."""
        await self._changed.wait()
        self._changed.clear()


class Broadcast:
    def __init__(self) -> None:
        self._listeners: dict[str, set[Listener]] = defaultdict(set)
        self._count = 0
        self._is_closed = False
        #: Held by each open request.
        self.slots = ConcurrencyQuota(
            in_all=MAX_LISTENERS, each=MAX_OF_ONE, what="open live pages", retry_after=_LOOK_AGAIN
        )

    @property
    def count(self) -> int:
        return self._count

    @asynccontextmanager
    async def listening(self, topics: Iterable[str]) -> AsyncIterator[Listener]:
        """Listen to these topics within the block."""
        listener = Listener()
        topics = tuple(topics)
        self._count += 1
        for topic in topics:
            self._listeners[topic].add(listener)
        if self._is_closed:
            listener.close()
        try:
            yield listener
        finally:
            self._count -= 1
            for topic in topics:
                self._listeners[topic].discard(listener)
                if not self._listeners[topic]:
                    del self._listeners[topic]

    def notify(self, keys: Iterable[str]) -> None:
        """Wake the listeners of the changed records."""
        self.notify_topics(_topics(keys))

    def notify_topics(self, topics: Iterable[str]) -> None:
        for topic in topics:
            for listener in self._listeners.get(topic, ()):
                listener.wake()

    def notify_all(self) -> None:
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.wake()

    def close(self) -> None:
        """Stop all listeners, so that they do not delay the server's shutdown."""
        self._is_closed = True
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.close()


@asynccontextmanager
async def open_broadcast(env: WorkerEnv) -> AsyncIterator[Broadcast]:
    """Follow the change feed within the block."""
    broadcast = Broadcast()
    follower = asyncio.create_task(_follow(env, broadcast))
    try:
        yield broadcast
    finally:
        broadcast.close()
        follower.cancel()
        with suppress(asyncio.CancelledError):
            await follower


async def _follow(env: WorkerEnv, broadcast: Broadcast) -> None:
    revision: int | None = None
    while True:
        try:
            if revision is None:
                revision = await env.engine.revision()
            async for change in env.engine.changes(after=revision, prefixes=(SUBMISSION,)):
                revision = change.revision
                broadcast.notify(change.keys)
                if broadcast.count:
                    broadcast.notify_topics(await _shown_topics(env, change.keys))
        except (FeedTrimmed, HistoryChanged):
            revision = None
        except EngineError as error:
            log.warning("live updates interrupted", error=str(error))
            await asyncio.sleep(_RETRY_SECONDS)
        # Listeners may have missed changes in the meantime.
        broadcast.notify_all()


async def _shown_topics(env: WorkerEnv, keys: Iterable[str]) -> set[str]:
    """Return the queue topics of changed submissions; private ones have their own topics."""
    ids = [found for key in keys if (found := submission_of_key(key))]
    if not ids:
        return set()
    submissions = await run_with_worker_env(env, lambda: read_submissions(ids))
    return {
        private_queue(namespace_of(one.source)) if one.is_private else PUBLIC_QUEUE
        for one in submissions.values()
    }


def _topics(keys: Iterable[str]) -> set[str]:
    topics: set[str] = set()
    for key in keys:
        if submission_id := submission_of_key(key):
            topics |= {submission_topic(submission_id), QUEUE}
    return topics
