"""The queues on PostgreSQL that bench_queue_postgres compares, each used as its docs say.

All run the same three phases as those of queue_contenders. A message counts when its job ran; only
ours and the limit count it when it is acknowledged.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any, Protocol

import asyncpg
import uvloop

from benchmarks.queue_contenders import (
    CONSUMERS,
    LEASE,
    POLL_SECONDS,
    SENDERS,
    WARM_UP,
    Rates,
    Tally,
)
from benchmarks.queue_contenders import measure as measure_threads
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Acknowledge, Send
from vskill_platform.engines.ports import Engine

#: How many messages our worker takes at once.
BATCH = 3


#: A contender that takes longer for a phase has lost a message, or waits for its lease to end.
PATIENCE_SECONDS = 60


class AsyncPeer(Protocol):
    async def send(self, number: int) -> None: ...

    def consuming(self) -> AbstractAsyncContextManager[None]:
        """Run the consumers, each adding what it received to the tally."""
        ...


async def measure(peer: AsyncPeer, tally: Tally, count: int) -> Rates:
    first, second = range(WARM_UP, WARM_UP + count), range(WARM_UP + count, WARM_UP + 2 * count)
    await _send_all(peer, range(WARM_UP))
    sending = await _send_all(peer, first)
    tally.expect(first.stop)
    async with peer.consuming():
        receiving = await _until_complete(tally) - tally.warm_at
        tally.expect(second.stop)
        started = time.perf_counter()
        await _send_all(peer, second)
        together = await _until_complete(tally) - started
    tally.check(second.stop)
    return Rates(count / sending, count / receiving, count / together)


async def _send_all(peer: AsyncPeer, numbers: range) -> float:
    async def send(share: range) -> None:
        for number in share:
            await peer.send(number)

    started = time.perf_counter()
    await asyncio.gather(*(send(numbers[n::SENDERS]) for n in range(SENDERS)))
    return time.perf_counter() - started


async def _until_complete(tally: Tally) -> float:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not tally.is_complete:  # noqa: ASYNC110 - threads of other contenders set it, too
            await asyncio.sleep(0.001)
    return tally.complete_at


@asynccontextmanager
async def _running(*work: Awaitable[Any]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(each) for each in work]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Ours:
    def __init__(self, engine: Engine, tally: Tally, *, batch: int) -> None:
        self._engine, self._tally, self._batch = engine, tally, batch

    async def send(self, number: int) -> None:
        assert await self._engine.commit([Send(b"%d" % number)]) is not None

    def consuming(self) -> AbstractAsyncContextManager[None]:
        return _running(*(self._consume() for _ in range(CONSUMERS)))

    async def _consume(self) -> None:
        while True:
            batch = await self._engine.queue.receive(
                self._batch, lease=LEASE, wait=timedelta(seconds=5)
            )
            done = await asyncio.gather(*(self._engine.commit([Acknowledge(d)]) for d in batch))
            assert None not in done
            for delivery in batch:
                self._tally.add(int(delivery.body))


class Raw:
    """The limit: one table, one INSERT for each message, SKIP LOCKED, one DELETE for a batch."""

    def __init__(self, pool: "asyncpg.Pool[Any]", tally: Tally) -> None:
        self._pool, self._tally = pool, tally

    async def send(self, number: int) -> None:
        await self._pool.execute("INSERT INTO raw (body) VALUES ($1)", b"%d" % number)

    def consuming(self) -> AbstractAsyncContextManager[None]:
        return _running(*(self._consume() for _ in range(CONSUMERS)))

    async def _consume(self) -> None:
        while True:
            rows = await self._pool.fetch(
                "UPDATE raw SET leased_until = now() + interval '5 minutes' WHERE id IN ("
                "SELECT id FROM raw WHERE leased_until < now() ORDER BY id LIMIT $1 "
                "FOR UPDATE SKIP LOCKED) RETURNING id, body",
                BATCH,
            )
            if not rows:
                await asyncio.sleep(POLL_SECONDS)
                continue
            await self._pool.execute(
                "DELETE FROM raw WHERE id = ANY ($1)", [row["id"] for row in rows]
            )
            for row in rows:
                self._tally.add(int(row["body"]))


class Procrastinate:
    def __init__(self, app: Any, tally: Tally) -> None:
        self._app = app

        async def job(number: int) -> None:
            tally.add(number)

        self._job: Any = app.task(name="job")(job)

    async def send(self, number: int) -> None:
        await self._job.defer_async(number=number)

    def consuming(self) -> AbstractAsyncContextManager[None]:
        return _running(
            self._app.run_worker_async(
                concurrency=CONSUMERS,
                fetch_job_polling_interval=POLL_SECONDS,
                delete_jobs="always",
                install_signal_handlers=False,
            )
        )


class Pgqueuer:
    def __init__(self, queuer: Any, tally: Tally) -> None:
        self._queuer = queuer

        async def job(received: Any) -> None:
            tally.add(int(received.payload))

        queuer.entrypoint("job")(job)

    async def send(self, number: int) -> None:
        await self._queuer.queries.enqueue("job", b"%d" % number)

    def consuming(self) -> AbstractAsyncContextManager[None]:
        return _running(
            self._queuer.run(batch_size=CONSUMERS, dequeue_timeout=timedelta(seconds=POLL_SECONDS))
        )


class Saq:
    def __init__(self, queue: Any, worker: Any) -> None:
        self._queue, self._worker = queue, worker

    async def send(self, number: int) -> None:
        await self._queue.enqueue("job", number=number)

    def consuming(self) -> AbstractAsyncContextManager[None]:
        return _running(self._worker.start())


def run_ours(url: str, count: int) -> Rates:
    return _run(url, count, lambda url, tally: _ours(url, tally, batch=BATCH))


def run_ours_singly(url: str, count: int) -> Rates:
    return _run(url, count, lambda url, tally: _ours(url, tally, batch=1))


@asynccontextmanager
async def _ours(url: str, tally: Tally, *, batch: int) -> AsyncIterator[AsyncPeer]:
    engine = await open_engine(url)
    yield Ours(engine, tally, batch=batch)
    await engine.close()


def run_raw(url: str, count: int) -> Rates:
    return _run(url, count, _raw)


@asynccontextmanager
async def _raw(url: str, tally: Tally) -> AsyncIterator[AsyncPeer]:
    async with asyncpg.create_pool(url, min_size=8, max_size=8) as pool:
        await pool.execute(
            "CREATE TABLE raw (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea, "
            "leased_until timestamptz NOT NULL DEFAULT '-infinity')"
        )
        yield Raw(pool, tally)


def run_procrastinate(url: str, count: int) -> Rates:
    return _run(url, count, _procrastinate)


@asynccontextmanager
async def _procrastinate(url: str, tally: Tally) -> AsyncIterator[AsyncPeer]:
    from procrastinate import App, PsycopgConnector  # noqa: PLC0415 - in the process of its run

    app = App(connector=PsycopgConnector(conninfo=url, min_size=8, max_size=20))
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        yield Procrastinate(app, tally)


def run_pgqueuer(url: str, count: int) -> Rates:
    return _run(url, count, _pgqueuer)


@asynccontextmanager
async def _pgqueuer(url: str, tally: Tally) -> AsyncIterator[AsyncPeer]:
    from pgqueuer import PgQueuer  # noqa: PLC0415 - in the process of its run

    async with asyncpg.create_pool(url, min_size=8, max_size=20) as pool:
        queuer: Any = PgQueuer.from_asyncpg_pool(pool)
        await queuer.queries.install()
        yield Pgqueuer(queuer, tally)


def run_saq(url: str, count: int) -> Rates:
    return _run(url, count, _saq)


@asynccontextmanager
async def _saq(url: str, tally: Tally) -> AsyncIterator[AsyncPeer]:
    from saq import Queue, Worker  # noqa: PLC0415 - in the process of its run

    async def job(_context: Any, *, number: int) -> None:
        tally.add(number)

    queue = Queue.from_url(url)
    await queue.connect()
    yield Saq(queue, Worker(queue, [("job", job)], concurrency=CONSUMERS))
    await queue.disconnect()


class Dbos:
    """A queue of workflows with threads, as in queue_contenders, in a PostgreSQL database."""

    def __init__(self, url: str, tally: Tally) -> None:
        from dbos import DBOS  # noqa: PLC0415 - in the process of its run

        self._dbos: Any = DBOS
        self._url = url
        DBOS(
            config={
                "name": "bench",
                "system_database_url": url,
                "log_level": "ERROR",
                "console_log_level": "ERROR",
            }
        )

        def add(number: int) -> None:
            tally.add(number)

        self._workflow: Any = DBOS.workflow(name="add")(add)
        DBOS.launch()

    def send(self, number: int) -> None:
        self._dbos.enqueue_workflow("bench", self._workflow, number)

    @contextmanager
    def consuming(self) -> Iterator[None]:
        self._dbos.register_queue("bench", polling_interval_sec=POLL_SECONDS)
        yield
        self._dbos.destroy()

    def wait(self, total: int) -> float:
        """A workflow is done when its outcome is written, not when it ran."""
        import psycopg  # noqa: PLC0415 - in the process of its run

        query = "SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'"
        with psycopg.connect(self._url) as connection:
            connection.autocommit = True
            while (row := connection.execute(query).fetchone()) and row[0] < total:
                time.sleep(POLL_SECONDS)
        return time.perf_counter()


def run_dbos(url: str, count: int) -> Rates:
    tally = Tally()
    return measure_threads(Dbos(url, tally), tally, count)


Opened = Callable[[str, Tally], AbstractAsyncContextManager[AsyncPeer]]


def _run(url: str, count: int, opened: Opened) -> Rates:
    async def run() -> Rates:
        tally = Tally()
        async with opened(url, tally) as peer:
            return await measure(peer, tally, count)

    return uvloop.run(run())
