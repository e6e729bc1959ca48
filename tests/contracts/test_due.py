"""Listing by due date: it may save work but never hides a record."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.clocks import NOON, ManualClock
from tests.contracts.asking import list_all
from vskill_platform.engines.operations import NEVER, Delete, Put
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import InvalidInput

EARLIER = NOON - timedelta(minutes=10)
LATER = NOON + timedelta(minutes=10)


async def test_a_record_is_listed_from_the_moment_it_is_due(engine: Engine) -> None:
    await engine.commit([Put("sub:1", b"", due=NOON)])

    assert await list_all(engine, due_before=NOON - timedelta(microseconds=1)) == []
    assert await list_all(engine, due_before=NOON) == ["sub:1"]
    assert await list_all(engine, due_before=LATER) == ["sub:1"]


async def test_a_record_without_due_is_always_listed(engine: Engine) -> None:
    await engine.commit([Put("sub:1", b"")])

    assert await list_all(engine, due_before=datetime.min.replace(tzinfo=UTC)) == ["sub:1"]
    assert await list_all(engine, due_before=NEVER) == ["sub:1"]


async def test_a_finished_record_is_never_due(engine: Engine) -> None:
    await engine.commit([Put("sub:1", b"", due=NEVER)])

    assert await list_all(engine, due_before=NEVER) == []
    assert await list_all(engine) == ["sub:1"]


async def test_undated_records_come_first_then_the_longest_overdue(engine: Engine) -> None:
    await engine.commit(
        [
            Put("a", b"", due=NOON),
            Put("b", b"", due=EARLIER),
            Put("c", b""),
            Put("d", b"", due=LATER),
            Put("e", b"", due=NEVER),
            Put("f", b""),
            Put("g", b"", due=EARLIER),
        ]
    )

    assert await list_all(engine, due_before=NOON) == ["c", "f", "b", "g", "a"]


async def test_only_keys_with_the_prefix_are_listed(engine: Engine) -> None:
    dues = (None, EARLIER, NOON)
    for prefix in ("a:", "sub:", "sub", "sub;", "\U0010ffff"):
        await engine.commit([Put(f"{prefix}{n}", b"", due=due) for n, due in enumerate(dues)])

    assert await list_all(engine, "sub:", due_before=NOON) == ["sub:0", "sub:1", "sub:2"]
    assert await list_all(engine, "\U0010ffff", due_before=NOON, limit=1) == [
        "\U0010ffff0",
        "\U0010ffff1",
        "\U0010ffff2",
    ]


@pytest.mark.parametrize(("undated", "overdue"), [(0, 0), (0, 5), (5, 0), (3, 4), (1, 1)])
async def test_pages_of_any_size_add_up_to_the_whole_listing(
    engine: Engine, undated: int, overdue: int
) -> None:
    await engine.commit(
        [Put(f"sub: undated {n}", b"") for n in range(undated)]
        # Two at a time share their due, and a key may look like a cursor.
        + [Put(f"sub:due 1{n}", b"", due=NOON - timedelta(hours=n // 2)) for n in range(overdue)]
        + [Put("sub:later", b"", due=LATER), Put("sub:never", b"", due=NEVER)]
    )
    whole = await engine.kv.list_keys("sub:", due_before=NOON)
    assert len(whole.keys) == undated + overdue
    assert whole.cursor is None

    for limit in range(1, undated + overdue + 2):
        assert await list_all(engine, "sub:", due_before=NOON, limit=limit) == whole.keys


async def test_a_record_that_is_handled_between_pages_does_not_shift_the_others(
    engine: Engine,
) -> None:
    overdue = [Put(f"sub:{n}", b"", due=NOON - timedelta(minutes=9 - n)) for n in range(4)]
    await engine.commit([*overdue, Put("sub:undated", b"")])
    first = await engine.kv.list_keys("sub:", due_before=NOON, limit=3)

    await engine.commit([Put("sub:1", b"", due=LATER), Delete("sub:undated")])
    second = await engine.kv.list_keys("sub:", due_before=NOON, limit=3, after=first.cursor)

    assert first.keys == ["sub:undated", "sub:0", "sub:1"]
    assert second.keys == ["sub:2", "sub:3"]


@pytest.mark.parametrize("due", [None, EARLIER])
@pytest.mark.parametrize("prefix", ["a", "m", "z"])
async def test_the_cursor_of_another_listing_leads_to_no_key_outside_the_prefix(
    engine: Engine, prefix: str, due: datetime | None
) -> None:
    await engine.commit([Put(f"{letter}{n}", b"", due=due) for letter in "amz" for n in range(3)])
    elsewhere = await engine.kv.list_keys("m", limit=2, due_before=NOON)

    page = await engine.kv.list_keys(prefix, after=elsewhere.cursor, due_before=NOON)

    assert [key for key in page.keys if not key.startswith(prefix)] == []


async def test_a_put_moves_a_record_to_its_new_due(engine: Engine) -> None:
    for due, expected in ((LATER, []), (None, ["sub:1"]), (NEVER, []), (EARLIER, ["sub:1"])):
        await engine.commit([Put("sub:1", b"", due=due)])

        assert await list_all(engine, due_before=NOON) == expected


async def test_a_moment_long_before_the_epoch_is_a_moment_too(
    engine: Engine, clock: ManualClock
) -> None:
    ancient = datetime(1, 1, 1, tzinfo=UTC)
    await engine.commit([Put("sub:1", b"", due=ancient), Put("sub:2", b"", due=clock.now())])

    assert await list_all(engine, due_before=ancient) == ["sub:1"]
    assert await list_all(engine, due_before=NOON, limit=1) == ["sub:1", "sub:2"]


@pytest.mark.parametrize("cursor", ["sub:1", "", "due soon sub:1", "due 9" + "9" * 30 + " k"])
async def test_a_cursor_of_another_listing_is_refused(engine: Engine, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="cursor"):
        await engine.kv.list_keys("sub:", due_before=NOON, after=cursor)


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_page_by_due_holds_at_least_one_key(engine: Engine, limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        await engine.kv.list_keys("sub:", due_before=NOON, limit=limit)
