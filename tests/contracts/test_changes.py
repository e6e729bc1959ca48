"""The change feed: every change, once, in commit order, and then those to come."""

import asyncio
from datetime import timedelta

import pytest

from tests.clocks import NOON, ManualClock
from tests.contracts.asking import GUARD_SECONDS, changes_until_now
from vskill_platform.engines.operations import ABSENT, Delete, Put, Send
from vskill_platform.engines.ports import Engine, RecordChange
from vskill_platform.errors import FeedTrimmed


async def committed(engine: Engine, *operations: Put | Delete | Send) -> int:
    revision = await engine.commit(operations)
    assert revision is not None
    return revision


async def test_changes_are_delivered_in_commit_order_with_the_keys_of_one_commit_together(
    engine: Engine,
) -> None:
    first = await committed(engine, Put("b", b""), Put("a", b""))
    second = await committed(engine, Put("é", b""), Put("c", b""))

    assert await changes_until_now(engine) == [
        RecordChange(first, ("a", "b")),
        RecordChange(second, ("c", "é")),
    ]


async def test_a_deletion_is_reported(engine: Engine) -> None:
    await committed(engine, Put("a", b""), Put("b", b""))
    deleted = await committed(engine, Delete("a"), Put("c", b""))

    assert (await changes_until_now(engine))[-1] == RecordChange(deleted, ("a", "c"))


async def test_a_key_that_changed_again_is_delivered_at_its_latest_revision_only(
    engine: Engine,
) -> None:
    first = await committed(engine, Put("a", b""), Put("b", b""), Put("c", b""))
    await committed(engine, Delete("b"), Delete("c"))
    third = await committed(engine, Put("b", b""), Delete("c"), Put("a", b""))
    fourth = await committed(engine, Delete("b"))

    told = await changes_until_now(engine)

    assert told == [RecordChange(third, ("a", "c")), RecordChange(fourth, ("b",))]
    assert first < third


async def test_a_key_written_twice_in_one_commit_is_delivered_once(engine: Engine) -> None:
    revision = await committed(engine, Put("a", b""), Delete("a"), Put("a", b""))
    gone = await committed(engine, Put("b", b""), Delete("b"))

    assert await changes_until_now(engine) == [
        RecordChange(revision, ("a",)),
        RecordChange(gone, ("b",)),
    ]


async def test_following_goes_on_behind_the_revision_it_is_given(engine: Engine) -> None:
    revisions = [await committed(engine, Put(f"k{n}", b"")) for n in range(4)]

    told = await changes_until_now(engine, after=revisions[1])

    assert [change.revision for change in told] == revisions[2:]


async def test_commits_without_records_and_refused_ones_are_not_in_the_feed(engine: Engine) -> None:
    first = await committed(engine, Put("a", b""))
    await committed(engine, Send(b""))
    await engine.commit([Put("b", b""), Put("a", b"", expected=ABSENT)])
    last = await committed(engine, Put("c", b""))

    assert [change.revision for change in await changes_until_now(engine)] == [first, last]


async def test_a_follower_that_has_caught_up_waits_for_what_comes(engine: Engine) -> None:
    await committed(engine, Put("a", b""))
    feed = engine.changes(after=await engine.revision())

    for key in ("b", "c"):
        following = asyncio.ensure_future(anext(feed))
        await asyncio.sleep(0)
        await engine.revision()  # behind the follower's own look
        assert not following.done()

        revision = await committed(engine, Put(key, b""))

        async with asyncio.timeout(GUARD_SECONDS):
            assert await following == RecordChange(revision, (key,))


async def test_a_prune_reports_the_removed_keys_as_changes(
    engine: Engine, clock: ManualClock
) -> None:
    await committed(engine, Put("a", b""), Put("token:1", b"", expires_at=NOON + timedelta(1)))
    before = await engine.revision()

    clock.advance(days=2)
    await engine.prune(deleted_before=NOON)

    told = await changes_until_now(engine, after=before)
    assert [change.keys for change in told] == [("token:1",)]
    assert told[0].revision > before


async def test_a_waiting_follower_is_notified_of_a_prune(
    engine: Engine, clock: ManualClock
) -> None:
    await committed(engine, Put("token:1", b"", expires_at=NOON + timedelta(1)))
    following = asyncio.ensure_future(anext(engine.changes(after=await engine.revision())))
    await asyncio.sleep(0)

    clock.advance(days=2)
    await engine.prune(deleted_before=NOON)

    async with asyncio.timeout(GUARD_SECONDS):
        assert (await following).keys == ("token:1",)


