"""Writes of other processes are noticed, even after failures."""

import asyncio
from datetime import timedelta

import apsw

from tests.contracts.asking import GUARD_SECONDS, start_waiting
from tests.unit.engines.sqlite.spied_connections import spied_connections
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Put, Send
from vskill_platform.engines.ports import Engine

_LEASE = timedelta(minutes=1)


class Blindfold:
    """Makes an engine's looks for other processes fail, until it is taken off."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._failed_looks = 0
        connection.authorizer = self._refuse

    async def wait_for_failed_looks(self, engine: Engine) -> None:
        async with asyncio.timeout(GUARD_SECONDS):
            while self._failed_looks < 3:  # it looks only while somebody waits
                await engine.queue.receive(1, lease=_LEASE, wait=timedelta(milliseconds=50))

    def take_off(self) -> None:
        self._connection.authorizer = None

    def _refuse(self, *_about: object) -> int:
        self._failed_looks += 1
        return apsw.SQLITE_DENY


async def open_with_blindfold(url: str) -> tuple[Engine, Blindfold]:
    with spied_connections() as spy:
        engine = await open_engine(url)
    await engine.revision()  # the first look, at which the looking begins, is over
    return engine, Blindfold(spy.opened[-1])


async def test_looks_that_failed_do_not_end_the_looking(url: str) -> None:
    engine, blindfold = await open_with_blindfold(url)
    other = await open_engine(url)
    await blindfold.wait_for_failed_looks(engine)
    blindfold.take_off()
    waiting = await start_waiting(engine)

    await other.commit([Send(b"from afar")])

    async with asyncio.timeout(GUARD_SECONDS):
        assert [delivery.body for delivery in await waiting] == [b"from afar"]
    await engine.close()
    await other.close()


async def test_a_waiting_receiver_is_woken_although_polling_failed(url: str) -> None:
    engine, blindfold = await open_with_blindfold(url)
    other = await open_engine(url)
    await blindfold.wait_for_failed_looks(engine)
    waiting = await start_waiting(engine)

    await other.commit([Send(b"from afar")])

    async with asyncio.timeout(GUARD_SECONDS):
        assert [delivery.body for delivery in await waiting] == [b"from afar"]
    await engine.close()
    await other.close()


async def test_an_engine_closes_even_if_looking_failed(url: str) -> None:
    engine, blindfold = await open_with_blindfold(url)
    await blindfold.wait_for_failed_looks(engine)

    await engine.close()

    again = await open_engine(url, create=False)
    assert await again.commit([Send(b"")]) == 1
    await again.close()


async def test_a_change_made_while_nobody_waited_is_found_by_the_next_wait(
    url: str,
) -> None:
    engine, other = await open_engine(url), await open_engine(url)
    ticket = await engine.revision()
    await other.commit([Put("sub:1", b"from afar")])

    async with asyncio.timeout(GUARD_SECONDS):
        change = await anext(aiter(engine.changes(after=ticket)))

    assert change.keys == ("sub:1",)
    await engine.close()
    await other.close()
