"""Take a ticket, look, then wait: a ring since the ticket is never missed."""

import asyncio

from tests.contracts.asking import GUARD_SECONDS
from vskill_platform.engines.wakeup import Doorbell


async def test_a_ring_before_the_wait_began_is_not_missed() -> None:
    doorbell = Doorbell()
    ticket = doorbell.ticket()

    doorbell.ring()

    async with asyncio.timeout(GUARD_SECONDS):
        await doorbell.wait(ticket)


async def test_a_ring_wakes_all_that_wait() -> None:
    doorbell = Doorbell()
    waiting = [asyncio.create_task(doorbell.wait(doorbell.ticket())) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)

    doorbell.ring()
    doorbell.ring()

    async with asyncio.timeout(GUARD_SECONDS):
        await asyncio.gather(*waiting)


async def test_a_ring_from_before_the_ticket_wakes_nobody() -> None:
    doorbell = Doorbell()
    doorbell.ring()
    waiting = asyncio.create_task(doorbell.wait(doorbell.ticket()))
    for _ in range(5):
        await asyncio.sleep(0)

    assert not waiting.done()

    doorbell.ring()
    await waiting


async def test_a_wait_ends_when_the_time_is_up() -> None:
    doorbell = Doorbell()

    async with asyncio.timeout(GUARD_SECONDS):
        await doorbell.wait(doorbell.ticket(), timeout_seconds=0.01)
        await doorbell.wait(doorbell.ticket(), timeout_seconds=0)


async def test_who_gave_up_waiting_is_forgotten() -> None:
    doorbell = Doorbell()
    waiting = asyncio.create_task(doorbell.wait(doorbell.ticket()))
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.wait([waiting])
    await doorbell.wait(doorbell.ticket(), timeout_seconds=0)

    assert waiting.cancelled()
    assert doorbell._waiting == set()
