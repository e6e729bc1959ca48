"""Take a ticket, check, then wait: no wake-up after the ticket is missed."""

import asyncio

from tests.contracts.asking import GUARD_SECONDS
from vskill_platform.engines.wakeup import Wakeup


async def test_a_ring_before_the_wait_began_is_not_missed() -> None:
    wakeup = Wakeup()
    ticket = wakeup.ticket()

    wakeup.wake()

    async with asyncio.timeout(GUARD_SECONDS):
        await wakeup.wait(ticket)


async def test_a_ring_wakes_all_that_wait() -> None:
    wakeup = Wakeup()
    waiting = [asyncio.create_task(wakeup.wait(wakeup.ticket())) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)

    wakeup.wake()
    wakeup.wake()

    async with asyncio.timeout(GUARD_SECONDS):
        await asyncio.gather(*waiting)


async def test_a_ring_from_before_the_ticket_wakes_nobody() -> None:
    wakeup = Wakeup()
    wakeup.wake()
    waiting = asyncio.create_task(wakeup.wait(wakeup.ticket()))
    for _ in range(5):
        await asyncio.sleep(0)

    assert not waiting.done()

    wakeup.wake()
    await waiting


async def test_a_wait_ends_when_the_time_is_up() -> None:
    wakeup = Wakeup()

    async with asyncio.timeout(GUARD_SECONDS):
        await wakeup.wait(wakeup.ticket(), timeout_seconds=0.01)
        await wakeup.wait(wakeup.ticket(), timeout_seconds=0)


async def test_a_cancelled_waiter_is_forgotten() -> None:
    wakeup = Wakeup()
    waiting = asyncio.create_task(wakeup.wait(wakeup.ticket()))
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.wait([waiting])
    await wakeup.wait(wakeup.ticket(), timeout_seconds=0)

    assert waiting.cancelled()
    assert wakeup._waiting == set()
