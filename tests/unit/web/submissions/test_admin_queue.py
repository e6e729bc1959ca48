"""The queue panel: progress, stuck submissions, dead letters, and pausing."""

from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape
from pathlib import Path

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.rescans import rescan
from tests.unit.web.admin_cast import an_operator
from tests.unit.web.api_cast import Registry, audited, bury_one, open_registry, token_of
from tests.unit.web.pages_cast import put_skill, put_submission
from vskill_platform.cron.schedule import JOBS, RESCAN, run_due_jobs
from vskill_platform.engines.operations import Acknowledge, Put, Send
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.cron_store import CronRun, put_cron_run
from vskill_platform.stores.heartbeat_store import Heartbeat, put_heartbeat
from vskill_platform.stores.node_store import Node, put_node
from vskill_platform.stores.version_store import get_versions

REPO = "https://github.com/ada/notes"
SLUG = "ada/notes/tidy"
_S = SubmissionState


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def lost(env: WorkerEnv, path: str) -> str:
    """Submit something whose message then gets lost; return its id."""
    submission = (await submit(git_source(REPO, path), submitter="ada")).submission
    (delivery,) = await env.engine.queue.receive(1, lease=env.settings.lease)
    assert await env.engine.commit([Acknowledge(delivery)])
    return submission.id


