"""Bodies that are too large are refused before they are parsed."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from httpx import AsyncClient, Response
from litestar import Litestar, Request, post

from tests.apps import an_app
from tests.unit.web.api_cast import (
    Registry,
    anonymous_browser,
    browser_of,
    open_registry,
    token_of,
)
from vskill_platform.model.rights import Right
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.http import bodies
from vskill_platform.web.http.bodies import LARGE_BODIES, MAX_BODY_BYTES, MAX_FIELDS

URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}
MANY = b"a&" * 300_000


@post("/api/v1/some-form", opt={"right": Right.ANYONE}, status_code=200)
async def some_form(request: Request[Any, Any, Any]) -> dict[str, list[Any]]:
    form = await request.form()
    return {name: form.getall(name) for name in form}


@pytest.fixture
def app(bound: WorkerEnv) -> Litestar:
    return an_app(bound, some_form)


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
    """Send without saying how much it will be."""
    stream = io.BytesIO(body)
    while piece := stream.read(64 * 1024):
        yield piece


@pytest.mark.parametrize("path", ["/submit", "/sign-in", "/submissions/x/withdraw"])
@pytest.mark.parametrize("says_length", [True, False])
async def test_a_form_that_is_too_large_is_refused_before_anything_else(
    program: AsyncClient, path: str, says_length: bool
) -> None:
    content = MANY if says_length else in_pieces(MANY)

    answer = await program.post(path, content=content, headers=URLENCODED)

    assert answer.status_code == 413
    assert answer.json()["code"] == "too_large"
    assert "256 KiB" in answer.json()["detail"]
    assert answer.json()["hint"]


@pytest.mark.parametrize("says_length", [True, False])
async def test_json_that_is_too_large_is_refused(program: AsyncClient, says_length: bool) -> None:
    body = json.dumps({"repoUrl": "x" * MAX_BODY_BYTES}).encode()

    answer = await program.post(
        "/api/v1/submissions/discover",
        content=body if says_length else in_pieces(body),
        headers=JSON,
    )

    assert answer.status_code == 413


async def test_files_may_be_large_where_files_are_taken_and_nowhere_else(
    registry: Registry,
) -> None:
    files = {"files": ("notes.txt", b"x" * 2 * MAX_BODY_BYTES)}

    upload = await registry.post("/api/v1/submissions/upload", files=files)
    form = await registry.post("/submit", files=files, headers=anonymous_browser())
    elsewhere = await registry.post("/sign-in", files=files, headers=anonymous_browser())

    assert (upload.status_code, form.status_code) == (422, 422)  # taken, and no skill in it
    assert elsewhere.status_code == 413


async def test_one_visitor_sends_so_many_large_bodies_at_once(registry: Registry) -> None:
    boundary = {"Content-Type": "multipart/form-data; boundary=B"}
    stop = asyncio.Event()

    async def never_ending() -> AsyncIterator[bytes]:
        yield b"--B\r\n"
        await stop.wait()

    async def send(path: str) -> Response:
        return await registry.post(
            path, content=never_ending(), headers=anonymous_browser() | boundary
        )

    slow = [asyncio.create_task(send(path)) for path in ("/api/v1/submissions/upload", "/submit")]
    while LARGE_BODIES.count < LARGE_BODIES.each:
        await asyncio.sleep(0)
    third = await send("/submit")
    small = await registry.post(
        "/api/v1/submissions/upload", files={"files": ("notes.txt", b"small")}
    )
    stop.set()
    answers = [await one for one in slow]

    assert (third.status_code, third.headers["retry-after"]) == (429, "15")
    assert small.status_code == 422  # taken, and no skill in it
    assert {answer.status_code for answer in answers} == {400}
    assert LARGE_BODIES.count == 0


async def test_a_body_that_comes_drop_by_drop_is_not_waited_for(
    program: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "LARGE_BODY_SECONDS", -1.0)

    answer = await program.post("/api/v1/some-form", data={"word": "hello"})

    assert answer.status_code == 400
    assert "too long" in answer.json()["detail"]


async def test_a_form_has_so_many_fields_and_no_more(program: AsyncClient) -> None:
    fine = "&".join(f"a={number}" for number in range(MAX_FIELDS))

    taken = await program.post("/api/v1/some-form", content=fine, headers=URLENCODED)
    refused = await program.post("/api/v1/some-form", content=f"{fine}&b=1", headers=URLENCODED)

    assert len(taken.json()["a"]) == MAX_FIELDS
    assert refused.status_code == 413
    assert f"{MAX_FIELDS:,} fields" in refused.json()["detail"]


async def test_a_form_reads_as_it_was_written(program: AsyncClient) -> None:
    answer = await program.post(
        "/api/v1/some-form", data={"word": "häßlich + schön", "empty": "", "two": ["1", "2"]}
    )

    assert answer.json() == {"word": ["häßlich + schön"], "empty": [""], "two": ["1", "2"]}


async def test_a_long_policy_is_read(registry: Registry) -> None:
    policy = "# ü\n" * 49_000
    admin, browser = await token_of(Role.ADMIN), await browser_of(Role.ADMIN)

    by_api = await registry.post(
        "/api/v1/policy/dry-run", content=json.dumps({"policy": policy}), headers=admin | JSON
    )
    by_form = await registry.post("/admin/policy/dry-run", data={"policy": policy}, headers=browser)

    assert (by_api.status_code, by_form.status_code) == (200, 200)


@pytest.mark.slow
async def test_all_skills_of_a_large_repo_may_be_chosen(registry: Registry) -> None:
    paths = [f"skills/{number:04}/{'x' * 100}" for number in range(1_000)]
    form = {"source": "https://github.com/ada/notes", "paths": paths}

    answer = await registry.post(
        "/submit/chosen", data=form, headers=await browser_of(Role.PUBLISHER)
    )

    assert answer.status_code == 303


async def test_json_that_is_nested_too_deeply_is_the_callers_mistake(program: AsyncClient) -> None:
    answer = await program.post("/api/v1/submissions", content=b"[" * 200_000, headers=JSON)

    assert answer.status_code == 400
    assert "nested" in answer.json()["detail"]
