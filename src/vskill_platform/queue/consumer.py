"""Handle a batch of messages, each with its own deadline, success or failure."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from vskill_platform.base.resource_shortage import is_machine_short
from vskill_platform.base.settle import settle
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Delivery
from vskill_platform.engines.ports import BACKGROUND
from vskill_platform.errors import (
    BlobsUnavailable,
    DeadlineExceeded,
    FetchLimitReached,
    OutOfResources,
    PolicyUnavailable,
    VskillError,
)
from vskill_platform.publish.policy.current_policy import run_with_current_policy
from vskill_platform.queue.background import (
    fail_background,
    process_background,
    release_background,
)
from vskill_platform.queue.claim_submission import release_submission
from vskill_platform.queue.fail_submission import fail_submission
from vskill_platform.queue.process_submission import process_submission
from vskill_platform.queue.scan_slots import message_limit
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.submission_messages import is_submission_message

log = get_logger(__name__)


async def handle_messages(batch: Sequence[Delivery], env: WorkerEnv) -> None:
    """Handle all messages of a batch concurrently; a failure affects only its own message."""

    async def handle_batch() -> None:
        outcomes = await settle(_handle_message, batch, at_once=len(batch))
        for delivery, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Exception):
                # Not even the failure could be stored, so the database has a problem. The lease
                # expires, and the message is delivered again.
                log.error("message not handled", **_id_field(delivery), error=str(outcome))

    await run_with_worker_env(env, handle_batch)


class _Handler(NamedTuple):
    """How to process a kind of message, return it to the queue, and handle its failure."""

    process: Callable[[Delivery], Awaitable[None]]
    release: Callable[[Delivery], Awaitable[None]]
    fail: Callable[[Delivery, Exception], Awaitable[None]]


def _handler_of(delivery: Delivery) -> _Handler:
    if _has_submission(delivery):
        return _Handler(_process_in_time, release_submission, fail_submission)
    return _Handler(_process_background, release_background, fail_background)


def _has_submission(delivery: Delivery) -> bool:
    return delivery.group != BACKGROUND and is_submission_message(delivery.body)


def _id_field(delivery: Delivery) -> dict[str, str | None]:
    """Return the log field that names a message: the ID of its submission, or else its key."""
    return {"submission" if _has_submission(delivery) else "message": delivery.key}


async def _handle_message(delivery: Delivery) -> None:
    handler = _handler_of(delivery)
    try:
        await handler.process(delivery)
    except asyncio.CancelledError:
        # The worker stops: another one continues at once, and this attempt does not count.
        await asyncio.shield(handler.release(delivery))
        raise
    except FetchLimitReached as error:
        # Nothing has been done yet: the message keeps its position, and the attempt does not count.
        log.info("message released", **_id_field(delivery), error=str(error))
        await handler.release(delivery)
    except Exception as error:
        if isinstance(error, OutOfResources) or is_machine_short(error):
            await _release_later(delivery, error, why="machine is out of resources")
            return
        if isinstance(error, PolicyUnavailable):
            await _release_later(delivery, error, why="policy cannot be applied")
            return
        if isinstance(error, BlobsUnavailable):
            await _release_later(delivery, error, why="archive storage unavailable")
            return
        unforeseen = None if isinstance(error, VskillError) else error
        log.warning(
            "processing failed", **_id_field(delivery), error=repr(error), exc_info=unforeseen
        )
        await handler.fail(delivery, error)


async def _release_later(delivery: Delivery, error: Exception, *, why: str) -> None:
    """Wait a little, then return the message: a full disk must not cause a rejection.

    Meanwhile the message keeps its slot, so the worker receives fewer messages.
    """
    log.error(why, **_id_field(delivery), error=str(error))
    try:
        await asyncio.sleep(get_settings().retry_delay.total_seconds())
    finally:
        await asyncio.shield(_handler_of(delivery).release(delivery))


async def _process_background(delivery: Delivery) -> None:
    await run_with_current_policy(partial(process_background, delivery))


async def _process_in_time(delivery: Delivery) -> None:
    settings = get_settings()
    seconds = settings.message_deadline.total_seconds()
    limit = asyncio.timeout(seconds)
    token = message_limit.set(limit)
    try:
        async with limit:
            await run_with_current_policy(partial(process_submission, delivery))
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise DeadlineExceeded(f"not finished within {seconds:g} s") from error
    finally:
        message_limit.reset(token)
