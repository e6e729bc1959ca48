"""Gets that wait together are one query."""

import asyncio

from tests.unit.engines.sqlite.spied_connections import spied_connections
from vskill_platform.base.settle import settle
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.ports import Put
from vskill_platform.engines.sqlite.kv import MAX_GETS

GET = "carray"


async def test_gets_that_wait_together_are_one_query(url: str) -> None:
    with spied_connections() as spy:
        engine = await open_engine(url)
        await engine.commit([Put(f"sub:{n}", b"%d" % n) for n in range(1000)])

        entries = await asyncio.gather(*(engine.kv.get(f"sub:{n}") for n in range(1000)))
        await engine.close()

    assert [entry and entry.value for entry in entries] == [b"%d" % n for n in range(1000)]
    assert spy.count(GET) == 1


async def test_what_a_store_settles_is_one_query_too(url: str) -> None:
    with spied_connections() as spy:
        engine = await open_engine(url)

        await settle(engine.kv.get, [f"sub:{n}" for n in range(1000)])
        await engine.close()

    assert spy.count(GET) == 1


async def test_one_query_answers_no_more_than_the_limit(url: str) -> None:
    with spied_connections() as spy:
        engine = await open_engine(url)

        await asyncio.gather(*(engine.kv.get(f"sub:{n}") for n in range(2 * MAX_GETS + 1)))
        await engine.close()

    assert spy.count(GET) == 3


async def test_a_lone_get_is_a_query_of_its_own(url: str) -> None:
    with spied_connections() as spy:
        engine = await open_engine(url)

        for n in range(3):
            await engine.kv.get(f"sub:{n}")
        await engine.close()

    assert spy.count(GET) == 3
