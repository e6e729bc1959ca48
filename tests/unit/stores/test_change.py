"""The compare-and-set loop: no change is lost, and the attempts are limited."""

import asyncio

import pytest

from tests.probes import ProbingEngine
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import ABSENT, Put
from vskill_platform.errors import NotFound, Overtaken
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores import change as module
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import commit, get_kv

_KEY = "counter"


async def add_one() -> int:
    return await change("the counter", plan_to_add_one)


async def plan_to_add_one() -> PlannedChange[int]:
    found = await get_kv().get(_KEY)
    count = int(found.value) + 1 if found else 1
    expected = found.revision if found else ABSENT
    return PlannedChange(operations=[Put(_KEY, b"%d" % count, expected=expected)], result=count)


async def test_of_many_changes_at_once_none_is_lost(bound: WorkerEnv) -> None:
    results = await asyncio.gather(*(add_one() for _ in range(60)))

    assert sorted(results) == list(range(1, 61))


async def test_changes_of_two_nodes_at_once_are_not_lost(bound: WorkerEnv) -> None:
    other = await open_engine(bound.settings.database_url, clock=bound.clock)
    elsewhere = WorkerEnv(
        engine=other, settings=bound.settings, clock=bound.clock, scan_slots=bound.scan_slots
    )

    results = await asyncio.gather(
        *(add_one() for _ in range(30)),
        *(run_with_worker_env(elsewhere, add_one) for _ in range(30)),
    )

    await other.close()
    assert sorted(results) == list(range(1, 61))


async def test_a_lost_commit_is_planned_again_from_what_is_stored_now(bound: WorkerEnv) -> None:
    calls = 0

    async def plan() -> PlannedChange[int]:
        nonlocal calls
        calls += 1
        planned = await plan_to_add_one()
        if calls == 1:
            await commit([Put(_KEY, b"41")])
        return planned

    result = await change("the counter", plan)

    assert (calls, result) == (2, 42)


async def test_nothing_to_change_commits_nothing(probed: ProbingEngine) -> None:
    async def plan() -> PlannedChange[str]:
        return PlannedChange(result="as it was")

    result = await change("the counter", plan)

    assert result == "as it was"
    assert probed.commits == 0


async def test_an_error_in_the_plan_ends_the_change_at_once(bound: WorkerEnv) -> None:
    calls = 0

    async def plan() -> PlannedChange[None]:
        nonlocal calls
        calls += 1
        raise NotFound("no such counter")

    with pytest.raises(NotFound, match=r"^no such counter$"):
        await change("the counter", plan)
    assert calls == 1


async def test_a_change_that_loses_every_attempt_is_an_error_that_says_so(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_ATTEMPTS", 3)
    calls = 0

    async def plan() -> PlannedChange[int]:
        nonlocal calls
        calls += 1
        planned = await plan_to_add_one()
        await commit([Put(_KEY, b"0")])
        return planned

    with pytest.raises(Overtaken) as error:
        await change("the counter", plan)

    found = await get_kv().get(_KEY)
    assert str(error.value) == "too many concurrent changes to the counter; try again"
    assert calls == 3
    assert found is not None
    assert found.value == b"0"
