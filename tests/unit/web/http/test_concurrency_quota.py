"""Limits on concurrent use: for each visitor, and in total."""

import asyncio
import contextlib
from datetime import timedelta

import pytest

from vskill_platform.errors import TooMany
from vskill_platform.model.rights import Visitor
from vskill_platform.web.http.concurrency_quota import ConcurrencyQuota
from vskill_platform.web.http.rate_limits import quota_key


def some(in_all: int, each: int) -> ConcurrencyQuota:
    return ConcurrencyQuota(
        in_all=in_all, each=each, what="looking", retry_after=timedelta(seconds=5)
    )


def test_one_visitor_gets_a_share_and_others_theirs() -> None:
    shares = some(in_all=3, each=2)
    with shares.held_by("ada"), shares.held_by("ada"):
        with pytest.raises(TooMany, match="2 at a time"):
            shares.take("ada")
        with (
            shares.held_by("ben"),
            pytest.raises(TooMany, match="too many at the moment") as refused,
        ):
            shares.take("cyd")

    assert refused.value.retry_after == timedelta(seconds=5)
    assert shares.count == 0


def test_a_few_visitors_cannot_hold_all_of_it() -> None:
    quota = some(in_all=100, each=10)

    for number in range(10):
        with contextlib.suppress(TooMany):
            while True:
                quota.take(f"address 192.0.2.{number}")

    assert quota.count == 80
    with quota.held_by("ada"), quota.held_by("ada"), quota.held_by("ada"):
        assert quota.count == 83


def test_every_slot_is_used_if_there_are_enough_visitors() -> None:
    quota = some(in_all=100, each=10)

    for number in range(100):
        quota.take(f"address {number}")

    assert quota.count == 100


def test_a_visitor_who_may_use_everything_can_do_so() -> None:
    quota = some(in_all=4, each=4)

    for _ in range(4):
        quota.take("provider")

    with pytest.raises(TooMany):
        quota.take("provider")


def test_a_released_slot_is_free_for_others_and_no_visitor_is_stored() -> None:
    shares = some(in_all=1, each=1)
    for name in ("ada", "ben", "ada"):
        with shares.held_by(name):
            assert shares.count == 1

    assert shares.count == 0
    assert not shares._held


async def test_a_cancelled_wait_leaves_its_place_to_the_next() -> None:
    quota = ConcurrencyQuota(
        in_all=1,
        each=1,
        what="looking",
        retry_after=timedelta(seconds=5),
        patience=timedelta(minutes=1),
    )
    served: list[str] = []

    async def use(who: str) -> None:
        async with quota.held_in_turn(who):
            served.append(who)

    with quota.held_by("ada"):
        waiting = [asyncio.create_task(use(who)) for who in ("ben", "cyd", "dan")]
        while len(quota._waiting) < len(waiting):
            await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.wait([waiting[0]])
    waiting[1].cancel()  # its turn has come, and it does not know yet
    await asyncio.wait(waiting)

    assert served == ["dan"]
    assert quota.count == 0
    assert not quota._waiting


def test_a_household_is_one_holder() -> None:
    holders = {
        quota_key(Visitor(address=address)) for address in ("2001:db8:1:2::1", "2001:db8:1:2::9")
    }

    assert len(holders) == 1
