"""The OpenAPI document and its page: every path is described, and nothing external is loaded."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.web.api_cast import Registry, open_registry
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.http.problems import Problem
from vskill_platform.web.openapi import describe_api
from vskill_platform.web.registry.api_page import groups_of
from vskill_platform.web.routes import API


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


def test_every_operation_has_words_and_a_group() -> None:
    operations = [one for group in groups_of(describe_api()).values() for one in group]

    assert len(operations) == sum(len(rows) for rows in API.values())
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


def test_problems_are_described_as_they_are_sent() -> None:
    document = describe_api()
    parts = document["components"]
    problem = parts["schemas"]["Problem"]

    assert "status_code" not in str(document)
    assert set(problem["required"]) == set(problem["properties"]) == set(Problem.__struct_fields__)
    for status, answer in parts["responses"].items():
        assert list(answer["content"]) == ["application/problem+json"], status
    assert "Retry-After" in parts["responses"]["Problem503"]["headers"]
    assert parts["responses"]["Problem409"]["description"] == (
        "wrong_state, changed_since_seen, namespace_deleted, slug_taken, overtaken"
    )


@pytest.mark.parametrize(
    ("method", "path", "statuses"),
    [
        ("GET", "/skills", "200 304 400 401 429 500 503"),
        ("GET", "/queue/stats", "200 401 429 500 503"),
        ("GET", "/skills/{slug}/download", "200 302 304 400 401 403 404 410 423 424 429 500 503"),
        ("POST", "/submissions", "200 201 400 401 403 409 413 415 422 424 429 500 503"),
        ("POST", "/submissions/discover", "200 400 401 403 413 415 422 424 429 500 503"),
        ("DELETE", "/queue/pause", "200 401 403 409 429 500 503"),
        ("GET", "/reviews/{submission_id}", "200 304 400 401 403 404 429 500 503"),
    ],
)
def test_an_operation_names_every_status_that_it_can_give(
    method: str, path: str, statuses: str
) -> None:
    operation = describe_api()["paths"][f"/api/v1{path}"][method.lower()]

    assert sorted(operation["responses"]) == statuses.split()


def test_an_operation_documents_its_right_and_its_response() -> None:
    paths = describe_api()["paths"]
    listed, health = paths["/api/v1/skills"]["get"], paths["/api/v1/queue/health"]["get"]
    letters, pause = paths["/api/v1/queue/dead-letters"]["get"], paths["/api/v1/queue/pause"]

    assert listed["security"][0] == {}
    assert pause["post"]["security"] == [
        {"token": ["operate", "admin"]},
        {"session": [], "form": []},
    ]
    assert {"ETag", "X-Limit-Clamped", "Warning", "Age"} <= set(
        listed["responses"]["200"]["headers"]
    )
    assert {"ETag", "X-Limit-Clamped"} <= set(letters["responses"]["200"]["headers"])
    assert "ETag" not in health["responses"]["200"]["headers"]


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
    assert "Bad request syntax" not in page.text
    assert "<code>404</code> not_found" in page.text
    assert 'src="http' not in page.text
    assert 'href="http' not in page.text.replace("http://registry", "")
    assert document.json()["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert again.status_code == 304


async def test_missing_paths_and_wrong_methods_are_problems(registry: Registry) -> None:
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
