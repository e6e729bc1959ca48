"""Reports by users: who may write and read them, and how staff close them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.git_server import GitServer
from tests.unit.web.api_cast import Registry, all_audited, browser_of, open_registry, token_of
from tests.unit.web.pages_cast import put_skill
from vskill_platform.access.tokens import TokenLimits, add_token
from vskill_platform.model.user import Role, Scope
from vskill_platform.publish.moderation import user_reports
from vskill_platform.stores.db import bound_env

pytestmark = pytest.mark.usefixtures("one_loop")
REPORT = {"slug": "ada/notes/tidy", "reason": "it <b>steals</b>"}
PROBLEM = {"title": "Search is slow", "description": "It takes a minute.", "url": "/queue"}


@pytest.fixture
async def registry(git_server: GitServer, tmp_path: Path) -> AsyncIterator[Registry]:
    async with open_registry(bound_env()) as opened:
        await put_skill(opened.env, tmp_path)
        yield opened


async def test_a_report_is_read_and_answered_by_staff_and_seen_by_its_author(
    registry: Registry,
) -> None:
    ben, rae = await token_of(Role.READER, name="ben"), await token_of(Role.REVIEWER)

    made = await registry.post("/api/v1/problem-reports", json=PROBLEM, headers=ben)
    await registry.post("/api/v1/reports", json=REPORT, headers=ben)
    listed = await registry.json("/reports", headers=rae)
    problems = await registry.json("/reports?status=open&kind=problem", headers=rae)
    where = f"/api/v1/reports/{made.json()['id']}/close"
    closed = await registry.post(where, json={"answer": "Fixed."}, headers=rae)
    again = await registry.post(where, json={"answer": "Fixed."}, headers=rae)
    after = await registry.json("/reports?status=open&kind=problem", headers=rae)
    mine = await registry.json("/problem-reports/mine", headers=ben)

    assert [item["kind"] for item in listed["reports"]].count("skill") == 1
    assert [item["reason"] for item in problems["reports"]] == [
        "Search is slow: It takes a minute."
    ]
    assert (closed.status_code, again.status_code) == (200, 409)
    assert after["reports"] == []
    (own,) = mine["reports"]
    assert (own["status"], own["answer"], own["closedBy"]) == ("closed", "Fixed.", "rae")


@pytest.mark.parametrize("path", ["/api/v1/reports", "/api/v1/problem-reports"])
async def test_a_token_that_only_reads_cannot_report(registry: Registry, path: str) -> None:
    reading = await token_of(Role.PUBLISHER, Scope.READ)
    body = REPORT if path.endswith("/reports") else PROBLEM

    refused = await registry.post(path, json=body, headers=reading)

    assert refused.status_code == 403
    assert "it needs the scope submit" in refused.json()["detail"]
    assert [item for item in await all_audited() if item.action.startswith("report")] == []


async def test_anybody_reports_a_version_without_an_account(registry: Registry) -> None:
    rae = await token_of(Role.REVIEWER)

    made = await registry.post("/api/v1/reports", json={**REPORT, "version": "1.0.0"})
    unknown = await registry.post("/api/v1/reports", json={**REPORT, "version": "9.9.9"})
    listed = (await registry.json("/reports", headers=rae))["reports"]
    page = await registry.get("/admin/reports", headers=await browser_of(Role.ADMIN))

    assert (made.status_code, unknown.status_code) == (201, 404)
    assert [(one["version"], one["by"]) for one in listed] == [("1.0.0", "anonymous@127.0.0.x")]
    assert "/skills/ada/notes/tidy?version=1.0.0" in page.text


async def test_visitors_without_an_account_cannot_fill_the_list_of_reports(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_reports, "MAX_OPEN_ANONYMOUS", 1)
    ben = await token_of(Role.READER, name="ben")

    codes = [(await registry.post("/api/v1/reports", json=REPORT)).status_code for _ in range(2)]
    monkeypatch.setattr(user_reports, "MAX_OPEN_ANONYMOUS", 9)
    monkeypatch.setattr(user_reports, "MAX_ALL_ANONYMOUS", 1)
    all_of_them = await registry.post("/api/v1/reports", json=REPORT)
    signed_in = await registry.post("/api/v1/reports", json=REPORT, headers=ben)

    assert codes == [201, 429]
    assert all_of_them.status_code == 429
    assert "sign in" in all_of_them.json()["detail"]
    assert signed_in.status_code == 201


async def test_a_form_reports_a_version_and_shows_the_answer(registry: Registry) -> None:
    ben, rae = await browser_of(Role.READER), await token_of(Role.REVIEWER)
    fields = {"skill": "ada/notes/tidy", "version": "1.0.0", "reason": "it <b>steals</b>"}

    skill = await registry.get("/skills/ada/notes/tidy")
    form = await registry.get("/report?skill=ada/notes/tidy&version=1.0.0")
    empty = await registry.post("/report", data={**fields, "reason": " "}, headers=ben)
    sent = await registry.post("/report", data=fields, headers=ben)
    (one,) = (await registry.json("/reports", headers=rae))["reports"]
    answer = {"answer": "We blocked it."}
    await registry.post(f"/api/v1/reports/{one['id']}/close", json=answer, headers=rae)
    mine = await registry.get("/report", headers=ben)
    (own,) = (await registry.json("/reports/mine", headers=ben))["reports"]
    stranger = await registry.get("/report")

    assert 'href="/report?skill=ada%2Fnotes%2Ftidy&amp;version=1.0.0"' in skill.text
    assert 'value="1.0.0"' in form.text
    assert (empty.headers["location"], sent.headers["location"]) == (
        "/report?skill=ada%2Fnotes%2Ftidy&version=1.0.0", "/report"
    )  # fmt: skip
    assert "it &lt;b&gt;steals&lt;/b&gt;" in mine.text
    assert "We blocked it." in mine.text
    assert own["answer"] == "We blocked it."
    assert "We blocked it." not in stranger.text


async def test_a_form_about_a_skill_that_nobody_may_see_is_not_found(registry: Registry) -> None:
    assert (await registry.get("/report?skill=no/such/skill")).status_code == 404


async def test_reports_are_for_staff_alone(registry: Registry) -> None:
    ada = await token_of(Role.PUBLISHER)

    assert (await registry.get("/api/v1/reports")).status_code == 401
    assert (await registry.get("/api/v1/reports", headers=ada)).status_code == 403
    assert (await registry.get("/api/v1/problem-reports/mine")).status_code == 401


async def test_a_report_needs_a_known_skill_and_a_reason(registry: Registry) -> None:
    ben = await token_of(Role.READER, name="ben")
    bodies = [{"slug": "no/such/skill", "reason": "x"}, {"slug": "ada/notes/tidy", "reason": "  "}]

    found = [await registry.post("/api/v1/reports", json=body, headers=ben) for body in bodies]
    empty = await registry.post("/api/v1/problem-reports", json={"url": "/"}, headers=ben)

    assert [answer.status_code for answer in found] == [404, 400]
    assert empty.status_code == 400


async def test_nobody_has_more_open_reports_than_the_maximum(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_reports, "MAX_OPEN", 1)
    ben, ada = await token_of(Role.READER, name="ben"), await token_of(Role.PUBLISHER)

    first = await registry.post("/api/v1/reports", json=REPORT, headers=ben)
    second = await registry.post("/api/v1/problem-reports", json=PROBLEM, headers=ben)
    other = await registry.post("/api/v1/reports", json=REPORT, headers=ada)

    assert [first.status_code, second.status_code, other.status_code] == [201, 429, 201]


async def test_staff_close_a_report_on_its_page(registry: Registry) -> None:
    ben, rae = await token_of(Role.READER, name="ben"), await browser_of(Role.REVIEWER)
    made = await registry.post("/api/v1/reports", json=REPORT, headers=ben)

    before = await registry.get("/admin/reports", headers=rae)
    answer = await registry.post(
        f"/admin/reports/{made.json()['id']}/close", data={"reason": "Blocked."}, headers=rae
    )
    after = await registry.get("/admin/reports", headers=rae)

    assert "it &lt;b&gt;steals&lt;/b&gt;" in before.text
    assert answer.status_code == 303
    assert "No open reports" in after.text
    assert "Blocked." in after.text


async def test_the_token_of_a_ci_job_does_not_show_the_reports_of_its_user(
    registry: Registry,
) -> None:
    await token_of(Role.PUBLISHER, name="ada")
    limits = TokenLimits(namespace="@ada")
    made = await add_token("ada", "CI", [Scope.READ, Scope.SUBMIT], actor="test", limits=limits)

    answer = await registry.get(
        "/api/v1/problem-reports/mine", headers={"Authorization": f"Bearer {made.text}"}
    )

    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
