"""The durable queues that bench_queue compares, each used as its documentation says.

All of them run the same three phases: send, then receive and acknowledge what was sent, then both
at the same time. Every message must arrive exactly once.
"""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import msgspec
import uvloop
from dbos import DBOS
from huey import SqliteHuey
from localqueue import DeliveryPolicy, DurabilityMode, Empty, SimpleQueue

from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Acknowledge, Send
from vskill_platform.engines.ports import Engine

SENDERS = CONSUMERS = 10
#: Sent and received first, while connections open and statements are prepared; not timed.
WARM_UP = 50
#: How long a message is ours; longer than any phase.
LEASE = timedelta(minutes=5)
POLL_SECONDS = 0.01


class Rates(msgspec.Struct, frozen=True):
    """Messages a second in each phase."""

    sent: float
    received: float
    together: float


class Tally:
    """Which messages arrived, and when the ones that count did."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: list[int] = []
        self._expected = 0
        self._complete = threading.Event()
        self.warm_at = self.complete_at = 0.0

    def add(self, number: int) -> None:
        with self._lock:
            self._numbers.append(number)
            if len(self._numbers) == WARM_UP:
                self.warm_at = time.perf_counter()
            if len(self._numbers) == self._expected:
                self.complete_at = time.perf_counter()
                self._complete.set()

    def expect(self, total: int) -> None:
        self._expected = total
        self._complete.clear()

    @property
    def is_complete(self) -> bool:
        return self._complete.is_set()

    def wait(self) -> None:
        self._complete.wait()

    def check(self, total: int) -> None:
        assert sorted(self._numbers) == list(range(total)), "a message was lost or came twice"


class Peer(Protocol):
    def send(self, number: int) -> None: ...

    def consuming(self) -> AbstractContextManager[None]:
        """Run the consumers, each adding what it received and acknowledged to the tally."""
        ...

    def wait(self, total: int) -> float:
        """Return the moment at which that many messages had been dealt with."""
        ...


def measure(peer: Peer, tally: Tally, count: int) -> Rates:
    """Take a peer with threads through the three phases."""
    first, second = range(WARM_UP, WARM_UP + count), range(WARM_UP + count, WARM_UP + 2 * count)
    in_threads(peer.send, range(WARM_UP))
    sending = in_threads(peer.send, first)
    tally.expect(first.stop)
    with peer.consuming():
        receiving = peer.wait(first.stop) - tally.warm_at
        tally.expect(second.stop)
        started = time.perf_counter()
        in_threads(peer.send, second)
        together = peer.wait(second.stop) - started
    tally.check(second.stop)
    return Rates(count / sending, count / receiving, count / together)


def in_threads(send: Callable[[int], None], numbers: range) -> float:
    """Let the senders share the numbers; return how long it took."""

    def work(share: range) -> None:
        for number in share:
            send(number)

    threads = [threading.Thread(target=work, args=(numbers[n::SENDERS],)) for n in range(SENDERS)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


class HueyPeer:
    """SqliteHuey, synced at every commit. It deletes a message when it reads it."""

    def __init__(self, folder: Path, tally: Tally) -> None:
        self._tally = tally
        self._huey: Any = SqliteHuey(filename=str(folder / "huey.db"), fsync=True, results=False)
        self._task: Any = self._huey.task()(tally.add)

    def send(self, number: int) -> None:
        self._task(number)

    @contextmanager
    def consuming(self) -> Iterator[None]:
        # It looks again more often than by default, so that it does not sleep while work waits.
        consumer = self._huey.create_consumer(
            workers=CONSUMERS, periodic=False, initial_delay=POLL_SECONDS, max_delay=POLL_SECONDS
        )
        consumer.start()
        yield
        consumer.stop(graceful=True)

    def wait(self, total: int) -> float:
        assert total
        self._tally.wait()
        return self._tally.complete_at


class LocalqueuePeer:
    """SimpleQueue in its durable mode; one object for all threads is faster than one each."""

    def __init__(self, folder: Path, tally: Tally) -> None:
        self._tally = tally
        self.queue: SimpleQueue[int] = SimpleQueue(
            str(folder / "localqueue"),
            delivery=DeliveryPolicy(lease_seconds=LEASE.total_seconds(), max_retries=3),
            durability=DurabilityMode.DURABLE,
        )
        self._stop = threading.Event()

    def send(self, number: int) -> None:
        self.queue.put(number)

    @contextmanager
    def consuming(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._consume) for _ in range(CONSUMERS)]
        for thread in threads:
            thread.start()
        yield
        self._stop.set()
        for thread in threads:
            thread.join()
        self.queue.close()

    def wait(self, total: int) -> float:
        assert total
        self._tally.wait()
        return self._tally.complete_at

    def _consume(self) -> None:
        while not self._stop.is_set():
            try:
                job = self.queue.get(timeout=POLL_SECONDS)
            except Empty:
                continue
            self.queue.ack(job)
            self._tally.add(job.data)


class DbosPeer:
    """A queue of workflows in the SQLite system database, with the settings that suit it best.

    Those are a write-ahead log, a poll every 10 ms, and as many workers as it likes: with ten it
    is slower. It syncs at every commit, as Python's sqlite3 does unless told otherwise.
    """

    def __init__(self, folder: Path, tally: Tally) -> None:
        self._path = folder / "dbos.db"
        with sqlite3.connect(self._path) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        DBOS(
            config={
                "name": "bench",
                "system_database_url": f"sqlite:///{self._path}",
                "log_level": "ERROR",
                "console_log_level": "ERROR",
            }
        )

        def add(number: int) -> None:
            tally.add(number)

        self._workflow: Any = DBOS.workflow(name="add")(add)
        DBOS.launch()

    def send(self, number: int) -> None:
        DBOS.enqueue_workflow("bench", self._workflow, number)

    @contextmanager
    def consuming(self) -> Iterator[None]:
        DBOS.register_queue("bench", polling_interval_sec=POLL_SECONDS)
        yield
        DBOS.destroy()

    def wait(self, total: int) -> float:
        """A workflow is done when its outcome is written, not when it ran."""
        query = "SELECT count(*) FROM workflow_status WHERE status = 'SUCCESS'"
        connection = sqlite3.connect(self._path)
        while connection.execute(query).fetchone()[0] < total:
            time.sleep(POLL_SECONDS)
        connection.close()
        return time.perf_counter()


def run_huey(folder: Path, count: int) -> Rates:
    tally = Tally()
    return measure(HueyPeer(folder, tally), tally, count)


def run_localqueue(folder: Path, count: int) -> Rates:
    tally = Tally()
    return measure(LocalqueuePeer(folder, tally), tally, count)


def run_dbos(folder: Path, count: int) -> Rates:
    tally = Tally()
    return measure(DbosPeer(folder, tally), tally, count)


def run_ours(folder: Path, count: int) -> Rates:
    """Receive as the worker that we ship does: ten batches of up to three."""
    return uvloop.run(_measure_ours(folder, count, limit=3))


def run_ours_singly(folder: Path, count: int) -> Rates:
    """Receive one message at a time, as the peers do."""
    return uvloop.run(_measure_ours(folder, count, limit=1))


async def _measure_ours(folder: Path, count: int, *, limit: int) -> Rates:
    first, second = range(WARM_UP, WARM_UP + count), range(WARM_UP + count, WARM_UP + 2 * count)
    engine, tally = await open_engine(f"sqlite:///{folder / 'ours.db'}"), Tally()
    await _send_all(engine, range(WARM_UP))
    sending = await _send_all(engine, first)
    tally.expect(first.stop)
    await _consume_all(engine, tally, limit)
    receiving = tally.complete_at - tally.warm_at
    tally.expect(second.stop)
    started = time.perf_counter()
    await asyncio.gather(_send_all(engine, second), _consume_all(engine, tally, limit))
    together = tally.complete_at - started
    await engine.close()
    tally.check(second.stop)
    return Rates(count / sending, count / receiving, count / together)


async def _send_all(engine: Engine, numbers: range) -> float:
    async def send(share: range) -> None:
        for number in share:
            assert await engine.commit([Send(b"%d" % number)]) is not None

    started = time.perf_counter()
    await asyncio.gather(*(send(numbers[n::SENDERS]) for n in range(SENDERS)))
    return time.perf_counter() - started


async def _consume_all(engine: Engine, tally: Tally, limit: int) -> None:
    async def consume() -> None:
        while not tally.is_complete:
            batch = await engine.queue.receive(
                limit, lease=LEASE, wait=timedelta(seconds=POLL_SECONDS)
            )
            acknowledged = await asyncio.gather(*(engine.commit([Acknowledge(d)]) for d in batch))
            assert None not in acknowledged
            for delivery in batch:
                tally.add(int(delivery.body))

    await asyncio.gather(*(consume() for _ in range(CONSUMERS)))
