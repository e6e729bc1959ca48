"""Install counts: each install counts, also concurrent ones."""

import asyncio
from datetime import timedelta
from functools import partial

from tests.clocks import NOON, ManualClock
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.install_store import (
    KEPT_DAYS,
    InstallCounts,
    add_installs,
    get_installs,
    read_installs,
    slug_of_installs_key,
)


async def test_installs_are_counted_in_all_and_by_day(bound: WorkerEnv, clock: ManualClock) -> None:
    await add_installs({"a/b/c": ["ada", "ben"], "a/b/d": ["ada"], "a/b/e": []})
    clock.advance(days=1)
    await add_installs({"a/b/c": ["ada", "ben", "cyd"]})

    counts = await get_installs("a/b/c")
    today = NOON.date() + timedelta(days=1)
    assert (counts.total, counts.days) == (5, {NOON.date(): 2, today: 3})
    assert (counts.since(today), counts.since(NOON.date())) == (3, 5)
    assert await get_installs("a/b/e") == InstallCounts()
    assert {slug: found.total for slug, found in (await read_installs(["a/b/d", "x"])).items()} == {
        "a/b/d": 1
    }


async def test_old_days_are_part_of_the_total_only(bound: WorkerEnv, clock: ManualClock) -> None:
    for _ in range(3):
        await add_installs({"a/b/c": ["ada"]})
        clock.advance(days=KEPT_DAYS - 1)

    counts = await get_installs("a/b/c")
    assert counts.total == 3
    assert len(counts.days) == 2


async def test_many_nodes_count_a_visitor_once_and_every_visitor(bound: WorkerEnv) -> None:
    other = await open_engine(bound.settings.database_url, clock=bound.clock)
    elsewhere = WorkerEnv(
        engine=other, settings=bound.settings, clock=bound.clock, scan_slots=bound.scan_slots
    )
    visitors = [f"visitor {number}" for number in range(60)]
    counting = [add_installs({"a/b/c": [who]}) for who in visitors]
    counting += [
        run_with_worker_env(elsewhere, partial(add_installs, {"a/b/c": [who, f"other {who}"]}))
        for who in visitors
    ]

    await asyncio.gather(*counting)

    assert (await get_installs("a/b/c")).total == 120
    await other.close()


def test_a_key_says_whose_installs_it_holds() -> None:
    assert slug_of_installs_key("installs:@ada/notes") == "@ada/notes"
    assert slug_of_installs_key("skill:@ada/notes") is None


async def test_keys_that_distinguish_visitors_expire_with_the_day(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    await add_installs({"a/b/c": ["ada"]})
    page = await bound.engine.kv.list_keys("install-")

    clock.advance(days=1)
    left = await bound.engine.kv.list_keys("install-")

    assert [key.partition(":")[0] for key in page.keys] == ["install-key", "install-mark"]
    assert not any("ada" in key for key in page.keys)
    assert left.keys == []
