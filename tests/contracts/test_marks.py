"""Marks: records are found by words that they chose, in the order of their ranks."""

import asyncio
from datetime import timedelta

import pytest

from tests.clocks import ManualClock
from tests.contracts.asking import list_all
from vskill_platform.engines.operations import ABSENT, Delete, Put
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import InvalidInput


async def found(engine: Engine, word: str, *, limit: int = 1000, last_first: bool = False) -> str:
    (keys,) = await engine.kv.find_marked([word], limit=limit, last_first=last_first)
    return " ".join(keys)


async def test_a_record_is_found_under_each_of_its_marks_and_no_other(engine: Engine) -> None:
    await engine.commit([Put("a", b"", marks=("red", "round")), Put("b", b"", marks=("round",))])

    by_word = await engine.kv.find_marked(["round", "red", "rounder", "roun"])

    assert [sorted(keys) for keys in by_word] == [["a", "b"], ["a"], [], []]
    assert await engine.kv.find_marked([]) == []


async def test_they_come_by_rank_and_no_more_than_the_limit(engine: Engine) -> None:
    ranks = {"a": 3, "b": -1, "c": 2**40, "d": 0}
    for key, rank in ranks.items():
        await engine.commit([Put(key, b"", marks=("w",), rank=rank)])

    assert await found(engine, "w") == "b d a c"
    assert await found(engine, "w", last_first=True) == "c a d b"
    assert await found(engine, "w", limit=2) == "b d"
    assert await found(engine, "w", limit=2, last_first=True) == "c a"


async def test_every_put_replaces_all_marks(engine: Engine) -> None:
    await engine.commit([Put("a", b"", marks=("one", "two"), rank=1)])
    await engine.commit([Put("b", b"", marks=("one",), rank=2)])

    await engine.commit([Put("a", b"", marks=("two", "three"), rank=5)])

    assert await found(engine, "one") == "b"
    assert await found(engine, "two") == "a"
    assert await found(engine, "three") == "a"

    await engine.commit([Put("b", b"")])

    assert await found(engine, "one") == ""


async def test_a_new_rank_is_enough_to_change_the_order(engine: Engine) -> None:
    await engine.commit([Put("a", b"", marks=("w",), rank=1), Put("b", b"", marks=("w",), rank=2)])

    await engine.commit([Put("a", b"", marks=("w",), rank=3)])

    assert await found(engine, "w") == "b a"


async def test_a_deleted_key_is_not_found_until_it_is_written_with_its_marks(
    engine: Engine,
) -> None:
    await engine.commit([Put("a", b"", marks=("w",))])

    await engine.commit([Delete("a")])
    assert await found(engine, "w") == ""

    await engine.commit([Put("a", b"")])
    assert await found(engine, "w") == ""

    await engine.commit([Delete("a"), Put("a", b"", marks=("w",))])
    assert await found(engine, "w") == "a"


async def test_expired_keys_are_not_found_and_pruned_keys_leave_no_marks(
    engine: Engine, clock: ManualClock
) -> None:
    soon = clock.now() + timedelta(seconds=1)
    await engine.commit([Put("a", b"", marks=("w",), expires_at=soon)])
    await engine.commit([Put("b", b"", marks=("w",), rank=1)])
    assert await found(engine, "w") == "a b"

    clock.advance(seconds=2)
    assert await found(engine, "w") == "b"
    assert await found(engine, "w", limit=1) == "b"

    await engine.prune(deleted_before=clock.now())
    assert await found(engine, "w") == "b"
    assert await list_all(engine) == ["b"]


async def test_a_refused_commit_leaves_the_marks_as_they_were(engine: Engine) -> None:
    await engine.commit([Put("a", b"", marks=("old",))])

    refused = [Put("a", b"", marks=("new",)), Put("a", b"", expected=ABSENT)]

    assert await engine.commit(refused) is None
    assert await found(engine, "old") == "a"
    assert await found(engine, "new") == ""


async def test_a_mark_that_is_named_twice_is_one(engine: Engine) -> None:
    await engine.commit([Put("a", b"", marks=("w", "w"))])
    assert await found(engine, "w") == "a"

    await engine.commit([Put("a", b"", marks=("w", "x", "w"), rank=7)])
    assert await found(engine, "w") == "a"


async def test_words_may_hold_what_keys_may(engine: Engine) -> None:
    words = ("a b", 'a"b', "é", "a%", "a\\", "\U0010ffff", "a\nb")
    await engine.commit([Put("a", b"", marks=words)])

    assert await engine.kv.find_marked(words) == [["a"]] * len(words)

    await engine.commit([Delete("a")])

    assert await engine.kv.find_marked(words) == [[]] * len(words)


async def test_keys_with_odd_characters_are_found_as_they_are(engine: Engine) -> None:
    keys = ['a"b', "a\\", "a\nb", "a\u2028", "é", "\U0010ffff", "null", "[]"]
    await engine.commit([Put(key, b"", marks=("w",), rank=rank) for rank, key in enumerate(keys)])

    assert await engine.kv.find_marked(["w", "w"]) == [keys, keys]


@pytest.mark.parametrize("word", ["", "x" * 1025, "a\0b", "\ud800"], ids=ascii)
async def test_a_word_that_cannot_be_stored_is_refused(engine: Engine, word: str) -> None:
    with pytest.raises(InvalidInput):
        await engine.commit([Put("a", b"", marks=("fine", word))])
    with pytest.raises(InvalidInput):
        await engine.kv.find_marked(["fine", word])

    assert await list_all(engine) == []


async def test_lookups_and_gets_at_the_same_moment_do_not_disturb_each_other(
    engine: Engine,
) -> None:
    await engine.commit([Put(f"k{n}", b"%d" % n, marks=(f"w{n}",)) for n in range(20)])

    marked, entries = await asyncio.gather(
        asyncio.gather(*(engine.kv.find_marked([f"w{n}"]) for n in range(20))),
        asyncio.gather(*(engine.kv.get(f"k{n}") for n in range(20))),
    )

    assert marked == [[[f"k{n}"]] for n in range(20)]
    assert [entry and entry.value for entry in entries] == [b"%d" % n for n in range(20)]
