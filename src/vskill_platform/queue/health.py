"""Queue health: whether submissions are being processed."""

from datetime import datetime, timedelta

import msgspec

from vskill_platform.base.show_text import count_of
from vskill_platform.engines.ports import QueueStats
from vskill_platform.stores.db import get_now, get_queue, get_settings
from vskill_platform.stores.heartbeat_store import Heartbeat, get_heartbeats
from vskill_platform.stores.submission_store import count_waiting_reviews

#: Reviews are counted up to here.
MAX_COUNTED_REVIEWS = 1_000


class WaitingReviews(msgspec.Struct, frozen=True, kw_only=True):
    """Submissions that need review."""

    #: Counted up to MAX_COUNTED_REVIEWS.
    count: int
    #: Whether there are more than that.
    is_more: bool
    #: When the oldest began to wait; None if there is none.
    oldest: datetime | None

    @property
    def shown(self) -> str:
        return f"more than {self.count:,}" if self.is_more else f"{self.count:,}"


class Health(msgspec.Struct, frozen=True, kw_only=True):
    #: What is wrong; empty if the queue is healthy.
    problems: tuple[str, ...]
    queue: QueueStats
    workers: tuple[Heartbeat, ...]
    reviews: WaitingReviews

    @property
    def background_pending(self) -> int:
        """How many rescans and additions to the similarity index wait or run."""
        background = self.queue.background
        return background.ready + background.leased + background.delayed


async def check_health() -> Health:
    """Check the queue and the heartbeats; raises if the database does not answer.

    The cost does not depend on the number of pending submissions.
    """
    stats = await get_queue().stats()
    workers = tuple(await get_heartbeats())
    problem = _find_problem(stats, workers, get_now(), get_settings().stuck_threshold)
    count, oldest = await count_waiting_reviews(limit=MAX_COUNTED_REVIEWS + 1)
    return Health(
        problems=(problem,) if problem else (),
        queue=stats,
        workers=workers,
        reviews=WaitingReviews(
            count=min(count, MAX_COUNTED_REVIEWS),
            is_more=count > MAX_COUNTED_REVIEWS,
            oldest=oldest,
        ),
    )


def _find_problem(
    stats: QueueStats, workers: tuple[Heartbeat, ...], now: datetime, patience: timedelta
) -> str | None:
    waited = stats.oldest_ready_age
    if waited is None or waited < patience or stats.paused_until is not None:
        return None
    waiting = f"work has been waiting for {waited.total_seconds():.0f} s"
    if not workers:
        return f"{waiting} and no worker is alive"
    last_sign = max(worker.last_handled_at or worker.started_at for worker in workers)
    if now - last_sign >= patience:
        return f"{waiting}; {count_of(len(workers), 'live worker')}, but none of it finishes"
    return None
