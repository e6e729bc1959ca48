"""Reading the change feed without waiting: what is new, and how far that reaches."""

import asyncio
from datetime import timedelta

import pytest

from tests.clocks import NOON, ManualClock
from tests.contracts.asking import changes_until_now
from vskill_platform.engines.operations import Delete, Put, Send
from vskill_platform.engines.ports import ChangesPage, Engine, RecordChange
from vskill_platform.errors import FeedTrimmed


async def test_a_page_has_what_the_feed_has(engine: Engine) -> None:
    first = await engine.commit([Put("a", b""), Put("b", b"")])
    second = await engine.commit([Delete("b")])

    page = await engine.read_changes(after=0)

    assert page.changes == await changes_until_now(engine)
    assert page.changes == [RecordChange(first or 0, ("a",)), RecordChange(second or 0, ("b",))]


async def test_a_page_reaches_beyond_commits_that_changed_no_record(engine: Engine) -> None:
    await engine.commit([Put("a", b"")])
    sent = await engine.commit([Send(b"")])

    page = await engine.read_changes(after=0)

    assert page.through == sent
    assert await engine.read_changes(after=page.through) == ChangesPage(
        [], page.through, is_last=True, checkpoint=page.checkpoint
    )


async def test_pages_hold_whole_commits_and_nothing_is_missing_between_them(
    engine: Engine,
) -> None:
    await engine.commit([Put(f"large{n:04}", b"") for n in range(1500)])
    await asyncio.gather(*(engine.commit([Put(f"k{n:04}", b"")]) for n in range(1200)))

    newest, told, through = await engine.revision(), [], 0
    while (page := await engine.read_changes(after=through)).changes:
        assert through < page.changes[0].revision
        assert page.changes[-1].revision <= page.through
        assert page.is_last == (page.through == newest)
        told += page.changes
        through = page.through

    assert through == newest
    assert told == await changes_until_now(engine)


async def test_a_reader_that_is_ahead_of_the_database_can_tell(engine: Engine) -> None:
    revision = await engine.commit([Put("a", b"")])

    page = await engine.read_changes(after=(revision or 0) + 5)

    assert page.changes == []
    assert page.through == revision


async def test_a_reader_that_is_too_far_behind_gets_an_error(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Put("a", b"")])
    await engine.commit([Delete("a")])
    clock.advance(days=2)
    await engine.prune(deleted_before=NOON + timedelta(days=1))

    with pytest.raises(FeedTrimmed):
        await engine.read_changes(after=0)
