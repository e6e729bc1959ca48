"""Records that expire: gone to every reader at their moment, removed by a prune."""

from datetime import timedelta

import pytest

from tests.clocks import NOON, ManualClock
from tests.contracts.asking import list_all, value_of
from vskill_platform.engines.operations import ABSENT, Delete, Put
from vskill_platform.engines.ports import Engine

IN_AN_HOUR = NOON + timedelta(hours=1)


async def test_a_record_is_there_until_it_expires_and_not_a_moment_longer(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Put("token:1", b"secret", expires_at=IN_AN_HOUR)])

    clock.advance(hours=1, microseconds=-1)
    assert await value_of(engine, "token:1") == b"secret"

    clock.advance(microseconds=1)
    assert await engine.kv.get("token:1") is None


async def test_an_expired_record_is_in_no_listing(engine: Engine, clock: ManualClock) -> None:
    await engine.commit(
        [
            Put("a:lasting", b""),
            Put("b:expiring", b"", expires_at=IN_AN_HOUR),
            Put("c:expiring and due", b"", expires_at=IN_AN_HOUR, due=NOON),
            Put("d:lasting and due", b"", due=NOON),
        ]
    )

    clock.advance(hours=1)

    lasting = ["a:lasting", "d:lasting and due"]
    assert await list_all(engine) == lasting
    assert await list_all(engine, newest_first=True) == lasting[::-1]
    assert await list_all(engine, due_before=clock.now()) == lasting


async def test_a_page_is_full_even_when_expired_records_lie_between(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit(
        [Put(f"k{n}", b"", expires_at=IN_AN_HOUR if n % 2 else None) for n in range(8)]
    )

    clock.advance(hours=1)
    page = await engine.kv.list_keys("k", limit=3)

    assert page.keys == ["k0", "k2", "k4"]
    assert (await engine.kv.list_keys("k", after=page.cursor)).keys == ["k6"]


async def test_an_expired_record_counts_as_absent(engine: Engine, clock: ManualClock) -> None:
    seen = await engine.commit([Put("lock:1", b"mine", expires_at=IN_AN_HOUR)])
    assert await engine.commit([Put("lock:1", b"yours", expected=ABSENT)]) is None

    clock.advance(hours=1)

    assert await engine.commit([Put("lock:1", b"late", expected=seen)]) is None
    assert await engine.commit([Delete("lock:1", expected=seen)]) is None
    assert await engine.commit([Put("lock:1", b"yours", expected=ABSENT)])
    assert await value_of(engine, "lock:1") == b"yours"


async def test_a_put_without_expiry_makes_a_record_last(engine: Engine, clock: ManualClock) -> None:
    await engine.commit([Put("token:1", b"short", expires_at=IN_AN_HOUR)])
    await engine.commit([Put("token:1", b"long")])

    clock.advance(days=1)

    assert await value_of(engine, "token:1") == b"long"


async def test_a_prune_removes_what_has_expired_and_counts_it(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Put("a", b""), Put("b", b"", expires_at=NOON + timedelta(days=1))])
    await engine.commit([Put(f"x{n}", b"", expires_at=IN_AN_HOUR) for n in range(1200)])
    assert await engine.prune(deleted_before=NOON) == 0

    clock.advance(hours=1)

    assert await engine.prune(deleted_before=NOON) == 1200
    assert await engine.prune(deleted_before=NOON) == 0
    assert await list_all(engine) == ["a", "b"]


async def test_a_prune_spares_an_expired_record_that_was_put_again(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Put("token:1", b"old", expires_at=IN_AN_HOUR)])
    clock.advance(hours=1)
    await engine.commit([Put("token:1", b"new", expires_at=clock.now() + timedelta(hours=1))])

    assert await engine.prune(deleted_before=NOON) == 0
    assert await value_of(engine, "token:1") == b"new"


@pytest.mark.parametrize("seconds", [0, -1])
async def test_a_record_may_be_born_expired(
    engine: Engine, clock: ManualClock, seconds: int
) -> None:
    expires_at = clock.now() + timedelta(seconds=seconds)

    assert await engine.commit([Put("token:1", b"", expires_at=expires_at)])
    assert await engine.kv.get("token:1") is None
