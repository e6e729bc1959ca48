"""Requests that the framework refuses: the error names the field as the sender knows it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.unit.web.api_cast import API, Registry, open_registry
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.http.problem_kinds import KINDS, OUTAGE, REFUSALS, UNEXPECTED

GOOD = b'{"repoUrl": "ada/notes", "skillPath": "tidy"}'


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


def a_body(content: bytes, kind: str) -> dict[str, Any]:
    return {"content": content, "headers": {"Content-Type": kind}}


REFUSED: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("GET", "/submissions?state=bogus", {}, 400, "state: Invalid enum value 'bogus'; use one of"),
    ("GET", "/submissions?limit=0", {}, 400, "limit: "),
    ("GET", "/skills/a/b/c/versions/diff?from=" + "1" * 200, {}, 400, "from: "),
    ("POST", "/submissions", {}, 400, "the body is missing: send application/json"),
    ("POST", "/submissions", {"json": {}}, 400, "missing required field `repoUrl`"),
    ("POST", "/submissions", a_body(b"{", "application/json"), 400, "the body cannot be read"),
    ("POST", "/submissions", a_body(GOOD, "text/plain"), 415, "send application/json"),
    ("POST", "/submissions", a_body(GOOD, "application/xml"), 415, "got application/xml"),
    ("POST", "/submissions/upload", {"json": {}}, 415, "send multipart/form-data"),
    ("POST", "/submissions", {"content": b" " * 600_000}, 413, "512 KiB"),
    ("DELETE", "/skills", {}, 405, "DELETE is not allowed here"),
]


@pytest.mark.parametrize(("method", "path", "sent", "status", "words"), REFUSED)
async def test_a_refusal_says_what_is_wrong_and_what_to_do(
    registry: Registry, method: str, path: str, sent: dict[str, Any], status: int, words: str
) -> None:
    answer = await registry.ask(method, API + path, **sent)

    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, words in problem["detail"]) == (status, True), problem
    assert problem["hint"] not in {"", problem["detail"]}


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "application/vnd.api+json", "Application/JSON"]
)
async def test_json_by_another_name_is_taken(registry: Registry, kind: str) -> None:
    answer = await registry.post(f"{API}/submissions", **a_body(GOOD, kind))

    assert answer.status_code == 201


def test_every_kind_of_problem_has_a_hint() -> None:
    for kind in (*KINDS.values(), *REFUSALS.values(), OUTAGE, UNEXPECTED):
        assert kind.hint not in {"", kind.detail}, kind.code
