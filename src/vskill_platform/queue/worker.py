"""The worker: receives messages up to its limits, sends a heartbeat, and stops in an orderly way.

It holds at most twice as many messages as can be checked at once: while one is checked, the next is
fetched. Any more would wait here instead of in the queue, where other workers could take them.
"""

import asyncio
from datetime import datetime, timedelta

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Delivery, Release
from vskill_platform.engines.ports import NOTHING_BUSY, BusyResources
from vskill_platform.errors import EngineError
from vskill_platform.queue.background_worker import BackgroundWorker
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.fetch_limits import message_slots
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.heartbeat_store import Heartbeat, put_heartbeat

log = get_logger(__name__)

#: How long one receive waits, and therefore how long a stop may go unnoticed.
RECEIVE_WAIT = timedelta(seconds=1)
#: How often to check for other messages while a host or a submitter is at its limit.
LOOK_AGAIN_SECONDS = 0.1
#: How long a free slot waits for a second one, to receive two messages in one transaction.
GATHER_SLOTS_SECONDS = 0.005
HEARTBEAT_EVERY_SECONDS = 10.0
#: How long to wait after a database error.
PAUSE_AFTER_ERROR_SECONDS = 1.0


class Worker:
    def __init__(self, env: WorkerEnv) -> None:
        self._env = env
        self._started_at = env.clock.now()
        #: One task per message, so that a hanging one blocks only its own slot.
        self._in_flight: set[asyncio.Task[None]] = set()
        self._slots = message_slots(env.settings, scan_slots=int(env.scan_slots.total_tokens))
        self._handled = 0
        self._last_handled_at: datetime | None = None

    async def run(self, stop: asyncio.Event, *, drain: bool = False) -> None:
        """Work until *stop* is set, or with *drain* until nothing is ready and nothing runs."""
        others = BackgroundWorker(self._env, lambda: len(self._in_flight))
        if drain:
            # One after the other: while one receive sorts messages into the fair order, another
            # does not see them and would mistake the queue for empty.
            await self._run_submissions(stop, drain=True)
            await others.run(stop, drain=True)
            return
        background = asyncio.create_task(others.run(stop))
        # It ends only with the worker, or with an unexpected error.
        background.add_done_callback(lambda _: stop.set())
        try:
            await self._run_submissions(stop, drain=False)
            await background
        finally:
            background.cancel()
            await asyncio.gather(background, return_exceptions=True)

    async def _run_submissions(self, stop: asyncio.Event, *, drain: bool) -> None:
        limits = self._env.fetch_limits
        heartbeat = asyncio.create_task(self._beat())
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                if not await self._has_free_slots(stopping):
                    continue
                free = self._slots - len(self._in_flight)
                busy = limits.busy()
                batch = await self._receive(free, busy, drain=drain)
                if stop.is_set():
                    await self._release(batch)
                elif batch:
                    self._start(batch)
                elif busy != NOTHING_BUSY:  # messages of busy hosts or submitters may be queued
                    await limits.wait_until_freed(timeout_seconds=LOOK_AGAIN_SECONDS)
                elif drain:
                    if not self._in_flight:
                        break
                    await self._wait_for_one(stopping)
            await self._finish()
        finally:
            for task in (heartbeat, stopping):
                task.cancel()
            await asyncio.gather(heartbeat, stopping, return_exceptions=True)

    async def _has_free_slots(self, stopping: asyncio.Task[bool]) -> bool:
        """Return whether to receive now; with few free slots, wait briefly for more."""
        free = self._slots - len(self._in_flight)
        if free < 1:
            await self._wait_for_one(stopping)
            return False
        if free < self._slots // 2:
            await self._wait_for_one(stopping, seconds=GATHER_SLOTS_SECONDS)
        return not stopping.done()

    async def _wait_for_one(
        self, stopping: asyncio.Task[bool], *, seconds: float | None = None
    ) -> None:
        await asyncio.wait(
            {*self._in_flight, stopping}, return_when=asyncio.FIRST_COMPLETED, timeout=seconds
        )

    async def _receive(self, free: int, busy: BusyResources, *, drain: bool) -> list[Delivery]:
        """Receive messages that can start now; the others stay in the queue."""
        settings = self._env.settings
        can_wait = busy == NOTHING_BUSY and not drain
        try:
            return await self._env.engine.queue.receive(
                min(settings.max_batch_size, free),
                lease=settings.lease,
                wait=RECEIVE_WAIT if can_wait else timedelta(0),
                busy=busy,
            )
        except EngineError as error:
            if drain:  # a queue that did not answer may not be empty
                raise
            log.error("queue does not answer", error=str(error))
            await asyncio.sleep(PAUSE_AFTER_ERROR_SECONDS)
            return []

    def _start(self, batch: list[Delivery]) -> None:
        for delivery in batch:
            # Each task has its own context, which ends with the task.
            task = asyncio.create_task(handle_messages([delivery], self._env))
            self._in_flight.add(task)
            task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._in_flight.discard(task)
        self._handled += 1
        self._last_handled_at = self._env.clock.now()

    async def _release(self, batch: list[Delivery]) -> None:
        if batch:
            await asyncio.gather(
                *(self._env.engine.commit([Release(delivery)]) for delivery in batch)
            )

    async def _finish(self) -> None:
        """Finish what is in flight; after the stop grace it is returned to the queue."""
        if not self._in_flight:
            return
        grace = self._env.settings.stop_grace.total_seconds()
        log.info("worker is stopping", messages=len(self._in_flight), seconds=grace)
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
                log.error("heartbeat failed", error=str(error))
            await asyncio.sleep(HEARTBEAT_EVERY_SECONDS)
