"""Appeals on the pages and over the API."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.events.happenings import moved, submitted
from tests.unit.web.admin_cast import an_operator
from tests.unit.web.api_cast import Registry, open_registry, token_of
from vskill_platform.access.namespaces import add_owner
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.appeal_store import list_open_appeals

API = "/api/v1/appeals"
_S = SubmissionState


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def a_rejection() -> str:
    stored = await moved(
        await submitted(), _S.TIER1_SCANNING, _S.NEEDS_REVIEW, _S.REJECTED, reason="bad"
    )
    return stored.record.id


async def test_a_case_goes_from_the_page_of_the_submission_to_a_decision(
    registry: Registry,
) -> None:
    ada = await an_operator(registry, Role.PUBLISHER)
    rae = await an_operator(registry, Role.REVIEWER)
    ben = await an_operator(registry, Role.READER)
    subject = await a_rejection()
    before = await ada.see(f"/submissions/{subject}")
    others_see = await ben.see(f"/submissions/{subject}")

    opened = await ada.post("/appeals", subject=subject, text="<b>why</b>?\nAnd how?")
    here = opened.headers["location"]
    case = await rae.see(here)
    hidden = await registry.get(here, headers=ben._headers)
    not_staff = await ada.post(f"{here}/granted", text="yes")
    empty = await rae.post(f"{here}/rejected", text=" ")
    decided = await rae.post(f"{here}/rejected", text="It stays.")
    after = await ada.see(f"/submissions/{subject}")
    board = await rae.see("/admin/appeals")

    assert "Appeal this verdict" in before
    assert "Appeal this verdict" not in others_see
    assert opened.status_code == decided.status_code == 303
    assert "&lt;b&gt;why&lt;/b&gt;?<br>And how?" in case
    assert "You made this verdict" in case
    assert (hidden.status_code, not_staff.status_code, empty.status_code) == (404, 404, 400)
    assert "It stays." in after
    assert "Appeal this verdict" not in after
    assert here in board


async def test_the_api_opens_answers_lists_and_decides(registry: Registry) -> None:
    ada = await token_of(Role.PUBLISHER, Scope.MANAGE)
    rae = await token_of(Role.REVIEWER, Scope.REVIEW)
    subject = await a_rejection()

    opened = await registry.post(API, json={"subject": subject, "text": "why"}, headers=ada)
    appeal = opened.json()["id"]
    again = await registry.post(API, json={"subject": subject, "text": "why"}, headers=ada)
    unknown = await registry.post(API, json={"subject": "x", "text": "why"}, headers=ada)
    answered = await registry.post(f"{API}/{appeal}/messages", json={"text": "so"}, headers=rae)
    mine = await registry.get(API, headers=ada)
    not_mine = await registry.get(f"{API}?status=open", headers=ada)
    every = await registry.get(f"{API}?status=open", headers=rae)
    refused = await registry.post(
        f"{API}/{appeal}/decide", json={"decision": "granted", "text": "yes"}, headers=ada
    )
    decided = await registry.post(
        f"{API}/{appeal}/decide", json={"decision": "granted", "text": "yes"}, headers=rae
    )
    late = await registry.post(f"{API}/{appeal}/withdraw", headers=ada)
    shown = await registry.get(f"{API}/{appeal}", headers=ada)

    assert opened.status_code == 201
    assert (again.status_code, unknown.status_code) == (409, 404)
    assert answered.json()["messages"][-1]["isStaff"]
    assert [one["id"] for one in mine.json()["appeals"]] == [appeal]
    assert [one["id"] for one in every.json()["appeals"]] == [appeal]
    assert (not_mine.status_code, refused.status_code, late.status_code) == (400, 403, 409)
    assert decided.json()["state"] == shown.json()["state"] == "granted"
    assert await list_open_appeals(limit=10) == []


async def test_a_token_that_sees_no_private_skills_lists_no_case_about_one(
    registry: Registry,
) -> None:
    full = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE)
    less = await token_of(Role.PUBLISHER, Scope.MANAGE)
    await add_owner("ada", "ada", actor="test")
    stored = await moved(
        await submitted(is_private=True), _S.TIER1_SCANNING, _S.NEEDS_REVIEW, _S.REJECTED
    )
    wanted = {"subject": stored.record.id, "text": "why"}

    hidden = await registry.post(API, json=wanted, headers=less)
    opened = await registry.post(API, json=wanted, headers=full)
    seen = [await registry.json("/appeals", headers=who) for who in (full, less)]

    assert (hidden.status_code, opened.status_code) == (404, 201)
    assert [len(one["appeals"]) for one in seen] == [1, 0]
