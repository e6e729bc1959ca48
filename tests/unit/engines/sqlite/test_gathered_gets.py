"""Gets that wait together are one query."""

import asyncio
from datetime import UTC, datetime

from tests.unit.engines.sqlite.spied_connections import spied_connections
from vskill_platform.base.settle import settle
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Delete, Put
from vskill_platform.engines.ports import Entry, KeyPage
from vskill_platform.engines.sqlite.readers import MAX_GETS
from vskill_platform.errors import FeedTrimmed, InvalidInput

GET = "carray(:keys) AS wanted"


async def test_gets_that_wait_together_are_one_query(url: str) -> None:
    with spied_connections() as spy:
        engine = await open_engine(url)
        await engine.commit([Put(f"sub:{n}", b"%d" % n) for n in range(1000)])

        entries = await asyncio.gather(*(engine.kv.get(f"sub:{n}") for n in range(1000)))
        await engine.close()

    assert [entry and entry.value for entry in entries] == [b"%d" % n for n in range(1000)]
    assert spy.count(GET) == 1


async def test_reads_settled_together_are_one_query(url: str) -> None:
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


async def test_an_error_in_one_read_reaches_only_its_caller(url: str) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("sub:1", b"one"), Put("sub:2", b"two")])
    await engine.commit([Delete("sub:2")])
    await engine.prune(deleted_before=datetime.max.replace(tzinfo=UTC))

    entry, trimmed, page, refused = await asyncio.gather(
        engine.kv.get("sub:1"),
        engine.read_changes(after=0),
        engine.kv.list_keys("sub:"),
        engine.kv.list_keys("sub:", limit=0),
        return_exceptions=True,
    )
    await engine.close()

    assert isinstance(entry, Entry)
    assert isinstance(page, KeyPage)
    assert (entry.value, page.keys) == (b"one", ["sub:1"])
    assert isinstance(trimmed, FeedTrimmed)
    assert isinstance(refused, InvalidInput)
