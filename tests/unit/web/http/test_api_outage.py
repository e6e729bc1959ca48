"""An outage is a 503 with Retry-After, and never an empty response."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient, Response

from tests.apps import an_app
from tests.unit.web.api_cast import Registry, open_registry, token_of
from tests.unit.web.pages_cast import put_skill, put_submission
from vskill_platform.errors import EngineError
from vskill_platform.model.rights import Right
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.openapi import describe_api
from vskill_platform.web.routes import API

#: Rights that a visitor without an account has.
_OPEN = {Right.ANYONE, Right.SUBMIT}
#: Where nothing is looked up for somebody who has not signed in.
_NO_LOOK = {"/api/v1/account"}
#: What nobody may read who has not signed in: by the table of routes, or by the handler itself.
_SIGNED_IN = {
    *(
        row.path
        for rows in API.values()
        for row in rows
        if row.method == "GET" and "{" not in row.path and row.right not in _OPEN
    ),
    "/api/v1/account/tenants", "/api/v1/problem-reports/mine", "/api/v1/reports/mine",
    "/api/v1/followed-repos",
    "/api/v1/users/{name}/deletion", "/api/v1/users/{name}/oidc", "/api/v1/users/{name}/sessions",
}  # fmt: skip
#: What the catalogue of a node still knows while the database is away, with how old that is.
_FROM_CATALOGUE = {
    "/api/v1/skills", "/api/v1/skills/search", "/api/v1/skills/suggest",
    "/api/v1/submissions", "/api/v1/submissions/search",
}  # fmt: skip
_NEED_CATALOGUE = {
    *_FROM_CATALOGUE, "/api/v1/queue/stats", "/api/v1/submissions/stats", "/api/v1/stats",
    "/api/v1/queue/health", "/api/v1/blocklist/check", "/api/v1/submissions/positions",
}  # fmt: skip
_QUERIES = {
    "/api/v1/blocklist/check": "?name=tidy",
    "/api/v1/skills/suggest": "?q=ti",
    "/api/v1/submissions/positions": "?ids=sub_1",
}


class Breakable:
    """The real engine, or a wrapper around it, until the test breaks it."""

    def __init__(self, part: Any, breakdown: list[EngineError]) -> None:
        self._part, self._breakdown = part, breakdown

    @property
    def kv(self) -> "Breakable":
        return Breakable(self._part.kv, self._breakdown)

    @property
    def queue(self) -> "Breakable":
        return Breakable(self._part.queue, self._breakdown)

    def __getattr__(self, name: str) -> Any:
        async def fail(*_: object, **__: object) -> None:
            raise self._breakdown[0]

        return fail if self._breakdown else getattr(self._part, name)


@pytest.fixture
async def registry(bound: WorkerEnv, tmp_path: Path) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        await put_skill(bound, tmp_path)
        await put_submission(bound, SubmissionState.REJECTED)
        yield opened


def readable() -> list[str]:
    """Return the paths that anyone may read, with an existing skill."""
    paths = [path for path, item in describe_api()["paths"].items() if "get" in item]
    of_staff = ("{submission_id}", "{number}", "{webhook_id}", "{appeal_id}")
    open_to_all = [path for path in paths if not any(part in path for part in of_staff)]
    return [path.replace("{slug}", "ada/notes/tidy") for path in open_to_all]


def check_503(answer: Response, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, code), answer.request.url
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.headers["content-type"] == "application/problem+json"


async def test_without_its_catalogue_nothing_is_listed_and_all_else_is_there(
    registry: Registry,
) -> None:
    transport = ASGITransport(cast("Any", an_app(registry.env)))
    async with AsyncClient(transport=transport, base_url="http://registry") as client:
        answers = {
            path: await client.get(path + _QUERIES.get(path, "")) for path in _NEED_CATALOGUE
        }
        by_slug = await client.get("/api/v1/skills/ada/notes/tidy")
        by_name = await client.get("/api/v1/skills/tidy")
        page = await client.get("/queue", headers={"Accept": "text/html"})

    for answer in (*answers.values(), by_name):
        check_503(answer, "not_ready")
    assert by_slug.status_code == 200
    assert page.status_code == 503
    assert "text/html" in page.headers["content-type"]


async def test_without_its_database_nothing_looks_empty(registry: Registry) -> None:
    cyd = await token_of(Role.ADMIN)
    await registry.get("/api/v1/skills")  # so that the catalogue knows all of it
    breakdown: list[EngineError] = []
    env = replace(registry.env, engine=cast("Any", Breakable(registry.env.engine, breakdown)))
    app = an_app(env, catalogue=registry.catalogue)
    async with AsyncClient(
        transport=ASGITransport(cast("Any", app)), base_url="http://registry"
    ) as client:
        breakdown.append(EngineError("/secret/path: disk gone"))
        answers = {path: await client.get(path + _QUERIES.get(path, "")) for path in readable()}
        as_admin = {path: await client.get(path, headers=cyd) for path in (*_NO_LOOK, *_SIGNED_IN)}
        submitted = await client.post(
            "/api/v1/submissions", json={"repoUrl": "ada/notes", "skillPath": "x"}
        )

    assert submitted.status_code == 503
    for path, answer in answers.items():
        if path in _FROM_CATALOGUE:
            assert (answer.status_code, "tidy" in answer.text) == (200, True), path
        elif path in _SIGNED_IN:
            assert answer.status_code == 401, path
        elif path in _NO_LOOK:
            assert (answer.status_code, answer.json()["name"]) == (200, None), path
        else:
            check_503(answer, "outage")
    for answer in as_admin.values():
        check_503(answer, "outage")
    assert "secret" not in "".join(answer.text for answer in answers.values())


async def test_while_the_catalogue_cannot_read_along_its_answers_say_so(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [*_FROM_CATALOGUE, "/api/v1/skills/tidy"]
    fresh = [await registry.get(path + _QUERIES.get(path, "")) for path in asked]
    behind = msgspec.structs.replace(
        registry.catalogue.freshness, is_degraded=True, age=timedelta(minutes=5)
    )
    monkeypatch.setattr(type(registry.catalogue), "freshness", property(lambda _: behind))

    old = [await registry.get(path + _QUERIES.get(path, "")) for path in asked]
    direct = await registry.get("/api/v1/skills/ada/notes/tidy")

    for answer in old:
        assert (answer.status_code, answer.headers["age"]) == (200, "300"), answer.request.url
        assert answer.headers["warning"] == '110 - "Response is Stale"'
    assert not any("warning" in answer.headers for answer in (*fresh, direct))
