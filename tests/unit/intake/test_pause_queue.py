"""Pausing: always with an end, and with an audit record."""

from datetime import timedelta

import pytest

from tests.clocks import NOON
from vskill_platform.errors import InvalidInput
from vskill_platform.intake.pause_queue import MAX_PAUSE, pause_queue, resume_queue
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import folder_source
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit


async def test_a_paused_queue_delivers_nothing_until_it_is_resumed(bound: WorkerEnv) -> None:
    await submit(folder_source("/skills/x"), submitter="ada")

    until = await pause_queue(timedelta(hours=1), actor="rae", reason="upgrade")
    nothing = await bound.engine.queue.receive(1, lease=bound.settings.lease)
    await resume_queue(actor="rae")
    something = await bound.engine.queue.receive(1, lease=bound.settings.lease)

    assert until == NOON + timedelta(hours=1)
    assert (nothing, len(something)) == ([], 1)
    records = {one.action: one for one in (await list_audit()).records}
    assert records["pause"].reason == "upgrade"
    assert records["pause"].outcome == "until 2026-03-14 13:00 UTC"
    assert {one.actor for one in records.values()} == {"rae"}


async def test_a_pause_is_longer_than_nothing_and_ends_within_a_day(bound: WorkerEnv) -> None:
    for duration in (timedelta(0), timedelta(seconds=-1), MAX_PAUSE + timedelta(seconds=1)):
        with pytest.raises(InvalidInput):
            await pause_queue(duration, actor="rae")
    assert (await list_audit()).records == []


async def test_resuming_a_running_queue_does_nothing_and_is_not_audited(bound: WorkerEnv) -> None:
    await pause_queue(timedelta(hours=1), actor="rae")

    resumed = [await resume_queue(actor="rae") for _ in range(2)]

    assert resumed == [True, False]
    assert [one.action for one in (await list_audit()).records].count("resume") == 1
