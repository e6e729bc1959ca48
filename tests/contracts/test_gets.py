"""Many gets at once: each settles on its own."""

import asyncio

import pytest

from tests.contracts.asking import GUARD_SECONDS
from vskill_platform.base.settle import settle
from vskill_platform.engines.operations import Put
from vskill_platform.engines.ports import Engine, Entry
from vskill_platform.errors import InvalidInput


async def test_many_concurrent_gets_each_get_their_own_record(engine: Engine) -> None:
    keys = [f"sub:{n}" for n in range(3000)]
    revision = await engine.commit([Put(key, key.encode()) for key in keys])
    assert revision is not None

    entries = await asyncio.gather(*(engine.kv.get(key) for key in keys))

    assert entries == [Entry(key.encode(), revision) for key in keys]


async def test_a_missing_record_among_concurrent_gets_is_none(engine: Engine) -> None:
    await engine.commit([Put("sub:1", b"one")])

    found = await asyncio.gather(*(engine.kv.get(key) for key in ("sub:0", "sub:1", "sub:2")))

    assert [entry and entry.value for entry in found] == [None, b"one", None]


async def test_the_same_key_asked_many_times_at_once_is_answered_each_time(engine: Engine) -> None:
    await engine.commit([Put("sub:1", b"one")])

    found = await asyncio.gather(*(engine.kv.get("sub:1") for _ in range(50)))

    assert {entry.value for entry in found if entry} == {b"one"}
    assert len(found) == 50


@pytest.mark.parametrize("invalid", ["", "\udfff", "\0", "k" * 2000])
async def test_an_invalid_key_does_not_spoil_the_gets_beside_it(
    engine: Engine, invalid: str
) -> None:
    await engine.commit([Put("sub:1", b"one"), Put("sub:2", b"two")])

    first, refused, second = await settle(engine.kv.get, ["sub:1", invalid, "sub:2"])

    assert isinstance(first, Entry)
    assert isinstance(refused, InvalidInput)
    assert isinstance(second, Entry)


async def test_a_cancelled_get_does_not_spoil_the_others(engine: Engine) -> None:
    await engine.commit([Put(f"sub:{n}", b"%d" % n) for n in range(3)])
    gets = [asyncio.ensure_future(engine.kv.get(f"sub:{n}")) for n in range(3)]
    await asyncio.sleep(0)

    gets[1].cancel()
    async with asyncio.timeout(GUARD_SECONDS):
        first, cancelled, last = await asyncio.gather(*gets, return_exceptions=True)

    assert isinstance(first, Entry)
    assert isinstance(cancelled, asyncio.CancelledError)
    assert isinstance(last, Entry)


async def test_a_get_sees_what_was_committed_before_it(
    engine: Engine, other_engine: Engine
) -> None:
    for n in range(50):
        await engine.commit([Put("counter", b"%d" % n)])

        here, there = await asyncio.gather(engine.kv.get("counter"), other_engine.kv.get("counter"))

        assert here == there
        assert here is not None
        assert here.value == b"%d" % n


async def test_gets_in_any_order_with_gaps_and_repeats_each_get_their_own(engine: Engine) -> None:
    await engine.commit([Put(f"sub:{n:03}", b"%d" % n) for n in range(0, 300, 2)])
    wanted = [*range(299, -1, -7), 4, 4, 1, 1, 298, 0, 2, 4]

    entries = await asyncio.gather(*(engine.kv.get(f"sub:{n:03}") for n in wanted))

    found = [None if entry is None else int(entry.value) for entry in entries]
    assert found == [n if n % 2 == 0 else None for n in wanted]


async def test_several_records_are_read_together_in_the_order_of_their_keys(engine: Engine) -> None:
    revision = await engine.commit([Put("sub:1", b"one"), Put("sub:2", b"two")])
    assert revision is not None

    found = await engine.kv.get_many(["sub:2", "sub:0", "sub:1", "sub:2"])

    one, two = Entry(b"one", revision), Entry(b"two", revision)
    assert found == [two, None, one, two]
    assert await engine.kv.get_many([]) == []


async def test_reading_several_records_beside_single_ones_mixes_nothing_up(engine: Engine) -> None:
    await engine.commit([Put(f"sub:{n}", b"%d" % n) for n in range(4)])

    first, several, last = await asyncio.gather(
        engine.kv.get("sub:0"), engine.kv.get_many(["sub:2", "sub:1"]), engine.kv.get("sub:3")
    )

    values = [entry and entry.value for entry in (first, *several, last)]
    assert values == [b"0", b"2", b"1", b"3"]


@pytest.mark.parametrize("invalid", ["", "\udfff", "\0", "k" * 2000])
async def test_an_invalid_key_among_several_is_an_error(engine: Engine, invalid: str) -> None:
    with pytest.raises(InvalidInput, match="key"):
        await engine.kv.get_many(["sub:1", invalid])
