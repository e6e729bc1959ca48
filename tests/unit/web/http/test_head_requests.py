"""HEAD is answered as GET is, without the body."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cases import all_cases
from tests.unit.web.api_cast import Registry, open_registry
from tests.unit.web.pages_cast import put_skill
from vskill_platform.runtime.env import WorkerEnv

SLUG = "ada/notes/tidy"
#: Each answer has an id of its own.
_DIFFER = {"x-request-id"}


@pytest.fixture
async def registry(bound: WorkerEnv, tmp_path: Path) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        await put_skill(bound, tmp_path)
        yield opened


@all_cases(
    "path",
    [
        "/", f"/skills/{SLUG}", "/queue", "/healthz", "/static/style.css", "/api/openapi.json",
        f"/api/v1/skills/{SLUG}", "/api/v1/skills", f"/api/v1/skills/{SLUG}/download",
        f"/api/v1/skills/{SLUG}/badge", "/api/v1/nothing", "/api/v1/tokens",
    ],
)  # fmt: skip
async def test_a_head_is_that_of_the_get(registry: Registry, path: str) -> None:
    whole = await registry.get(path)
    head = await registry.ask("HEAD", path)

    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert {name: value for name, value in head.headers.items() if name not in _DIFFER} == {
        name: value for name, value in whole.headers.items() if name not in _DIFFER
    }
    assert int(head.headers["content-length"]) == len(whole.content) > 0


async def test_a_conditional_head_request_gets_304(registry: Registry) -> None:
    tag = (await registry.ask("HEAD", "/api/v1/skills")).headers["etag"]

    again = await registry.ask("HEAD", "/api/v1/skills", headers={"If-None-Match": tag})

    assert again.status_code == 304


async def test_a_bad_token_gets_no_body_either(registry: Registry) -> None:
    answer = await registry.ask(
        "HEAD", "/api/v1/skills", headers={"Authorization": "Bearer vsk_no"}
    )

    assert (answer.status_code, answer.content) == (401, b"")


async def test_a_stream_is_not_begun_for_its_head(registry: Registry) -> None:
    answer = await registry.ask("HEAD", "/live/queue")

    assert (answer.status_code, "HEAD" in answer.headers["allow"]) == (405, False)


async def test_a_path_with_post_alone_has_no_head(registry: Registry) -> None:
    assert (await registry.ask("HEAD", "/api/v1/queue/requeue")).status_code == 405


@all_cases(
    ("path", "allowed"),
    [
        ("/api/v1/skills", "GET, HEAD, OPTIONS"),
        ("/api/v1/submissions", "GET, HEAD, OPTIONS, POST"),
        ("/", "GET, HEAD, OPTIONS"),
        ("/mcp", "OPTIONS, POST"),
        (f"/api/v1/skills/{SLUG}", "GET, HEAD, OPTIONS"),
        (f"/api/v1/skills/{SLUG}/yank", "OPTIONS, POST"),
        (f"/skills/{SLUG}", "GET, HEAD, OPTIONS"),
        ("/api/v1/tokens/tok_1", "DELETE, OPTIONS"),
        ("/api/v1/policy/versions/1/restore", "OPTIONS, POST"),
        ("/static/style.css", "GET, HEAD, OPTIONS"),
    ],
)
async def test_options_names_the_methods_that_the_path_has(
    registry: Registry, path: str, allowed: str
) -> None:
    answer = await registry.ask("OPTIONS", path)

    assert (answer.status_code, answer.headers["allow"]) == (204, allowed)
