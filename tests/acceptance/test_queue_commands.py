"""The operator's queue commands: pause, resume, stuck, tick and config."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.program import Platform
from tests.acceptance.records import ago, read_statuses, submit_folders
from tests.casts import a_skill_folder
from vskill_platform.cron.schedule import JOBS
from vskill_platform.stores.db import get_queue


async def test_a_paused_queue_hands_out_nothing(platform: Platform, tmp_path: Path) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path))

    paused = platform.run("pause", "--for", "10m")
    platform.run("work", "--drain")

    assert paused.code == 0
    assert paused.out.startswith("Paused until 20")
    (status,) = await read_statuses(platform, submission_id)
    assert status.steps == ["submit RECEIVED"]


@pytest.mark.torture
async def test_a_waiting_worker_goes_on_when_the_pause_is_ended(
    platform: Platform, tmp_path: Path
) -> None:
    await platform.inside(lambda: get_queue().pause(timedelta(minutes=10)))
    worker = platform.start("work")
    watcher = platform.start("submit", a_skill_folder(tmp_path), "--watch")
    watcher.wait_for("RECEIVED submitted")

    resumed = platform.run("resume")

    assert resumed.out == "The queue is running again.\n"
    assert platform.run("resume").out == "The queue was not paused.\n"
    assert watcher.wait() == 0
    assert worker.end() == 0


async def test_a_pause_that_nobody_ends_ends_by_itself(platform: Platform, tmp_path: Path) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=1))
    await platform.inside(lambda: get_queue().pause(timedelta(minutes=59)), clock=ago(hours=1))

    platform.run("work", "--drain")

    (status,) = await read_statuses(platform, submission_id)
    assert status.steps[-1] == "publish PUBLISHED"


async def test_the_queue_is_tab_separated_in_a_pipe(platform: Platform) -> None:
    async with platform.env():
        pass

    lines = platform.run("queue").out.splitlines()

    assert all(line.count("\t") == 1 for line in lines)
    assert dict(line.split("\t") for line in lines)["queued"] == "0"


async def test_a_pause_as_json_has_its_end(platform: Platform) -> None:
    async with platform.env():
        pass

    paused = msgspec.json.decode(platform.run("pause", "--for", "10m", "--json").out)
    resumed = msgspec.json.decode(platform.run("resume", "--json").out)

    until = datetime.fromisoformat(paused["paused_until"])
    assert timedelta(minutes=9) < until - datetime.now(UTC) < timedelta(minutes=11)
    assert resumed == {"paused_until": None, "was_paused": True}


async def test_stuck_lists_stuck_submissions(platform: Platform, tmp_path: Path) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=1))

    shown = platform.run("stuck")
    (listed,) = msgspec.json.decode(platform.run("stuck", "--json").out)

    assert submission_id in shown.out
    assert "1h" in shown.out
    assert (listed["id"], listed["state"]) == (submission_id, "RECEIVED")


async def test_nothing_is_stuck_once_a_worker_came(platform: Platform, tmp_path: Path) -> None:
    await submit_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=1))
    platform.run("work", "--drain")

    shown = platform.run("stuck")

    assert shown.err == "Nothing is stuck.\n"


async def test_tick_runs_what_is_due_and_only_once(platform: Platform) -> None:
    async with platform.env():
        pass

    first = platform.run("tick", "--json")
    second = platform.run("tick")

    jobs = {run["job"] for run in msgspec.json.decode(first.out)}
    assert jobs == {job.name for job in JOBS}
    assert (first.code, second.code) == (0, 0)
    assert second.out == "Nothing is due.\n"


async def test_tick_leaves_alone_what_only_waits_for_a_worker(
    platform: Platform, tmp_path: Path
) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=1))

    ticked = platform.run("tick")

    assert "recover-stuck: 1 stuck, 1 still queued, 0 requeued" in ticked.out
    (status,) = await read_statuses(platform, submission_id)
    assert status.steps == ["submit RECEIVED"]


def test_config_shows_every_value_and_where_it_came_from(platform: Platform) -> None:
    shown = platform.run("config", lease="1m30s")
    listed = msgspec.json.decode(platform.run("config", "--json", lease="1m30s").out)

    rows = {row["variable"]: (row["value"], row["from"]) for row in listed}
    assert rows["VSKILL_LEASE"] == ("1m30s", "environment")
    assert rows["VSKILL_PORT"] == ("8000", "default")
    assert str(platform.database) in shown.out
    assert all(name in shown.out for name in rows)


def test_config_needs_no_database(platform: Platform) -> None:
    shown = platform.run("config")

    assert shown.code == 0
    assert not platform.database.exists()
