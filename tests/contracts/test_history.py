"""A database has a history: a reader notices when it is no longer the one that was read."""

import asyncio

import pytest

from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Put, Send
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import HistoryChanged


async def test_every_engine_on_a_database_sees_the_same_history_id(
    engine: Engine, other_engine: Engine
) -> None:
    await engine.commit([Put("a", b"")])

    assert len(await engine.history_id()) == 32
    assert await engine.history_id() == await other_engine.history_id()


async def test_the_history_id_stays_when_a_database_is_opened_again(
    engine: Engine, engine_url: str
) -> None:
    before = await engine.history_id()

    again = await open_engine(engine_url)
    after = await again.history_id()
    await again.close()

    assert after == before


async def test_a_reader_with_a_checkpoint_reads_on(engine: Engine, other_engine: Engine) -> None:
    await engine.commit([Put("a", b"")])
    page = await engine.read_changes(after=0)
    await asyncio.gather(*(engine.commit([Put(f"b{n}", b"")]) for n in range(20)))
    await other_engine.commit([Send(b"")])

    news = await other_engine.read_changes(after=page.through, checkpoint=page.checkpoint)

    assert sorted(key for change in news.changes for key in change.keys) == sorted(
        f"b{n}" for n in range(20)
    )


async def test_a_reader_stopped_within_a_page_reads_on(engine: Engine) -> None:
    await asyncio.gather(*(engine.commit([Put(f"k{n:04}", b"")]) for n in range(2500)))

    through, checkpoint, pages = 0, "", 0
    while (page := await engine.read_changes(after=through, checkpoint=checkpoint)).changes:
        through, checkpoint, pages = page.through, page.checkpoint, pages + 1

    assert pages == 3
    assert through == await engine.revision()


@pytest.mark.parametrize("ahead", [0, 1, 1000])
async def test_a_checkpoint_of_another_history_is_refused(engine: Engine, ahead: int) -> None:
    await engine.commit([Put("a", b"")])
    page = await engine.read_changes(after=0)
    other_mark = f"{await engine.history_id()}:42"
    other_id = page.checkpoint.replace(await engine.history_id(), "0" * 32)

    for checkpoint in (other_mark, other_id):
        with pytest.raises(HistoryChanged, match="restored or replaced"):
            await engine.read_changes(after=page.through + ahead, checkpoint=checkpoint)


async def test_a_reader_that_is_ahead_of_the_database_is_refused(engine: Engine) -> None:
    await engine.commit([Put("a", b"")])
    page = await engine.read_changes(after=0)

    with pytest.raises(HistoryChanged):
        await engine.read_changes(after=page.through + 1, checkpoint=page.checkpoint)
