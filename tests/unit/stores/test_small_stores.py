"""Repo health, heartbeats and reports: stored, read and expired."""

from datetime import timedelta

import pytest

from tests.clocks import NOON, ManualClock
from vskill_platform.engines.operations import Put
from vskill_platform.errors import RecordMalformed
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.heartbeat_store import (
    HEARTBEAT_TTL,
    Heartbeat,
    get_heartbeats,
    put_heartbeat,
)
from vskill_platform.stores.repo_health_store import (
    RepoHealth,
    RepoStatus,
    get_repo_health,
    put_repo_health,
)
from vskill_platform.stores.scan_store import get_report


async def test_a_repo_that_nobody_looked_at_is_unknown_and_not_gone(bound: WorkerEnv) -> None:
    health = await get_repo_health("a/b/c")

    assert health.status is RepoStatus.UNKNOWN


async def test_the_health_of_a_repo_is_valid_for_a_day(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    await put_repo_health("a/b/c", RepoHealth(status=RepoStatus.GONE, checked_at=NOON))
    seen = await get_repo_health("a/b/c")

    clock.advance(days=1, seconds=1)
    later = await get_repo_health("a/b/c")

    assert (seen.status, later.status) == (RepoStatus.GONE, RepoStatus.UNKNOWN)


async def test_a_worker_without_heartbeats_is_gone(bound: WorkerEnv, clock: ManualClock) -> None:
    beat = Heartbeat(node="n", started_at=NOON, beat_at=NOON, in_flight=0, handled=0)
    await put_heartbeat(beat)
    alive = await get_heartbeats()

    clock.advance(seconds=HEARTBEAT_TTL.total_seconds())

    assert alive == [beat]
    assert await get_heartbeats() == []


async def test_a_single_record_that_is_malformed_is_an_error_with_its_key(
    bound: WorkerEnv,
) -> None:
    await bound.engine.commit([Put("scan:sub_1", b'{"schema": 2}')])

    with pytest.raises(RecordMalformed, match="scan:sub_1"):
        await get_report("sub_1")


def test_a_heartbeat_outlives_several_missed_beats() -> None:
    assert timedelta(seconds=40) <= HEARTBEAT_TTL