async def test_many_changes_are_all_delivered(engine: Engine) -> None:
    keys = [f"k{n:04}" for n in range(2500)]
    revisions = await asyncio.gather(*(committed(engine, Put(key, b"")) for key in keys))

    told = await changes_until_now(engine)

    assert told == [RecordChange(r, (key,)) for r, key in sorted(zip(revisions, keys, strict=True))]


@pytest.mark.parametrize("before", [0, 1, 998, 999, 1000])
async def test_a_commit_of_very_many_keys_is_delivered_completely(
    engine: Engine, before: int
) -> None:
    await asyncio.gather(*(committed(engine, Put(f"a{n}", b"")) for n in range(before)))
    await committed(engine, *(Put(f"old:{n:04}", b"") for n in range(0, 2500, 2)))
    keys = tuple(f"old:{n:04}" for n in range(2500))
    deleted = await committed(engine, *(Delete(key) for key in keys))
    last = await committed(engine, Put("z", b""))

    told = await changes_until_now(engine)

    assert len(told) == before + 2
    assert told[-2:] == [RecordChange(deleted, keys), RecordChange(last, ("z",))]


async def test_a_reader_that_would_miss_a_trimmed_deletion_must_start_over(
    engine: Engine, clock: ManualClock
) -> None:
    first = await committed(engine, Delete("a"))
    between = await committed(engine, Put("c", b""))
    second = await committed(engine, Delete("b"))
    last = await committed(engine, Put("d", b""))

    clock.advance(days=1)
    assert await engine.prune(deleted_before=clock.now()) == 2

    for missed in (0, first, between):
        with pytest.raises(FeedTrimmed, match=str(second)):
            await anext(engine.changes(after=missed))
    assert await changes_until_now(engine, after=second) == [RecordChange(last, ("d",))]


async def test_a_deletion_younger_than_the_prune_asks_for_is_kept(
    engine: Engine, clock: ManualClock
) -> None:
    await committed(engine, Put("a", b""))
    clock.advance(days=1)
    deleted = await committed(engine, Delete("a"))
    clock.advance(days=1)

    assert await engine.prune(deleted_before=clock.now() - timedelta(days=1)) == 0

    assert await changes_until_now(engine) == [RecordChange(deleted, ("a",))]


async def test_a_follower_that_received_the_deletion_is_not_disturbed_by_its_trim(
    engine: Engine, clock: ManualClock
) -> None:
    await committed(engine, Put("a", b""))
    feed = engine.changes(after=0)
    await anext(feed)
    deleted = await committed(engine, Delete("a"))
    assert await anext(feed) == RecordChange(deleted, ("a",))

    clock.advance(days=1)
    await engine.prune(deleted_before=clock.now())
    last = await committed(engine, Put("b", b""))

    async with asyncio.timeout(GUARD_SECONDS):
        assert await anext(feed) == RecordChange(last, ("b",))


async def test_only_keys_with_the_requested_prefixes_are_delivered(engine: Engine) -> None:
    first = await committed(engine, Put("a:1", b""), Put("b:1", b""), Put("c:1", b""))
    await committed(engine, Put("b:2", b""), Put("a", b""))
    third = await committed(engine, Delete("c:1"), Put("é:1", b""))

    page = await engine.read_changes(after=0, prefixes=("a:", "é:", "c:"))

    assert page.changes == [RecordChange(first, ("a:1",)), RecordChange(third, ("c:1", "é:1"))]
    assert (page.through, page.is_last) == (third, True)


async def test_a_prefix_is_no_pattern(engine: Engine) -> None:
    revision = await committed(engine, Put("a%_b", b""), Put("axxb", b""))

    page = await engine.read_changes(after=0, prefixes=("a%_",))

    assert page.changes == [RecordChange(revision, ("a%_b",))]


async def test_a_follower_passes_many_commits_without_a_wanted_key(engine: Engine) -> None:
    for number in range(3):
        await committed(engine, *(Put(f"other:{number}:{n}", b"") for n in range(1000)))
    last = await committed(engine, Put("wanted:1", b""))

    async with asyncio.timeout(GUARD_SECONDS):
        change = await anext(engine.changes(after=0, prefixes=("wanted:",)))

    assert change == RecordChange(last, ("wanted:1",))


async def test_a_follower_waits_for_the_next_wanted_key(engine: Engine) -> None:
    changes = engine.changes(after=0, prefixes=("wanted:",))
    follower = asyncio.ensure_future(anext(changes))
    await committed(engine, Put("other:1", b""))
    wanted = await committed(engine, Put("wanted:1", b""))

    async with asyncio.timeout(GUARD_SECONDS):
        assert await follower == RecordChange(wanted, ("wanted:1",))
