"""The document of the API, and its page: every path with words, and nothing from elsewhere."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.web.api_cast import Registry, open_registry
from tests.unit.web.route_access import ROUTES
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.api.routes import describe_api
from vskill_platform.web.pages.api import groups_of


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


def test_every_operation_has_words_and_a_group() -> None:
    operations = [one for group in groups_of(describe_api()).values() for one in group]

    assert len(operations) == sum(
        route.partition(" ")[2].startswith("/api/v1/") and "external-scans" not in route
        for route in ROUTES
    )
    assert [f"{one.method} {one.path}" for one in operations if not one.words] == []
    assert "Other" not in groups_of(describe_api())


def test_the_upload_says_what_it_takes() -> None:
    (upload,) = (
        one
        for one in groups_of(describe_api())["Submissions"]
        if one.path == "/api/v1/submissions/upload"
    )

    assert {field.name: field.is_required for field in upload.body} == {
        "files": True, "namespace": False, "privacy": False,
    }  # fmt: skip


async def test_the_page_shows_every_path_and_loads_nothing_from_elsewhere(
    registry: Registry,
) -> None:
    page = await registry.get("/api", headers={"Accept": "text/html"})
    document = await registry.get("/api/openapi.json")
    again = await registry.get(
        "/api/openapi.json", headers={"If-None-Match": document.headers["etag"]}
    )

    assert page.status_code == 200
    for path in document.json()["paths"]:
        assert f"<code>{path}</code>" in page.text
    assert 'src="http' not in page.text
    assert 'href="http' not in page.text.replace("http://registry", "")
    assert document.json()["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert again.status_code == 304


async def test_what_is_not_there_and_what_cannot_be_done_are_problems(registry: Registry) -> None:
    missing = await registry.get("/api/v1/nothing", headers={"Accept": "text/html"})
    wrong = await registry.ask("DELETE", "/api/v1/skills")

    for answer, status in ((missing, 404), (wrong, 405)):
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert set(problem) == {
            "type", "title", "status", "detail", "code", "hint", "request_id", "error",
        }  # fmt: skip
        assert problem["request_id"] == answer.headers["x-request-id"]
