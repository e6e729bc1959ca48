"""Nodes report themselves, and only those with the newest rules rescan."""

import asyncio
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest

from tests.clocks import NOON, ManualClock
from vskill_platform import __version__
from vskill_platform.cron.nodes import beat, find_differences, sweep_if_due
from vskill_platform.cron.schedule import CronJob, run_due_jobs
from vskill_platform.engines.ports import Engine
from vskill_platform.model.policy import digest_of
from vskill_platform.publish.rescans.newest_rules import has_newest_rules
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.scan.facts.data_files import ruleset_version
from vskill_platform.stores.node_store import Node, get_nodes, put_node


def a_node(
    name: str = "other",
    *,
    version: str = __version__,
    rules: str | None = None,
    policy: str = "",
    started_at_hour: int = 12,
) -> Node:
    return Node(
        node=name,
        started_at=NOON.replace(hour=started_at_hour),
        beat_at=NOON,
        roles=("worker",),
        version=version,
        rules=ruleset_version() if rules is None else rules,
        policy=policy,
    )


async def _started(engine: Engine) -> None:
    async for _change in engine.changes(after=0):
        return


async def test_a_node_reports_what_it_runs_and_is_removed_when_it_stops(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    beating = asyncio.create_task(beat(bound, ["web", "cron"]))
    await _started(bound.engine)
    beating.cancel()

    (node,) = await get_nodes()
    clock.advance(minutes=1)

    assert (node.node, node.roles) == (bound.settings.node, ("web", "cron"))
    assert (node.version, node.rules) == (__version__, ruleset_version())
    assert node.policy == digest_of(bound.policy)
    assert await get_nodes() == []


@pytest.mark.parametrize(
    ("other", "is_newest"),
    [
        (a_node(), True),
        (a_node(version="0.0.1", rules="old"), True),
        (a_node(version="999.0", rules="new"), False),
        (a_node(policy="older", started_at_hour=10), True),
        (a_node(policy="newer", started_at_hour=13), False),
    ],
)
async def test_a_newer_release_or_a_later_start_has_the_newest_rules(
    bound: WorkerEnv, other: Node, is_newest: bool
) -> None:
    await put_node(a_node(bound.settings.node))
    await put_node(other)

    assert await has_newest_rules() is is_newest


async def test_a_command_beside_running_nodes_has_the_newest_rules_of_its_release(
    bound: WorkerEnv,
) -> None:
    alone = await has_newest_rules()
    await put_node(a_node(policy="another"))
    beside = await has_newest_rules()
    await put_node(a_node("newer", version="999.0"))

    assert (alone, beside, await has_newest_rules()) == (True, True, False)


async def test_an_older_node_leaves_the_rescan_to_the_newest_one_at_once(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    async def done() -> str:
        return "done"

    job = CronJob(
        "rescan", timedelta(minutes=10), timedelta(minutes=1), done, needs_newest_rules=True
    )
    await put_node(a_node(version="999.0"))
    left_alone = await run_due_jobs(bound, jobs=(job,))
    clock.advance(minutes=1)  # the newer node is gone

    taken_over = await run_due_jobs(bound, jobs=(job,))

    assert left_alone == []
    assert [run.outcome for run in taken_over] == ["done"]


def test_differences_between_nodes_are_named() -> None:
    same = [a_node("a"), a_node("b")]
    different = [a_node("a"), a_node("b", version="0.1", rules="r", policy="p")]

    found = find_differences(different)

    assert find_differences(same) == []
    assert find_differences([]) == []
    assert [sentence.partition(":")[0] for sentence in found] == [
        "Nodes run different releases",
        "Nodes run different rules",
        "Nodes run different policies",
    ]
    assert "none, p" in found[2]


async def test_each_node_sweeps_its_own_folders_every_hour(
    bound: WorkerEnv, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned = tmp_path / "vskill-work-of-a-killed-process"
    abandoned.mkdir()

    first = await sweep_if_due(bound, clock.now())
    is_left = abandoned.exists()
    clock.advance(hours=1)
    second = await sweep_if_due(bound, first)

    assert (is_left, abandoned.exists()) == (True, False)
    assert second - first == timedelta(hours=1)
