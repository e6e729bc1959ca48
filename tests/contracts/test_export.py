"""Everything in a database can be exported, and loaded into any other engine."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.clocks import ManualClock
from tests.contents import drain, export_all, fill, tally_of
from vskill_platform.engines import exported
from vskill_platform.engines.exported import StoredRecord, decode_page, encode_page
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import NEVER, Put, Send
from vskill_platform.engines.ports import BACKGROUND, Engine
from vskill_platform.errors import HistoryChanged


@pytest.fixture
async def file_engine(clock: ManualClock, tmp_path: Path) -> AsyncIterator[Engine]:
    """An empty database in a file."""
    engine = await open_engine(f"sqlite:///{tmp_path}/other.db", clock=clock)
    yield engine
    await engine.close()


async def test_a_database_moves_to_a_file_with_everything(
    engine: Engine, file_engine: Engine
) -> None:
    await fill(engine)

    await _move(engine, file_engine)

    await _assert_same(engine, file_engine)


async def test_a_file_moves_to_a_database_with_everything(
    engine: Engine, file_engine: Engine
) -> None:
    await fill(file_engine)

    await _move(file_engine, engine)

    await _assert_same(file_engine, engine)


async def test_messages_are_delivered_in_the_same_order_with_their_attempts(
    engine: Engine, file_engine: Engine, clock: ManualClock
) -> None:
    await fill(engine)
    await _move(engine, file_engine)
    now = clock.now()

    received = await drain(file_engine, clock)

    clock.advance(seconds=(now - clock.now()).total_seconds())
    expected = await drain(engine, clock)
    assert received == expected
    assert received[0] == (b"0", None, 1)
    assert (b"leased", "l", 2) in received


async def test_a_new_group_does_not_overtake_the_loaded_messages_for_long(
    engine: Engine, file_engine: Engine
) -> None:
    for number in range(30):
        await file_engine.commit([Send(b"old %d" % number)])
        await file_engine.queue.receive(1, lease=timedelta(days=1))
    await file_engine.commit([Send(b"old", group="old")])
    await _move(file_engine, engine)

    await engine.commit([Send(b"new", group="new") for _ in range(10)])

    received = await engine.queue.receive(2, lease=timedelta(days=1))
    assert b"old" in [each.body for each in received]


async def test_background_messages_stay_in_their_line_when_they_move(
    engine: Engine, file_engine: Engine
) -> None:
    for number in range(30):  # so that the two databases are not at the same turn
        await engine.commit([Send(b"old %d" % number)])
        await engine.queue.receive(1, lease=timedelta(days=1))
    await engine.commit([Send(b"first", group=BACKGROUND), Send(b"second", group=BACKGROUND)])
    lease = timedelta(minutes=1)

    await _move(engine, file_engine)
    await engine.clear()
    await _move(file_engine, engine)

    for moved in (engine, file_engine):
        await moved.commit([Send(b"third", group=BACKGROUND), Send(b"new", group="ada")])
        assert [each.body for each in await moved.queue.receive(9, lease=lease)] == [b"new"]
        received = await moved.queue.receive(9, lease=lease, background=True)
        assert [each.body for each in received] == [b"first", b"second", b"third"]


async def test_an_export_is_one_moment_of_the_database(engine: Engine) -> None:
    await engine.commit([Put("a", b"before"), Put("b", b"before")])

    async with engine.export() as export:
        await engine.commit([Put("b", b"after"), Put("c", b"after"), Send(b"after")])
        items = [item async for page in export.pages() for item in page]

    assert items == [StoredRecord("a", b"before"), StoredRecord("b", b"before")]
    assert export.items == 2
    assert export.revision == 1
    assert export.history_id == await engine.history_id()


async def test_pages_are_bounded_in_items_and_bytes(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.gather(*(engine.commit([Put(f"k{n:04}", b"x")]) for n in range(1200)))
    await engine.commit([Put(f"large{n}", bytes(5 * 1024 * 1024)) for n in range(3)])
    assert exported.PAGE_BYTES == 8 * 1024 * 1024

    async with engine.export() as export:
        pages = [page async for page in export.pages()]

    assert sum(map(len, pages)) == 1203
    assert max(map(len, pages)) <= exported.PAGE_ITEMS
    assert all(
        sum(len(item.value) for item in page if isinstance(item, StoredRecord)) <= 13 * 1024 * 1024
        for page in pages
    )


async def test_an_expired_record_is_exported_until_it_is_pruned(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Put("a", b"", expires_at=clock.now() + timedelta(seconds=1))])
    clock.advance(seconds=2)

    before = await export_all(engine)
    await engine.prune(deleted_before=clock.now())
    after = await export_all(engine)

    assert len(before) == 1
    assert after == []


async def test_a_cleared_database_is_empty_and_has_another_history(engine: Engine) -> None:
    await fill(engine)
    page = await engine.read_changes(after=0)

    await engine.clear()

    assert await export_all(engine) == []
    stats = await engine.queue.stats()
    assert (stats.ready, stats.leased, stats.delayed, stats.dead) == (0, 0, 0, 0)
    assert await engine.kv.find_marked(["a"]) == [[]]
    with pytest.raises(HistoryChanged):
        await engine.read_changes(after=page.through, checkpoint=page.checkpoint)


async def test_a_record_can_be_written_in_the_commit_that_clears_a_database(
    engine: Engine,
) -> None:
    await fill(engine)
    before = await engine.revision()
    mark = StoredRecord("mark", b"begins again", marks=("word",), rank=3)

    await engine.clear(then=mark)

    assert await export_all(engine) == [mark]
    assert await engine.kv.find_marked(["word"]) == [["mark"]]
    assert await engine.revision() == before + 1


async def test_the_queue_can_be_cleared_alone(engine: Engine) -> None:
    await fill(engine)
    history = await engine.history_id()

    await engine.clear(records=False)

    assert {type(item) for item in await export_all(engine)} == {StoredRecord}
    assert await engine.history_id() == history


async def test_a_page_is_the_same_after_encoding(engine: Engine) -> None:
    await fill(engine)

    items = await export_all(engine)

    assert decode_page(encode_page(items)) == items
    assert any(isinstance(item, StoredRecord) and item.due == NEVER for item in items)


async def _move(source: Engine, target: Engine) -> None:
    async with source.export() as export:
        async for page in export.pages():
            await target.load(page)


async def _assert_same(source: Engine, target: Engine) -> None:
    there, here = await tally_of(source), await tally_of(target)
    assert (here.items, here.digest) == (there.items, there.digest)
    assert await export_all(target) == await export_all(source)
    assert await target.kv.find_marked(["a", "ä"]) == [["sub:4", "sub:3"], ["sub:3"]]
    letters = await target.queue.dead_letters()
    assert [(each.body, each.key, each.attempts) for each in letters] == [(b"to bury", "b", 1)]
    assert await target.queue.count_group("ada") == 4
