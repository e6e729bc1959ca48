"""Take background messages while submissions leave scan slots unused.

Submissions come first. Even if they use all slots, one background message is started now and then,
so that a flood of submissions cannot stop rescans.
"""

import asyncio
from collections.abc import Callable

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Delivery
from vskill_platform.errors import EngineError
from vskill_platform.publish.rescans.newest_rules import has_newest_rules
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.background_store import JOB_OF, read_background
from vskill_platform.stores.cron_store import make_due

log = get_logger(__name__)

#: How often to look for background messages while there are none, or no free slot.
LOOK_EVERY_SECONDS = 1.0
#: The interval between background messages while submissions use all slots.
TURN_SECONDS = 10.0
#: How long it is remembered whether other nodes have newer rules.
_RULES_KNOWN_SECONDS = 10.0


class BackgroundWorker:
    def __init__(self, env: WorkerEnv, count_submissions: Callable[[], int]) -> None:
        self._env = env
        #: How many submissions this worker holds.
        self._count_submissions = count_submissions
        self._in_flight: set[asyncio.Task[None]] = set()
        self._started_at = -TURN_SECONDS
        #: When the other nodes were last compared, by the clock of the event loop.
        self.rules_asked_at = -_RULES_KNOWN_SECONDS
        self._has_newest_rules = False
        #: Jobs that may have more to send, now that their messages are done.
        self._jobs: set[str] = set()

    async def run(self, stop: asyncio.Event, *, drain: bool = False) -> None:
        """Work until *stop* is set, or with *drain* until nothing is ready and nothing runs."""
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                try:
                    is_done = await run_with_worker_env(self._env, self._take)
                except EngineError as error:
                    if drain:
                        raise
                    log.error("queue does not answer", error=str(error))
                    is_done = False
                if drain and is_done and not self._in_flight:
                    return
                await asyncio.wait(
                    {*self._in_flight, stopping},
                    return_when=asyncio.FIRST_COMPLETED,
                    timeout=LOOK_EVERY_SECONDS,
                )
        finally:
            stopping.cancel()
            # Their messages return to the queue, and another worker repeats the work.
            for task in self._in_flight:
                task.cancel()
            await asyncio.gather(stopping, *self._in_flight, return_exceptions=True)

    async def _take(self) -> bool:
        """Start as many messages as there are free slots; return whether nothing is left to do.

        Messages that are left to a node with newer rules count as nothing.
        """
        free = self.free_slots(seconds_since_last=self._time() - self._started_at)
        if free < 1:
            return False
        if not await self._may_rescan():
            return True
        batch = await self._env.engine.queue.receive(
            free, lease=self._env.settings.lease, background=True
        )
        for delivery in batch:
            self._start(delivery)
        if batch or self._in_flight:
            return False
        self._jobs = {job for job in self._jobs if not await make_due(job)}
        return True

    def free_slots(self, *, seconds_since_last: float) -> int:
        """Return how many messages may start now: at most half of the slots, if they are free."""
        slots = int(self._env.scan_slots.total_tokens)
        free = max(slots // 2, 1) - len(self._in_flight)
        unused = slots - self._count_submissions() - len(self._in_flight)
        if unused > 0:
            return min(free, unused)
        return min(free, 1) if seconds_since_last >= TURN_SECONDS else 0

    async def _may_rescan(self) -> bool:
        """Return whether no other node has newer rules; otherwise that node does the rescan."""
        now = self._time()
        if now - self.rules_asked_at >= _RULES_KNOWN_SECONDS:
            self._has_newest_rules = await has_newest_rules()
            self.rules_asked_at = now
        return self._has_newest_rules

    def _start(self, delivery: Delivery) -> None:
        self._started_at = self._time()
        if message := read_background(delivery.body):
            self._jobs.add(JOB_OF[type(message)])
        task = asyncio.create_task(handle_messages([delivery], self._env))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    @staticmethod
    def _time() -> float:
        return asyncio.get_running_loop().time()
