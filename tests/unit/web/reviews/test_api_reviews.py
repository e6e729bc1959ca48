"""Reviews, policy and rescan over the API."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.clocks import ManualClock
from tests.rescans import rescan
from tests.unit.web.api_cast import Registry, audited, open_registry, put_review, token_of
from tests.unit.web.pages_cast import put_skill
from vskill_platform.cron.schedule import RESCAN
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.cron_store import CronRun, get_cron_run, put_cron_run
from vskill_platform.stores.submission_store import get_submission

REVIEWS, POLICY, RESCANS = "/api/v1/reviews", "/api/v1/policy", "/api/v1/rescan"

pytestmark = pytest.mark.usefixtures("one_loop")


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def test_pending_reviews_are_listed_shown_and_decided(
    registry: Registry, clock: ManualClock, tmp_path: Path
) -> None:
    kept = await put_review(tmp_path, "keep-notes")
    clock.advance(hours=1)
    dropped = await put_review(tmp_path, "drop-notes", updated_at=clock.now())
    again = await put_review(tmp_path, "again-notes", updated_at=clock.now())
    rae, ada = await token_of(Role.REVIEWER, Scope.REVIEW), await token_of(Role.PUBLISHER)
    said = {"reason": "I know that host"}

    async def rule(
        submission_id: str, ruling: str, body: dict[str, str] = said, seen: str = kept.digest or ""
    ) -> tuple[int, str]:
        path = f"{REVIEWS}/{submission_id}/{ruling}"
        answer = await registry.post(path, json={"digest": seen, **body}, headers=rae)
        found = answer.json()
        return answer.status_code, found.get("state") or found["code"]

    refused = await registry.get(REVIEWS, headers=ada)
    listed = await registry.json("/reviews", headers=rae)
    shown = await registry.json(f"/reviews/{kept.id}", headers=rae)
    missing = await registry.get(f"{REVIEWS}/sub_0", headers=rae)

    assert refused.status_code == 403
    assert listed["reviews"][0]["id"] == kept.id
    assert (listed["count"], listed["reviews"][0]["since"]) == (3, "2026-03-14T12:00:00Z")
    assert listed["reviews"][0]["rule"] == "SKR-RUN-004"
    assert shown["report"]["verdict"] == "review"
    assert [file["path"] for file in shown["files"]] == ["SKILL.md", "run.sh"]
    assert missing.status_code == 404
    assert await rule(kept.id, "approve", {"reason": ""}) == (400, "invalid_input")
    assert (await rule(kept.id, "bless"))[0] in {400, 404}
    assert await rule(kept.id, "approve") == (200, "PUBLISHED")
    assert await rule(kept.id, "approve") == (409, "wrong_state")
    assert await rule(dropped.id, "reject", seen=dropped.digest or "") == (200, "REJECTED")
    assert await rule(again.id, "recheck") == (200, "RECEIVED")
    assert await rule("sub_0", "reject") == (404, "not_found")
    assert [(who, what) for who, what, _ in await audited()] == [
        ("rae", "reviews approve"),
        ("rae", "reviews recheck"),
        ("rae", "reviews reject"),
    ]


async def test_a_ruling_over_the_api_names_what_was_looked_at(
    registry: Registry, tmp_path: Path
) -> None:
    waiting = await put_review(tmp_path)
    rae = await token_of(Role.REVIEWER, Scope.REVIEW)
    shown = await registry.json(f"/reviews/{waiting.id}", headers=rae)

    async def rule(ruling: str, **said: str) -> tuple[int, str]:
        path = f"{REVIEWS}/{waiting.id}/{ruling}"
        answer = await registry.post(path, json={"reason": "fine", **said}, headers=rae)
        return answer.status_code, answer.json().get("code", "")

    for ruling in ("approve", "reject"):
        assert await rule(ruling) == (400, "invalid_input")
        assert await rule(ruling, digest="0" * 64) == (409, "changed_since_seen")
        assert await rule(ruling, digest="") == (409, "changed_since_seen")

    assert await audited() == []
    assert shown["digest"] == waiting.digest
    assert await rule("approve", digest=shown["digest"]) == (200, "")


async def test_the_pages_and_the_api_name_the_reviewer_who_approved(
    registry: Registry, tmp_path: Path
) -> None:
    waiting = await put_review(tmp_path)
    rae = await token_of(Role.REVIEWER, Scope.REVIEW)
    ruling = {"reason": "fine", "digest": waiting.digest or ""}
    await registry.post(f"{REVIEWS}/{waiting.id}/approve", json=ruling, headers=rae)
    stored = await get_submission(waiting.id)
    assert stored
    slug = stored.record.slug

    versions = await registry.json(f"/skills/{slug}/versions")
    history = (await registry.json(f"/submissions/{waiting.id}"))["stateHistory"]
    detail = await registry.json(f"/skills/{slug}")
    page = await registry.get(f"/skills/{slug}")
    listed = await registry.get(f"/skills/{slug}/versions")
    security = await registry.get(f"/skills/{slug}/security")

    assert [
        (event["fromState"], event["toState"], event["trigger"], event["approvedBy"])
        for event in history[-2:]
    ] == [
        ("NEEDS_REVIEW", "AUTO_APPROVED", "review", "rae"),
        ("AUTO_APPROVED", "PUBLISHED", "publish", None),
    ]
    assert versions["versions"][0]["approvedBy"] == "rae"
    assert versions["versions"][0]["certMethod"] == "MANUAL_REVIEW"
    assert "approved by rae (+20)" in detail["skill"]["trust"]
    assert "Approved by a reviewer: rae" in page.text
    assert "Approved by rae (+20)" in security.text
    assert "approved by rae" in listed.text
    assert "approved by rae" in security.text


async def test_another_policy_is_tried_and_nothing_changes(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    cyd, rae = await token_of(Role.ADMIN), await token_of(Role.REVIEWER)

    async def dry_run(text: str) -> tuple[int, object]:
        answer = await registry.post(f"{POLICY}/dry-run", json={"policy": text}, headers=cyd)
        return answer.status_code, answer.json()

    shown = await registry.json("/policy", headers=cyd)
    status, tried = await dry_run("")
    refused = await registry.get(POLICY, headers=rae)

    assert shown["words"]
    assert status == 200
    assert isinstance(tried, dict)
    assert (tried["published"], tried["changes"]) == (1, [])
    assert refused.status_code == 403
    for odd in ("[", "nonsense = 1", "a=" + "[" * 100_000):
        status, problem = await dry_run(odd)
        assert isinstance(problem, dict)
        assert (status, problem["code"]) == (400, "invalid_input")
    assert (await dry_run("#" * 200_001))[0] == 400


async def test_a_rescan_is_asked_for_once_at_a_time(
    registry: Registry, clock: ManualClock, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    cyd = await token_of(Role.ADMIN)

    shown = await registry.json("/rescan", headers=cyd)
    asked = await registry.post(RESCANS, headers=cyd)
    waiting = await registry.json("/rescan", headers=cyd)
    clock.advance(seconds=5)
    run, last = await rescan(registry.env)
    ended = await registry.json("/rescan", headers=cyd)
    clock.advance(hours=1)
    stored = await get_cron_run(RESCAN.name)
    assert stored
    running = CronRun(job=RESCAN.name, node="node-2", started_at=clock.now())
    assert await put_cron_run(running, expected=stored.revision)
    busy = await registry.post(RESCANS, headers=cyd)

    assert (shown["left"], shown["doneAt"], shown["changed"]) == (1, None, [])
    assert (waiting["left"], waiting["doneAt"]) == (1, None)
    assert waiting["askedAt"] is not None
    assert (run, last) == ("1 queued, 0 queued before, 0 left", "all skills were rescanned")
    assert (ended["left"], ended["askedAt"]) == (0, None)
    assert ended["doneAt"] is not None
    assert (asked.status_code, asked.json()) == (202, {"ok": True})
    assert (busy.status_code, busy.json()["code"]) == (409, "overtaken")
    assert await audited() == [("cyd", "rescan", "all")]


async def test_a_list_in_which_nothing_moved_is_not_sent_again(
    registry: Registry, clock: ManualClock, tmp_path: Path
) -> None:
    await put_review(tmp_path, "keep-notes")
    rae = await token_of(Role.REVIEWER, Scope.REVIEW)
    first = await registry.get(REVIEWS, headers=rae)

    clock.advance(minutes=5)
    again = await registry.get(REVIEWS, headers={**rae, "If-None-Match": first.headers["etag"]})

    assert (again.status_code, again.content) == (304, b"")
