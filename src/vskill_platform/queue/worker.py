"""The worker: batches in flight up to its bounds, a heartbeat, and an orderly stop."""

import asyncio
from datetime import datetime, timedelta

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.ports import Delivery, Release
from vskill_platform.errors import EngineError
from vskill_platform.queue.consumer import handle_submission_queue
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.heartbeat_store import Heartbeat, put_heartbeat

log = get_logger(__name__)

#: How long one look into the queue waits, and so how long a stop may go unheard.
RECEIVE_WAIT = timedelta(seconds=1)
HEARTBEAT_EVERY_SECONDS = 10.0
#: How long to leave a database alone that failed.
PAUSE_AFTER_ERROR_SECONDS = 1.0


class Worker:
    def __init__(self, env: WorkerEnv) -> None:
        self._env = env
        self._started_at = env.clock.now()
        self._in_flight: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(env.settings.max_concurrency)
        self._handled = 0
        self._last_handled_at: datetime | None = None

    async def run(self, stop: asyncio.Event, *, drain: bool = False) -> None:
        """Work until *stop* is set, or with *drain* until nothing is ready and nothing runs."""
        heartbeat = asyncio.create_task(self._beat())
        try:
            while not stop.is_set():
                await self._room.acquire()
                batch = await self._receive(drain=drain)
                if batch and not stop.is_set():
                    self._start(batch)
                    continue
                self._room.release()
                await self._hand_back(batch)
                if drain and not batch:
                    if not self._in_flight:
                        break
                    await asyncio.wait(self._in_flight, return_when=asyncio.FIRST_COMPLETED)
            await self._finish()
        finally:
            heartbeat.cancel()
            await asyncio.gather(heartbeat, return_exceptions=True)

    async def _receive(self, *, drain: bool) -> list[Delivery]:
        settings = self._env.settings
        wait = timedelta(0) if drain else RECEIVE_WAIT
        try:
            return await self._env.engine.queue.receive(
                settings.max_batch_size, lease=settings.lease, wait=wait
            )
        except EngineError as error:
            if drain:  # a queue that does not answer is not one that is empty
                raise
            log.error("queue does not answer", error=str(error))
            await asyncio.sleep(PAUSE_AFTER_ERROR_SECONDS)
            return []

    def _start(self, batch: list[Delivery]) -> None:
        # A task of its own has a context of its own, which ends with it.
        task = asyncio.create_task(handle_submission_queue(batch, self._env))
        self._in_flight.add(task)
        task.add_done_callback(lambda done: self._end(done, len(batch)))

    def _end(self, task: asyncio.Task[None], size: int) -> None:
        self._in_flight.discard(task)
        self._room.release()
        self._handled += size
        self._last_handled_at = self._env.clock.now()

    async def _hand_back(self, batch: list[Delivery]) -> None:
        if batch:
            await asyncio.gather(
                *(self._env.engine.commit([Release(delivery)]) for delivery in batch)
            )

    async def _finish(self) -> None:
        """Let what is in flight come to its end; after the grace it is handed back."""
        if not self._in_flight:
            return
        grace = self._env.settings.stop_grace.total_seconds()
        log.info("finishing", batches=len(self._in_flight), seconds=grace)
        _, late = await asyncio.wait(self._in_flight, timeout=grace)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _beat(self) -> None:
        async def beat() -> None:
            await put_heartbeat(
                Heartbeat(
                    node=self._env.settings.node,
                    started_at=self._started_at,
                    beat_at=self._env.clock.now(),
                    in_flight=len(self._in_flight),
                    handled=self._handled,
                    last_handled_at=self._last_handled_at,
                )
            )

        while True:
            try:
                await run_with_worker_env(self._env, beat)
            except EngineError as error:
                log.error("no heartbeat", error=str(error))
            await asyncio.sleep(HEARTBEAT_EVERY_SECONDS)