async def test_the_dashboard_counts_everything_and_is_calm_when_all_is_well(
    registry: Registry, clock: ManualClock, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await put_submission(registry.env, _S.REJECTED, is_private=True, name="hushed")
    await put_submission(registry.env, _S.NEEDS_REVIEW, name="doubtful")
    await put_heartbeat(
        Heartbeat(
            node="node-7", started_at=clock.now(), beat_at=clock.now(), in_flight=1, handled=9
        )
    )
    rae = await an_operator(registry, Role.REVIEWER)

    page = await rae.see("/admin")

    assert "No problems" in page
    assert "node-7" in page
    assert "not due yet" in page
    assert ": 1 needs review, 1 failed or rejected</title>" in page  # the private one
    assert "<b>1</b><span>completed in 24 h</span>" in page  # a person has not decided yet
    assert "/admin/people" not in page  # no link that the role does not allow


async def test_the_dashboard_lists_all_nodes_and_warns_if_they_differ(
    registry: Registry, clock: ManualClock
) -> None:
    web = Node(
        node="web-1", started_at=clock.now(), beat_at=clock.now(), roles=("web",), version="1.0",
        rules="aaa", policy="",
    )  # fmt: skip
    await put_node(web)
    await put_node(msgspec.structs.replace(web, node="<b>old</b>", version="0.9", policy="ppp"))
    rae = await an_operator(registry, Role.REVIEWER)

    page = await rae.see("/admin")

    assert "web-1" in page
    assert "<b>old</b>" not in page
    assert "Nodes run different releases: 0.9, 1.0." in page
    assert "Nodes run different policies: none, ppp." in page
    assert "different rules" not in page


async def test_the_dashboard_sounds_an_alarm_for_all_that_is_wrong(
    registry: Registry, clock: ManualClock
) -> None:
    env = registry.env
    await lost(env, "a")
    await submit(git_source(REPO, "b"), submitter="ada")
    await bury_one(env)
    first, second, *_ = JOBS
    failed = CronRun(
        job=first.name, node="node-1", started_at=clock.now(), ended_at=clock.now(),
        outcome="ValueError: <b>broken</b>", is_failure=True,
    )  # fmt: skip
    late = CronRun(job=second.name, node="node-1", started_at=clock.now() - timedelta(days=1))
    for run in (failed, late):
        await put_cron_run(run)
    clock.advance(seconds=env.settings.stuck_threshold.total_seconds())
    rae = await an_operator(registry, Role.REVIEWER)

    page = await rae.see("/admin")

    assert "No worker is running" in page
    assert "stuck" in page
    assert "1 message failed (dead letter)" in page
    assert f"Scheduled job {first.name}: failed: ValueError: &lt;b&gt;broken&lt;/b&gt;" in page
    assert f"Scheduled job {second.name}: is overdue" in page
    assert "No problems" not in page


async def test_work_that_waits_for_the_end_of_a_pause_is_not_an_alarm(
    registry: Registry, clock: ManualClock
) -> None:
    await submit(git_source(REPO, "b"), submitter="ada")
    rae = await an_operator(registry, Role.REVIEWER)
    await rae.act("/admin/queue/pause", duration="1h", reason="upgrade")
    clock.advance(seconds=registry.env.settings.stuck_threshold.total_seconds())

    page = await rae.see("/admin")

    assert "The queue is paused until 13:00 UTC" in page
    assert "submission stands still." not in page
    assert "No problems" not in page


async def test_the_queue_is_paused_and_resumed_with_a_trace(registry: Registry) -> None:
    rae = await an_operator(registry, Role.REVIEWER)

    too_long = await rae.act("/admin/queue/pause", duration="25h", reason="x")
    odd = await rae.act("/admin/queue/pause", duration="soon", reason="x")
    paused = await rae.act("/admin/queue/pause", duration="1h", reason="upgrade")
    page = await rae.see("/admin/queue")
    resumed = await rae.act("/admin/queue/resume")
    again = await rae.act("/admin/queue/resume")

    assert (too_long[0], odd[0]) == ("problem", "problem")
    assert paused == ("done", "The queue is paused until 13:00 UTC.")
    assert "Resume now" in page
    assert resumed == ("done", "The queue is running again.")
    assert again == ("done", "The queue was not paused.")
    assert await audited() == [("rae", "pause", "queue"), ("rae", "resume", "queue")]


async def test_stuck_submissions_are_requeued_one_by_one_or_all(
    registry: Registry, clock: ManualClock
) -> None:
    first, *_ = [await lost(registry.env, path) for path in ("one", "two", "three")]
    clock.advance(seconds=registry.env.settings.stuck_threshold.total_seconds())
    rae = await an_operator(registry, Role.REVIEWER)

    page = await rae.see("/admin/queue")
    one = await rae.act(f"/admin/queue/requeue/{first}")
    missing = await rae.act("/admin/queue/requeue/sub_0")
    rest = await rae.act("/admin/queue/requeue-all")
    none = await rae.act("/admin/queue/requeue-all")

    assert "Requeue all 3" in page
    assert one == ("done", "one was requeued.")
    assert missing == ("problem", "There is no submission 'sub_0'")
    assert rest == ("done", "2 requeued.")
    assert none == ("done", "0 requeued.")
    assert [(who, what) for who, what, _ in await audited()] == [("rae", "requeue")] * 3


async def test_dead_letters_are_requeued_or_dropped(registry: Registry) -> None:
    env = registry.env
    await submit(git_source(REPO, "one"), submitter="ada")
    requeued = await bury_one(env)
    await submit(git_source(REPO, "two"), submitter="ada")
    dropped = await bury_one(env)
    await env.engine.commit([Send(b"garbage")])
    await bury_one(env)
    rae = await an_operator(registry, Role.REVIEWER)

    page = await rae.see("/admin/queue")
    first = await rae.act(f"/admin/dead-letters/{requeued}/requeue")
    second = await rae.act(f"/admin/dead-letters/{dropped}/drop")
    again = await rae.act(f"/admin/dead-letters/{dropped}/drop")

    assert "no net" in page
    assert "(unknown)" in page
    assert first == ("done", "one was requeued.")
    assert second[0] == "done"
    assert again[0] == "problem"
    assert [(who, what) for who, what, _ in await audited()] == [
        ("rae", "dead-letters drop"),
        ("rae", "dead-letters requeue"),
    ]


async def test_a_failed_rescan_is_shown_as_one_and_not_as_a_submission(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    (version,) = await get_versions(SLUG)
    await registry.env.engine.commit([Put(f"blob:{version.archive_sha256}", b"of another skill")])
    rae = await an_operator(registry, Role.ADMIN)
    token = await token_of(Role.ADMIN)

    await rescan(registry.env)
    queue, page = await rae.see("/admin/queue"), await rae.see("/admin/rescan")
    (letter,) = (await registry.json("/queue/dead-letters", headers=token))["deadLetters"]
    stats = await registry.json("/queue/stats")

    assert f'<a href="/skills/{SLUG}">Rescan of {SLUG}</a>' in queue
    assert "Could not be checked" in page
    assert letter["reason"] in unescape(page)
    assert (letter["slug"], letter["submissionId"]) == (SLUG, None)
    assert (stats["ready"], stats["dead"], stats["backgroundReady"]) == (0, 1, 0)


async def test_waiting_rescans_are_not_shown_as_submissions(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    rae = await an_operator(registry, Role.ADMIN)

    await run_due_jobs(registry.env, jobs=(RESCAN,))
    queue, page = await rae.see("/admin/queue"), await rae.see("/admin/rescan")
    stats = await registry.json("/queue/stats")

    assert (stats["ready"], stats["backgroundReady"]) == (0, 1)
    assert "rescans and indexing waiting" in queue
    assert "<dt>Queued</dt><dd>1 message for the workers</dd>" in page
