"""The queue over the API: correct counts, and its management by operators."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.clocks import ManualClock
from tests.people import a_user
from tests.unit.web.api_cast import Registry, audited, bury_one, open_registry, token_of
from tests.unit.web.pages_cast import put_skill, put_submission
from vskill_platform.access.namespaces import add_owner
from vskill_platform.engines.operations import Acknowledge, Bury, Send
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.background_store import RescanMessage, send_missing
from vskill_platform.stores.db import commit
from vskill_platform.stores.heartbeat_store import Heartbeat, put_heartbeat

REPO = "https://github.com/ada/notes"
QUEUE = "/api/v1/queue"
_S = SubmissionState


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def lost(env: WorkerEnv, *paths: str) -> list[str]:
    """Submit folders whose messages then get lost; return the ids."""
    ids = [(await submit(git_source(REPO, path), submitter="ada")).submission.id for path in paths]
    for delivery in await env.engine.queue.receive(len(ids), lease=env.settings.lease):
        assert await env.engine.commit([Acknowledge(delivery)])
    return ids


async def test_counts_are_of_what_the_caller_may_see(registry: Registry, tmp_path: Path) -> None:
    ada, rae = await token_of(Role.PUBLISHER), await token_of(Role.REVIEWER)
    await add_owner("ada", "ada", actor="test")
    await put_skill(registry.env, tmp_path)
    await put_skill(registry.env, tmp_path, "ada/notes/hushed", is_private=True)
    for state in (_S.REJECTED, _S.TIER1_FAILED, _S.BLOCKED, _S.NEEDS_REVIEW, _S.DEQUEUED):
        await put_submission(registry.env, state)
        await put_submission(registry.env, state, name="hushed", is_private=True)
    await submit(git_source(REPO, "a"), submitter="ada")

    public = await registry.json("/queue/stats")
    same = [await registry.json(path) for path in ("/submissions/stats", "/stats")]
    seen = [await registry.json("/queue/stats", headers=who) for who in (ada, rae)]

    assert {name: public[name] for name in (
        "total", "active", "published", "rejected", "blocked", "onHold", "withdrawn",
        "verifiedSkills", "totalSkillsAll", "pendingReceived", "publishedStrict",
        "rejectedStrict", "ready", "dead", "degraded",
    )} == {
        "total": 8, "active": 1, "published": 2, "rejected": 2, "blocked": 1, "onHold": 1,
        "withdrawn": 1, "verifiedSkills": 1, "totalSkillsAll": 1, "pendingReceived": 1,
        "publishedStrict": 2, "rejectedStrict": 1, "ready": 1, "dead": 0, "degraded": False,
    }  # fmt: skip
    assert all(one["total"] == 8 for one in same)
    assert [(one["total"], one["verifiedSkills"]) for one in seen] == [(13, 2)] * 2
    assert public["generatedAt"]


async def test_health_reports_whether_work_is_completed(
    registry: Registry, clock: ManualClock
) -> None:
    env = registry.env
    (stuck,) = await lost(env, "a")
    private = await put_submission(env, _S.RECEIVED, is_private=True, name="hushed")
    rae = await token_of(Role.REVIEWER)
    fine = await registry.json("/queue/health")
    clock.advance(seconds=env.settings.stuck_threshold.total_seconds() + 1)
    await put_heartbeat(
        Heartbeat(
            node="secret-host", started_at=clock.now(), beat_at=clock.now(), in_flight=0, handled=3
        )
    )
    clock.advance(seconds=2)

    public = await registry.get(f"{QUEUE}/health")
    all_of_it = await registry.json("/queue/health", headers=rae)

    assert (fine["status"], fine["orphanedActive"]["count"]) == ("HEALTHY", 0)
    told = public.json()
    assert (told["status"], told["workers"], told["nodes"]) == ("DEGRADED", 1, None)
    assert (told["orphanedActive"]["count"], told["orphanedActive"]["oldestId"]) == (1, stuck)
    assert told["oldestActive"] == {"id": stuck, "state": "RECEIVED", "ageMs": 303_000}
    assert told["vmHeartbeat"]["ageMs"] == 2_000
    assert told["statsAge"]["ageMs"] is not None
    assert set(told["drainRate"]) == {"last1h", "last6h"}
    assert private.id not in public.text
    assert "secret-host" not in public.text
    assert all_of_it["orphanedActive"]["count"] == 2
    assert [one["node"] for one in all_of_it["nodes"]] == ["secret-host"]


async def test_the_drain_rate_is_of_the_last_hours(registry: Registry, clock: ManualClock) -> None:
    clock.advance(minutes=15)
    for hours in (0.1, 0.5, 3, 5.9, 7):
        at = clock.now() - timedelta(hours=hours)
        await put_submission(registry.env, _S.REJECTED, updated_at=at)

    rate = (await registry.json("/queue/health"))["drainRate"]

    assert rate == {"last1h": 2, "last6h": 4}


async def test_operators_requeue_stuck_submissions(registry: Registry, clock: ManualClock) -> None:
    first, second, third = await lost(registry.env, "a", "b", "c")
    ended = await put_submission(registry.env, _S.REJECTED)
    clock.advance(seconds=registry.env.settings.stuck_threshold.total_seconds())
    ada, rae = await token_of(Role.PUBLISHER), await token_of(Role.REVIEWER, Scope.OPERATE)

    stuck = await registry.json("/queue/stuck", headers=rae)
    refused = await registry.post(f"{QUEUE}/requeue", json={"all": True}, headers=ada)
    unclear = [
        await registry.post(f"{QUEUE}/requeue", json=body, headers=rae)
        for body in ({}, {"all": True, "ids": [first]})
    ]
    some = await registry.post(
        f"{QUEUE}/requeue", json={"ids": [ended.id, first, "sub_0", first]}, headers=rae
    )
    rest = await registry.post(f"{QUEUE}/requeue", json={"all": True}, headers=rae)

    assert stuck["count"] == 3
    assert {one["id"] for one in stuck["stuck"]} == {first, second, third}
    assert stuck["stuck"][0]["stuckForMs"] == 300_000
    assert refused.status_code == 403
    assert [one.status_code for one in unclear] == [400, 400]
    assert some.json()["requeued"] == [first]
    assert [line.partition(":")[0] for line in some.json()["failed"]] == [ended.id, "sub_0"]
    assert set(rest.json()["requeued"]) == {second, third}
    assert {(who, what) for who, what, _ in await audited()} == {("rae", "requeue")}


async def test_the_queue_is_paused_for_a_while_and_resumed(registry: Registry) -> None:
    rae = await token_of(Role.REVIEWER, Scope.OPERATE)

    too_long = await registry.post(
        f"{QUEUE}/pause", json={"ttlSeconds": 86_401, "reason": "x"}, headers=rae
    )
    paused = await registry.post(
        f"{QUEUE}/pause", json={"ttlSeconds": 60, "reason": "upgrade"}, headers=rae
    )
    told = await registry.json("/queue/stats")
    resumed = await registry.ask("DELETE", f"{QUEUE}/pause", headers=rae)
    again = await registry.ask("DELETE", f"{QUEUE}/pause", headers=rae)

    assert too_long.status_code == 400
    assert paused.json()["pausedUntil"] == told["pausedUntil"] == "2026-03-14T12:01:00Z"
    assert resumed.json() == {"pausedUntil": None, "wasPaused": True}
    assert again.json() == {"pausedUntil": None, "wasPaused": False}
    assert await audited() == [("rae", "pause", "queue"), ("rae", "resume", "queue")]


async def test_dead_letters_are_requeued_and_dropped_also_if_nobody_can_read_them(
    registry: Registry,
) -> None:
    env = registry.env
    first = (await submit(git_source(REPO, "a"), submitter="ada")).submission
    requeued = await bury_one(env)
    await submit(git_source(REPO, "b"), submitter="ada")
    dropped = await bury_one(env)
    await env.engine.commit([Send(b"garbage")])
    await bury_one(env)
    rae = await token_of(Role.REVIEWER, Scope.OPERATE)

    page = await registry.json("/queue/dead-letters?limit=2", headers=rae)
    many = await registry.get(f"{QUEUE}/dead-letters?limit=500", headers=rae)
    odd = await registry.get(f"{QUEUE}/dead-letters?cursor=7", headers=rae)
    rest = await registry.json(
        f"/queue/dead-letters?limit=1&cursor={page['nextCursor']}", headers=rae
    )
    done = [
        await registry.post(f"{QUEUE}/dead-letters/{requeued}/revive", headers=rae),
        await registry.ask("DELETE", f"{QUEUE}/dead-letters/{dropped}", headers=rae),
    ]
    missing = await registry.ask("DELETE", f"{QUEUE}/dead-letters/{dropped}", headers=rae)

    letter = page["deadLetters"][0]
    assert (letter["id"], letter["submissionId"], letter["reason"]) == (
        requeued,
        first.id,
        "no net",
    )
    assert [one["submissionId"] for one in rest["deadLetters"]] == [None]
    assert rest["nextCursor"] is None
    assert many.headers["x-limit-clamped"] == "100"
    assert (len(many.json()["deadLetters"]), many.json()["nextCursor"]) == (3, None)
    assert odd.status_code == 400
    assert [one.status_code for one in done] == [200, 200]
    assert missing.status_code == 404
    assert [(who, what) for who, what, _ in await audited()] == [
        ("rae", "dead-letters drop"),
        ("rae", "dead-letters requeue"),
    ]


@pytest.mark.parametrize(
    "path", ["/queue/stats", "/submissions/stats", "/stats", "/queue/health", "/queue/stuck"]
)
async def test_a_response_with_its_time_has_no_etag(registry: Registry, path: str) -> None:
    rae = await token_of(Role.REVIEWER, Scope.OPERATE)

    answer = await registry.get(f"/api/v1{path}", headers=rae)

    assert (answer.status_code, answer.headers.get("etag")) == (200, None)
    assert answer.headers["cache-control"] == "no-store"


async def test_a_token_that_sees_no_private_skills_gets_their_ids_but_not_their_names(
    registry: Registry, tmp_path: Path, clock: ManualClock
) -> None:
    await add_owner("ada", (await a_user(Role.PUBLISHER)).name, actor="test")
    offer = SubmissionRequest(source=git_source(REPO, "hushed"), is_private=True)
    hushed = (await submit(offer, submitter="ada")).submission.id
    (delivery,) = await registry.env.engine.queue.receive(1, lease=registry.env.settings.lease)
    assert await registry.env.engine.commit([Acknowledge(delivery)])
    await put_skill(registry.env, tmp_path, "ada/notes/secret", is_private=True)
    assert await commit(await send_missing([RescanMessage("ada/notes/secret")]))
    (rescan,) = await registry.env.engine.queue.receive(
        1, lease=registry.env.settings.lease, background=True
    )
    assert await registry.env.engine.commit([Bury(rescan, "no net")])
    clock.advance(seconds=registry.env.settings.stuck_threshold.total_seconds())
    less = await token_of(Role.REVIEWER, Scope.OPERATE)
    full = await token_of(Role.REVIEWER, Scope.OPERATE, Scope.READ)

    stuck = [await registry.json("/queue/stuck", headers=who) for who in (less, full)]
    letters = [await registry.json("/queue/dead-letters", headers=who) for who in (less, full)]
    page = await registry.get("/admin/queue", headers={**less, "Accept": "text/html"})

    shown = [
        [(one["id"], one["skillName"], one["repoUrl"]) for one in found["stuck"]] for found in stuck
    ]
    assert shown == [[(hushed, "(private)", "")], [(hushed, "hushed", REPO)]]
    slugs = [[one["slug"] for one in found["deadLetters"]] for found in letters]
    assert slugs == [["(private)"], ["ada/notes/secret"]]
    assert hushed in page.text
    assert "hushed" not in page.text
    assert "ada/notes/secret" not in page.text
