"""Submissions over the API: submitted by URL, with all their details."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from tests.clocks import NOON, ManualClock
from tests.unit.web.api_cast import Registry, audited, open_registry, token_of
from tests.unit.web.pages_cast import a_finding, put_submission
from vskill_platform.access.namespaces import add_owner
from vskill_platform.engines.operations import Acknowledge
from vskill_platform.intake.submit import submit
from vskill_platform.model.block import source_subject
from vskill_platform.model.source import folder_source, git_source
from vskill_platform.model.submission import StateEvent, SubmissionState
from vskill_platform.model.user import Role, Scope
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.web.submissions.submission_json import stage_timings

_S = SubmissionState
SUBMISSIONS = "/api/v1/submissions"
REPO = "https://github.com/ada/notes"


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def state_of(submission_id: str) -> SubmissionState:
    stored = await get_submission(submission_id)
    assert stored
    return stored.record.state


async def test_a_flag_says_how_a_submission_ended(registry: Registry) -> None:
    body = {"repoUrl": "Ada/Notes", "skillPath": "skills/tidy/SKILL.md", "source": "cli-submit"}
    evil = git_source("https://github.com/eve/evil")
    await block(source_subject(evil), reason="it steals", actor="cyd")

    created = await registry.post(SUBMISSIONS, json=body)
    again = await registry.post(SUBMISSIONS, json={**body, "skillPath": "skills/tidy"})
    blocked = await registry.post(
        SUBMISSIONS, json={"repoUrl": "https://github.com/eve/evil", "skillPath": "x"}
    )
    token = await token_of(Role.REVIEWER)
    submission_id = created.json()["id"]
    await registry.post(
        f"{SUBMISSIONS}/{submission_id}/withdraw", json={"reason": "x"}, headers=token
    )
    requeued = await registry.post(SUBMISSIONS, json=body)

    assert (created.status_code, again.status_code) == (201, 200)
    assert created.json() == {
        "id": submission_id,
        "submissionId": submission_id,
        "state": "RECEIVED",
        "createdAt": NOON.isoformat().replace("+00:00", "Z"),
        "skillName": "tidy",
        "skillPath": "skills/tidy",
        "position": 1,
    }
    assert (again.json()["submissionId"], again.json()["duplicate"]) == (submission_id, True)
    assert (blocked.status_code, blocked.json()["blocked"]) == (200, True)
    assert "it steals" in blocked.json()["reason"]
    assert blocked.json()["submissionId"]
    assert (requeued.status_code, requeued.json()["requeued"]) == (200, True)
    assert requeued.json()["id"] == submission_id


async def test_an_invalid_request_is_refused(registry: Registry) -> None:
    bodies: list[dict[str, object]] = [
        {},
        {"repoUrl": ""},
        {"repoUrl": "/etc"},
        {"repoUrl": "file:///etc/x"},
        {"repoUrl": "https://github.com/ada/notes", "skillPath": "../.."},
        {"repoUrl": "https://github.com/ada/notes", "skillPath": "x", "privacy": "Private"},
        {"repoUrl": "https://github.com/ada/notes", "skillPath": "x", "ref": "--upload-pack=x"},
        {"repoUrl": "https://github.com/ada/notes", "skills": [{"path": "/etc"}]},
        {"repoUrl": "x" * 600, "skillPath": "x"},
    ]

    answers = [await registry.post(SUBMISSIONS, json=body) for body in bodies]
    no_json = await registry.post(SUBMISSIONS, content=b"{")

    assert [answer.status_code for answer in (*answers, no_json)] == [400] * 10
    assert {answer.headers["content-type"] for answer in answers} == {"application/problem+json"}
    assert (await registry.json("/submissions"))["total"] == 0


async def test_several_are_submitted_at_once_and_linked(registry: Registry) -> None:
    body: dict[str, Any] = {
        "repoUrl": REPO,
        "skills": [{"path": "a", "name": "a"}, {"path": "b/SKILL.md"}, {"path": "a/"}],
    }

    answer = await registry.post(SUBMISSIONS, json=body)
    members = await registry.json(f"/submissions?set={answer.json()['setId']}")
    unknown = await registry.json("/submissions?set=set_0")
    again = await registry.post(SUBMISSIONS, json=body)
    partly = await registry.post(
        SUBMISSIONS, json={**body, "skills": [*body["skills"], {"path": "c"}]}
    )

    assert (answer.status_code, again.status_code, partly.status_code) == (201, 200, 201)
    assert all(one["duplicate"] for one in again.json()["submissions"])
    assert {name: answer.json()[name] for name in ("count", "skipped", "repoUrl")} == {
        "count": 2, "skipped": [], "repoUrl": REPO,
    }  # fmt: skip
    assert {one["skillPath"] for one in members["submissions"]} == {"a", "b"}
    assert unknown["total"] == 0


async def test_a_namespace_with_owners_takes_from_them_alone(registry: Registry) -> None:
    ada, ben = await token_of(Role.PUBLISHER), await token_of(Role.READER)
    reading = await token_of(Role.PUBLISHER, Scope.READ)
    body = {"repoUrl": REPO, "skillPath": "x", "privacy": "private"}

    unowned = await registry.post(SUBMISSIONS, json=body, headers=ada)
    await add_owner("ada", "ada", actor="test")
    nobody = await registry.post(SUBMISSIONS, json=body)
    another = await registry.post(SUBMISSIONS, json=body, headers=ben)
    only_reads = await registry.post(SUBMISSIONS, json=body, headers=reading)
    owner = await registry.post(SUBMISSIONS, json=body, headers=ada)
    path = f"/submissions/{owner.json()['id']}"

    assert [one.status_code for one in (unowned, nobody, another, only_reads)] == [403] * 4
    assert only_reads.json()["code"] == "right_missing"
    assert owner.status_code == 201
    assert (await registry.json(path, headers=ada))["isPrivate"] is True
    assert (await registry.get(f"/api/v1{path}", headers=ben)).status_code == 404


async def test_lists_are_filtered_sorted_and_read_page_by_page(
    registry: Registry, clock: ManualClock
) -> None:
    env = registry.env
    for name in ("one", "two", "three"):
        clock.advance(minutes=1)
        await put_submission(env, _S.REJECTED, name=name)
    waiting = (await submit(folder_source("/srv/den/x"), submitter="ben")).submission
    ben = await token_of(Role.READER)

    first = await registry.json("/submissions?limit=3")
    rest = await registry.json(f"/submissions?limit=3&cursor={first['nextCursor']}")
    by_offset = await registry.json("/submissions?limit=3&cursor=Mw")  # of an earlier release
    other_sort = await registry.get(f"{SUBMISSIONS}?sort=oldest&cursor={first['nextCursor']}")
    rejected = await registry.json("/submissions?state=REJECTED&state=BLOCKED&sort=name")
    found = await registry.json("/submissions/search?q=thre")
    mine = await registry.json("/submissions?mine=true", headers=ben)
    nobodys = await registry.get(f"{SUBMISSIONS}?mine=1")
    clamped = await registry.get(f"{SUBMISSIONS}?limit=500")
    odd = await registry.get(f"{SUBMISSIONS}?state=GONE")

    assert (first["total"], len(first["submissions"]), len(rest["submissions"])) == (4, 3, 1)
    assert rest["nextCursor"] is None
    assert by_offset["submissions"] == rest["submissions"]
    assert (other_sort.status_code, "sorted by newest" in other_sort.text) == (400, True)
    assert first["queuePositions"] | rest["queuePositions"] == {waiting.id: 1}
    assert [one["skillName"] for one in rejected["submissions"]] == ["one", "three", "two"]
    assert [one["skillName"] for one in found["submissions"]] == ["three"]
    (own,) = mine["submissions"]
    assert (own["id"], own["repoUrl"], own["publishedSkillName"]) == (waiting.id, "", None)
    assert (nobodys.status_code, odd.status_code) == (401, 400)
    assert clamped.headers["x-limit-clamped"] == "100"


async def test_queued_submissions_have_their_position_in_the_queue(registry: Registry) -> None:
    first = (await submit(git_source(REPO, "a"), submitter="ada")).submission
    second = (await submit(git_source(REPO, "b"), submitter="ada")).submission
    ended = await put_submission(registry.env, _S.REJECTED)

    ids = f"{second.id},{ended.id},{first.id},sub_0,{first.id}"
    answer = await registry.json(f"/submissions/positions?ids={ids}")
    nothing = await registry.get(f"{SUBMISSIONS}/positions")
    too_many = await registry.get(
        f"{SUBMISSIONS}/positions", params={"ids": ",".join(map(str, range(101)))}
    )

    assert answer == {"positions": {first.id: 1, second.id: 2}, "total": 2}
    assert (nothing.status_code, too_many.status_code) == (400, 400)


async def test_a_submission_is_shown_with_its_history_and_what_was_found(
    registry: Registry,
) -> None:
    finding = a_finding(message="The key AKIAQ3EGRIFGTPLANTZO is in it.")
    failed = await put_submission(registry.env, _S.TIER1_FAILED, findings=(finding,))
    blocked = await put_submission(registry.env, _S.BLOCKED, reason="blocked: it steals")
    local = (await submit(folder_source("/srv/den"), submitter="ada")).submission

    shown = await registry.json(f"/submissions/{failed.id}")
    held = await registry.json(f"/submissions/{blocked.id}")
    waiting = await registry.json(f"/submissions/{local.id}")
    missing = await registry.get(f"{SUBMISSIONS}/sub_0")

    assert [shown[name] for name in ("id", "state", "repoUrl", "skillName", "skillPath")] == [
        failed.id, "TIER1_FAILED", REPO, "tidy", "",
    ]  # fmt: skip
    assert shown["publishedSkillName"] is None
    assert shown["scanResult"]["findings"][0]["rule"] == finding.rule
    assert "AKIAQ3EGRIFGTPLANTZO" not in str(shown)
    assert shown["stateHistory"][0]["toState"] == "TIER1_FAILED"
    assert shown["stageTimings"]["rejectedAt"] == shown["stageTimings"]["tier1FailedAt"]
    assert (shown["mayRetry"], shown["mayWithdraw"], shown["blockInfo"]) == (True, False, None)
    assert held["blockInfo"]["reason"] == "blocked: it steals"
    assert (waiting["position"], waiting["repoUrl"], waiting["scanResult"]) == (1, "", None)
    assert "/srv/den" not in str(waiting)
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


async def test_an_ended_one_is_tried_again_and_one_on_its_way_is_not(registry: Registry) -> None:
    submission = (await submit(git_source(REPO, "a"), submitter="ada")).submission
    (delivery,) = await registry.env.engine.queue.receive(1, lease=registry.env.settings.lease)
    await registry.env.engine.commit([Acknowledge(delivery)])
    path = f"{SUBMISSIONS}/{submission.id}"
    ada = await token_of(Role.PUBLISHER)

    too_early = await registry.post(f"{path}/retry")
    unsaid = await registry.post(f"{path}/withdraw", json={"reason": ""}, headers=ada)
    withdrawn = await registry.post(f"{path}/withdraw", json={"reason": "oops"}, headers=ada)
    twice = await registry.post(f"{path}/withdraw", json={"reason": "oops"}, headers=ada)
    retried = await registry.post(f"{path}/retry")
    missing = await registry.post(f"{SUBMISSIONS}/sub_0/retry")

    assert (too_early.status_code, too_early.json()["code"]) == (409, "wrong_state")
    assert (unsaid.status_code, twice.status_code, missing.status_code) == (400, 409, 404)
    assert (withdrawn.json()["state"], withdrawn.json()["mayRetry"]) == ("DEQUEUED", True)
    assert (retried.json()["state"], retried.json()["position"]) == ("RECEIVED", 1)
    assert await audited() == [("ada", "withdraw", submission.id)]


async def test_submitters_owners_and_operators_may_withdraw(registry: Registry) -> None:
    """Who sent it in, as long as nobody owns the namespace; its owners; operators."""
    ada, ben = await token_of(Role.PUBLISHER), await token_of(Role.READER)
    rae = await token_of(Role.REVIEWER)
    own = (await submit(git_source(REPO, "own"), submitter="ada")).submission
    nobodys = (await submit(git_source(REPO, "anon"), submitter="anonymous@127.0.0.x")).submission
    body = {"reason": "wrong"}

    async def withdraw(one: str, who: dict[str, str]) -> int:
        answer = await registry.post(f"{SUBMISSIONS}/{one}/withdraw", json=body, headers=who)
        return answer.status_code

    assert await withdraw(own.id, ben) == 403
    assert await withdraw(nobodys.id, {}) == 403
    assert await withdraw(nobodys.id, ada) == 403
    await add_owner("ada", "ben", actor="test")
    assert (await registry.json(f"/submissions/{own.id}", headers=ada))["mayWithdraw"] is False
    assert await withdraw(own.id, ada) == 403
    assert await withdraw(own.id, ben) == 200
    assert await withdraw(nobodys.id, rae) == 200
    assert await state_of(nobodys.id) is _S.DEQUEUED


async def test_a_private_one_is_not_there_for_others(registry: Registry) -> None:
    ada, ben = await token_of(Role.PUBLISHER), await token_of(Role.READER)
    await add_owner("ada", "ada", actor="test")
    hidden = await put_submission(registry.env, _S.REJECTED, name="hushed", is_private=True)
    unseeing = await token_of(Role.PUBLISHER, Scope.SUBMIT)
    paths = [f"{SUBMISSIONS}/{hidden.id}", f"{SUBMISSIONS}/{hidden.id}/retry"]

    seen = await registry.json("/submissions", headers=ada)
    unseen = [await registry.json("/submissions", headers=who) for who in ({}, ben, unseeing)]
    asked = [await registry.get(paths[0], headers=who) for who in ({}, ben, unseeing)]
    retried = [await registry.post(paths[1], headers=who) for who in ({}, ben)]

    assert (seen["total"], seen["submissions"][0]["isPrivate"]) == (1, True)
    assert [answer["total"] for answer in unseen] == [0, 0, 0]
    assert {answer.status_code for answer in (*asked, *retried)} == {404}


def a_history(*moves: tuple[SubmissionState, int]) -> list[StateEvent]:
    return [
        StateEvent(
            submission_id="sub_1", number=number, from_state=None, to_state=state,
            trigger="pipeline", actor="node-1", reason="", at=NOON + timedelta(seconds=seconds),
        )
        for number, (state, seconds) in enumerate(moves)
    ]  # fmt: skip


def test_timings_are_named_as_clients_read_them_and_never_negative() -> None:
    history = a_history(
        (_S.RECEIVED, 0), (_S.TIER1_SCANNING, 2), (_S.TIER2_SCANNING, 5), (_S.AUTO_APPROVED, 9),
        (_S.RECEIVED, 8), (_S.TIER1_SCANNING, 10), (_S.AUTO_APPROVED, 11), (_S.PUBLISHED, 12),
    )  # fmt: skip

    timings = stage_timings(history)

    assert {name: value for name, value in timings.items() if not name.endswith("At")} == {
        "msInReceived": 4000, "msInTier1Scanning": 4000, "msInTier2Scanning": 4000,
        "msInAutoApproved": 1000, "msInScanning": 8000, "totalMs": 12000,
    }  # fmt: skip
    assert timings["publishedAt"] == NOON + timedelta(seconds=12)
    assert timings["tier1ScanningAt"] == NOON + timedelta(seconds=10)
    assert stage_timings([]) == {}


def test_time_spent_in_a_final_state_is_not_processing_time() -> None:
    first = [(_S.RECEIVED, 0), (_S.TIER1_SCANNING, 2), (_S.TIER1_FAILED, 5)]
    second = [(_S.RECEIVED, 5000), (_S.TIER1_SCANNING, 5001), (_S.PUBLISHED, 5003)]

    anew = stage_timings(a_history(*first, *second[:2]))
    done = stage_timings(a_history(*first, *second))
    blocked = stage_timings(a_history(*first, *second, (_S.BLOCKED, 9000)))

    assert (anew["totalMs"], anew["msInReceived"]) == (1000, 1000)
    assert "msInTier1Failed" not in anew
    assert anew["rejectedAt"] == NOON + timedelta(seconds=5)
    assert (done["totalMs"], blocked["totalMs"]) == (3000, 3000)
    assert blocked["msInScanning"] == 2000
