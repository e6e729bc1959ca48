"""Cached judgements and used tokens: no race exceeds the daily budget."""

import asyncio
from datetime import timedelta

from tests.clocks import NOON, ManualClock
from tests.judges import used_on
from tests.unit.scan.judge.test_combine import a_judgement
from vskill_platform.engines.operations import Put
from vskill_platform.model.judgement import Opinion
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.judge_store import (
    get_judgement,
    judgement_key,
    put_judgement,
    reserve_tokens,
    settle_tokens,
)

TODAY = NOON.date()


async def test_a_race_for_the_last_tokens_never_overspends(bound: WorkerEnv) -> None:
    taken = await asyncio.gather(*(reserve_tokens(300, limit=1000) for _ in range(20)))

    assert sum(reservation is not None for reservation in taken) == 3
    assert (await used_on(TODAY)).tokens == 900


async def test_settling_at_once_forgets_nobody(bound: WorkerEnv) -> None:
    taken = await asyncio.gather(*(reserve_tokens(300, limit=100_000) for _ in range(20)))

    await asyncio.gather(
        *(settle_tokens(item, used=50, cost=0.01) for item in taken if item is not None)
    )

    day = await used_on(TODAY)
    assert (day.tokens, day.calls, day.cost) == (1000, 20, 0.2)


async def test_every_day_has_its_own_budget_by_utc(bound: WorkerEnv, clock: ManualClock) -> None:
    late = await reserve_tokens(900, limit=1000)
    assert await reserve_tokens(900, limit=1000) is None

    clock.advance(hours=12)
    early = await reserve_tokens(900, limit=1000)
    assert late
    await settle_tokens(late, used=10)

    assert early
    assert early.day == TODAY + timedelta(days=1)
    assert (await used_on(TODAY)).tokens == 10
    assert (await used_on(early.day)).tokens == 900


async def test_tokens_beyond_the_estimate_count(bound: WorkerEnv) -> None:
    reservation = await reserve_tokens(100, limit=1000)
    assert reservation

    await settle_tokens(reservation, used=5000)

    assert await reserve_tokens(1, limit=1000) is None


async def test_an_answer_is_found_again_by_its_question(bound: WorkerEnv) -> None:
    key = judgement_key("digest", "rules", "prompt", "model", 1000)
    await put_judgement(key, a_judgement(Opinion.REVIEW))

    found = await get_judgement(key)

    assert found == a_judgement(Opinion.REVIEW, is_cached=True)
    assert await get_judgement(judgement_key("digest", "rules", "prompt", "model", 2000)) is None


def test_no_two_questions_have_one_key() -> None:
    assert judgement_key("a", "bc") != judgement_key("ab", "c")


async def test_a_judgement_of_an_older_release_is_not_used(bound: WorkerEnv) -> None:
    await bound.engine.commit([Put("judge-said:k", b'{"schema": 1, "judgement": {}}')])

    assert await get_judgement("k") is None
