"""Pages of keys: in code point order, by prefix, forwards and backwards."""

import pytest

from tests.contracts.asking import list_all
from vskill_platform.engines.operations import Delete, Put
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import InvalidInput

#: In every way that has ever confused a database: wildcards, case, accents, planes, the last one.
KEYS = sorted(
    [
        *(
            " ",
            "%",
            "A",
            "B",
            "_",
            "a",
            "a b",
            "a%",
            "a%b",
            "a:",
            "a:1",
            "a:10",
            "a:2",
            "a\\",
            "a_",
        ),
        *("a_b", "ab", "aé", "ae\u0301", "b", "ß", "é", "\ud7ff", "\ud7ffz", "\ue000"),
        *("a\ud7ff", "a\ud7ffz", "a\ue000", "a\uffff", "a\U00010000", "a\U0001f600"),
        *("a\U0010ffff", "a\U0010ffffz", "a\U0010ffff\U0010ffff"),
        *("\U0010ffff", "\U0010ffffz", "\U0010ffff\U0010ffff"),
    ]
)
PREFIXES = ["", "a", "a:", "a:1", "a%", "a_", "a\\", "aé", "A", "é", "c", "a b"]
LAST_PREFIXES = [
    "\ud7ff",
    "a\ud7ff",
    "\U0010ffff",
    "a\U0010ffff",
    "\U0010ffff\U0010ffff",
    "a\uffff",
]


@pytest.mark.parametrize("prefix", PREFIXES + LAST_PREFIXES)
async def test_all_pages_of_a_prefix_are_its_keys_in_code_point_order(
    engine: Engine, prefix: str
) -> None:
    await engine.commit([Put(key, b"") for key in KEYS])
    expected = [key for key in KEYS if key.startswith(prefix)]

    for limit in (1, 2, 5, 1000):
        forwards = await list_all(engine, prefix, limit=limit)
        backwards = await list_all(engine, prefix, limit=limit, newest_first=True)

        assert forwards == expected, limit
        assert backwards == expected[::-1], limit


@pytest.mark.parametrize("newest_first", [False, True])
async def test_only_the_last_page_has_no_cursor(engine: Engine, *, newest_first: bool) -> None:
    await engine.commit([Put(f"k{n}", b"") for n in range(4)])

    first = await engine.kv.list_keys("k", limit=2, newest_first=newest_first)
    last = await engine.kv.list_keys("k", limit=2, newest_first=newest_first, after=first.cursor)
    whole = await engine.kv.list_keys("k", limit=4, newest_first=newest_first)

    assert first.cursor is not None
    assert last.cursor is None
    assert whole.cursor is None
    assert first.keys + last.keys == whole.keys


async def test_a_listing_of_nothing_is_one_empty_page(engine: Engine) -> None:
    page = await engine.kv.list_keys("sub:")

    assert page.keys == []
    assert page.cursor is None


async def test_keys_that_come_and_go_between_pages_neither_shift_nor_repeat_the_others(
    engine: Engine,
) -> None:
    await engine.commit([Put(key, b"") for key in ("k1", "k2", "k3", "k4", "k5")])
    first = await engine.kv.list_keys("k", limit=2)

    await engine.commit([Delete("k2"), Delete("k4"), Put("k0", b""), Put("k25", b"")])
    second = await engine.kv.list_keys("k", limit=2, after=first.cursor)
    third = await engine.kv.list_keys("k", limit=2, after=second.cursor)

    assert first.keys == ["k1", "k2"]
    assert second.keys == ["k25", "k3"]
    assert third.keys == ["k5"]


async def test_backwards_too_keys_that_come_and_go_neither_shift_nor_repeat_the_others(
    engine: Engine,
) -> None:
    await engine.commit([Put(key, b"") for key in ("k1", "k2", "k3", "k4", "k5")])
    first = await engine.kv.list_keys("k", limit=2, newest_first=True)

    await engine.commit([Delete("k4"), Delete("k2"), Put("k6", b""), Put("k35", b"")])
    second = await engine.kv.list_keys("k", limit=2, newest_first=True, after=first.cursor)
    third = await engine.kv.list_keys("k", limit=2, newest_first=True, after=second.cursor)

    assert first.keys == ["k5", "k4"]
    assert second.keys == ["k35", "k3"]
    assert third.keys == ["k1"]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("prefix", ["a", "c", "m", "z"])
async def test_the_cursor_of_another_listing_leads_to_no_key_outside_the_prefix(
    engine: Engine, prefix: str, *, newest_first: bool
) -> None:
    await engine.commit([Put(f"{letter}{n}", b"") for letter in "acmz" for n in range(3)])
    elsewhere = await engine.kv.list_keys("m", limit=2, newest_first=newest_first)

    page = await engine.kv.list_keys(prefix, after=elsewhere.cursor, newest_first=newest_first)

    assert [key for key in page.keys if not key.startswith(prefix)] == []


async def test_a_key_that_is_deleted_and_put_again_is_listed_once(engine: Engine) -> None:
    for _ in range(3):
        await engine.commit([Put("k1", b"")])
        await engine.commit([Delete("k1")])
    await engine.commit([Put("k1", b"")])

    assert await list_all(engine, "k") == ["k1"]


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_page_holds_at_least_one_key(engine: Engine, limit: int) -> None:
    await engine.commit([Put("k1", b"")])

    with pytest.raises(InvalidInput, match="limit"):
        await engine.kv.list_keys("k", limit=limit)


@pytest.mark.parametrize("text", ["half \ud800", "nul \0"])
async def test_a_prefix_or_cursor_that_no_key_can_hold_is_refused(
    engine: Engine, text: str
) -> None:
    for newest_first in (False, True):
        with pytest.raises(InvalidInput, match="text"):
            await engine.kv.list_keys(text, newest_first=newest_first)
        with pytest.raises(InvalidInput, match="text"):
            await engine.kv.list_keys("k", after=text, newest_first=newest_first)
