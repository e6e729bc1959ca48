"""Process a background message: a rescan, or an addition to the similarity index."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from vskill_platform.base.show_text import count_of
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import (
    Acknowledge,
    Bury,
    Delivery,
    Extend,
    Operation,
    Release,
    Retry,
)
from vskill_platform.errors import EngineError, Overtaken, VskillError, WorkerDied
from vskill_platform.publish.policy.current_policy import run_with_current_policy
from vskill_platform.publish.rescans.rescan_skills import plan_rescan, rescan_subject
from vskill_platform.publish.versions.index_similarity import plan_similarity
from vskill_platform.queue.fail_submission import is_retryable
from vskill_platform.queue.scan_slots import PART_OF_LEASE
from vskill_platform.stores.background_store import (
    BackgroundFailure,
    BackgroundMessage,
    RescanMessage,
    SimilarityMessage,
    forget_failure,
    kind_of,
    read_background,
    write_failure,
)
from vskill_platform.stores.db import bound_env, commit, get_now, get_settings
from vskill_platform.stores.rescan_store import (
    delete_one_rescan_request,
    get_one_rescan_request,
    get_rescan_request,
)
from vskill_platform.stores.skill_store import get_skill

log = get_logger(__name__)

Result = TypeVar("Result")
#: After this many deliveries without a result, besides the retries, a message is a dead letter.
_END_AFTER_LOST = 10
#: How often, and for how long, a message is postponed if only newer nodes know its kind. Each time
#: counts as a delivery without a result, so there must be fewer than `_END_AFTER_LOST`.
_UNKNOWN_TRIES, _UNKNOWN_DELAY = 5, timedelta(minutes=4)


async def process_background(delivery: Delivery) -> None:
    """Do the work, then write its result and remove the message in one commit."""
    message = read_background(delivery.body)
    if message is None:
        await commit([postpone_unknown(delivery)])
        return
    if delivery.attempt > get_settings().max_retries + _END_AFTER_LOST:
        lost = count_of(delivery.attempt - 1, "time")
        raise WorkerDied(f"it was delivered {lost} without a result")
    operations = await _while_leased(delivery, _plan_in_slot(message))
    operations += await forget_failure(message)
    if await commit([*operations, Acknowledge(delivery)]) is None:
        raise Overtaken(f"{delivery.key} was changed while it was being processed")
    log.info("background message processed", message=delivery.key)


async def _plan_in_slot(message: BackgroundMessage) -> list[Operation]:
    async with bound_env().scan_slots:
        match message:
            case RescanMessage(slug):
                return await plan_rescan(slug)
            case SimilarityMessage(slug):
                return await plan_similarity(slug)


async def _while_leased(delivery: Delivery, work: Coroutine[Any, Any, Result]) -> Result:
    """Extend the lease until the work is done; the work has its own deadlines."""
    working = asyncio.ensure_future(work)
    keeping = asyncio.ensure_future(_keep_lease(delivery))
    try:
        await asyncio.wait({working, keeping}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            keeping.result()  # raises Overtaken
        return await working
    finally:
        working.cancel()
        keeping.cancel()
        await asyncio.gather(working, keeping, return_exceptions=True)


async def _keep_lease(delivery: Delivery) -> None:
    lease = get_settings().lease
    while True:
        await asyncio.sleep(lease.total_seconds() * PART_OF_LEASE)
        try:
            is_ours = await commit([Extend(delivery, lease)]) is not None
        except EngineError as error:  # the database may answer again before the lease expires
            log.warning("lease not extended", message=delivery.key, error=str(error))
            continue
        if not is_ours:
            raise Overtaken(f"{delivery.key} was given to another worker in the meantime")


async def release_background(delivery: Delivery) -> None:
    """Return a message to the queue; the attempt does not count."""
    await commit([Release(delivery)])


async def fail_background(delivery: Delivery, error: Exception) -> None:
    """Retry a message after *error*, or make it a dead letter and record that."""
    message, attempt = read_background(delivery.body), delivery.attempt
    settings = get_settings()
    reason = str(error) if isinstance(error, VskillError) else f"internal error: {error!r}"
    operations: list[Operation]
    if message is None:
        operations = [postpone_unknown(delivery)]
    elif is_retryable(error) and attempt <= settings.max_retries:
        operations = [Retry(delivery, settings.retry_delay * attempt, reason)]
    else:
        log.error("background message failed", message=delivery.key, error=reason)
        record = partial(_record, message, reason)
        operations = [Bury(delivery, reason), *await run_with_current_policy(record)]
    if await commit(operations) is None:
        log.info("failure not recorded: another worker has the message", message=delivery.key)


async def _record(message: BackgroundMessage, reason: str) -> list[Operation]:
    """Return the record that keeps the cron job from sending the same message again."""
    stored = await get_skill(message.slug)
    if stored is None:
        return []
    operations: list[Operation] = []
    about = stored.record.digest
    if isinstance(message, RescanMessage):
        about = rescan_subject(stored.record, await get_rescan_request())
        if asked := await get_one_rescan_request(message.slug):
            operations.append(delete_one_rescan_request(message.slug, expected=asked.revision))
    failure = BackgroundFailure(
        kind=kind_of(message),
        slug=message.slug,
        about=about,
        reason=reason,
        failed_at=get_now(),
    )
    return [*operations, write_failure(failure)]


def postpone_unknown(delivery: Delivery) -> Operation:
    """Postpone a message of an unknown kind, for nodes with a newer release."""
    log.warning("kind of message is not known here", message=delivery.key, attempt=delivery.attempt)
    reason = "no worker knows this kind of message; run the newest release on all nodes"
    if delivery.attempt > _UNKNOWN_TRIES:
        return Bury(delivery, reason)
    return Retry(delivery, _UNKNOWN_DELAY, reason)
