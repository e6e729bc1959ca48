"""The lease of a node on a job, renewed while the job runs.

When a node is killed, its lease expires, and another node takes the job over within a minute,
however long the job may take.
"""

import asyncio
from datetime import datetime, timedelta
from time import monotonic

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import ABSENT
from vskill_platform.errors import EngineError, Overtaken
from vskill_platform.stores.cron_store import CronRun, get_cron_run, put_cron_run
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.records import Stored

log = get_logger(__name__)

RENEW_EVERY_SECONDS = 10.0
#: If a lease was not renewed for this long, its node has died.
LEASE = timedelta(seconds=45)
#: The previous release renews no lease: its runs count as dead this long after their budget.
_AFTER_BUDGET = timedelta(seconds=10)


def refuse_if_running(run: CronRun, budget: timedelta) -> None:
    if is_running(run, budget):
        since, lease = _last_sign(run, budget)
        raise Overtaken(
            f"another {run.job} has been running since {run.started_at:%H:%M:%S} UTC; wait for it, "
            f"or until {since + lease:%H:%M:%S} UTC if it was killed"
        )


def is_running(run: CronRun, budget: timedelta) -> bool:
    """Return whether a run has not ended and its node is alive."""
    since, lease = _last_sign(run, budget)
    # The absolute difference: after the clock jumped back, the last sign is in the future.
    return run.ended_at is None and abs(get_now() - since) <= lease


def _last_sign(run: CronRun, budget: timedelta) -> tuple[datetime, timedelta]:
    """Return when the node of a run last showed that it is alive, and how long that is valid."""
    # A node of the previous release leaves the time of the previous run in this field.
    if run.renewed_at and run.renewed_at >= run.started_at:
        return run.renewed_at, LEASE
    return run.started_at, budget + _AFTER_BUDGET


class RunLease:
    def __init__(self, run: CronRun, revision: int) -> None:
        self.run = run
        self._revision = revision

    @classmethod
    async def take(cls, job: str, last: Stored[CronRun] | None) -> "RunLease | None":
        """Start a run after the *last* one; only one of several nodes succeeds."""
        now = get_now()
        run = CronRun(job=job, node=get_settings().node, started_at=now, renewed_at=now)
        revision = await put_cron_run(run, expected=last.revision if last else ABSENT)
        return None if revision is None else cls(run, revision)

    async def keep(self) -> None:
        """Renew the lease until it is lost, and then return: another node may run the job."""
        renewed = monotonic()
        while True:
            await asyncio.sleep(RENEW_EVERY_SECONDS)
            try:
                if not await self._put(msgspec.structs.replace(self.run, renewed_at=get_now())):
                    return
                renewed = monotonic()
            except EngineError as error:
                log.warning("lease of a cron job not renewed", job=self.run.job, error=str(error))
                if monotonic() - renewed > LEASE.total_seconds() - 2 * RENEW_EVERY_SECONDS:
                    return

    async def end(self, run: CronRun) -> None:
        """Store the end of the run, unless another node has taken the job over."""
        await self._put(run)

    async def _put(self, run: CronRun) -> bool:
        revision = await put_cron_run(run, expected=self._revision)
        if revision is None:
            # The last renewal may have been stored although its confirmation was lost.
            last = await get_cron_run(run.job)
            if last is None or not self._is_ours(last.record):
                return False
            revision = await put_cron_run(run, expected=last.revision)
        if revision is None:
            return False
        self.run, self._revision = run, revision
        return True

    def _is_ours(self, other: CronRun) -> bool:
        run = self.run
        return (other.node, other.started_at, other.ended_at) == (run.node, run.started_at, None)
