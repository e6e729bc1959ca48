"""Error responses for programs and for people."""

import asyncio
import errno
from dataclasses import replace
from typing import Any, cast

import pytest
import structlog
from httpx import ASGITransport, AsyncClient
from litestar import Litestar, get, route
from litestar.exceptions import HTTPException
from litestar.params import FromQuery

from tests.apps import an_app
from tests.probes import ProbingEngine
from vskill_platform import errors
from vskill_platform.errors import (
    DiskNearlyFull,
    EngineError,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotReady,
    Overtaken,
    VskillError,
)
from vskill_platform.model.rights import Right
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.app import create_app
from vskill_platform.web.http.guard import check_every_handler
from vskill_platform.web.http.problem_kinds import KINDS
from vskill_platform.web.http.visitor import SESSION_COOKIE

ERRORS: dict[str, Exception] = {
    "invalid_input": InvalidInput("the name is <b>odd</b>"),
    "not_allowed": NotAllowed("not yours"),
    "not_found": NotFound("there is no x"),
    "overtaken": Overtaken("too slow"),
    "not_ready": NotReady("later"),
    "outage": EngineError("/secret/path: disk gone"),
    "disk_nearly_full": DiskNearlyFull("/secret/path: the disk is almost full"),
    "out_of_resources": OSError(errno.ENOSPC, "No space left on device", "/secret/path"),
    "unexpected": RuntimeError("secret detail of ours"),
    "refused": HTTPException(status_code=418, detail="a teapot"),
}


@get("/break", opt={"right": Right.ANYONE})
async def break_page(how: FromQuery[str]) -> str:
    raise ERRORS[how]


@get("/api/v1/break", opt={"right": Right.ANYONE})
async def break_api(how: FromQuery[str], number: FromQuery[int] = 0) -> str:
    raise ERRORS[how]


@route("/api/v1/wait", http_method=["GET", "POST"], opt={"right": Right.ANYONE})
async def wait_for_ever() -> str:
    _waiting.set()
    await asyncio.Event().wait()
    return "never"


_waiting = asyncio.Event()


@pytest.fixture
def app(bound: WorkerEnv) -> Litestar:
    return an_app(bound, break_page, break_api, wait_for_ever)


async def test_only_a_read_that_the_end_of_the_server_interrupts_may_be_repeated_at_once(
    app: Litestar,
) -> None:
    transport, found = ASGITransport(cast("Any", app)), []
    async with AsyncClient(transport=transport, base_url="http://registry") as client:
        for method in ("GET", "POST"):
            _waiting.clear()
            asking = asyncio.create_task(client.request(method, "/api/v1/wait"))
            await _waiting.wait()
            asking.cancel()  # as the web server does when the time to finish is over
            answer = await asking
            says_when = "retry-after" in answer.headers
            found.append((answer.status_code, answer.json()["code"], says_when))

    # A client that repeats a change on its own could do twice what was stored already.
    assert found == [(503, "busy", True), (500, "interrupted", False)]


@pytest.mark.parametrize("code", list(ERRORS))
async def test_a_program_gets_a_problem_with_code_and_request_id(
    program: AsyncClient, code: str
) -> None:
    answer = await program.get("/api/v1/break", params={"how": code})

    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(problem) == {
        "type", "title", "status", "detail", "code", "hint", "request_id", "error",
    }  # fmt: skip
    assert (problem["code"], problem["status"]) == (code, answer.status_code)
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert problem["title"] == problem["error"] != ""
    assert problem["detail"]
    assert problem["hint"] not in {"", problem["detail"]}


@pytest.mark.parametrize("code", list(ERRORS))
async def test_a_person_gets_a_page_in_the_same_words(browser: AsyncClient, code: str) -> None:
    answer = await browser.get("/break", params={"how": code})

    assert answer.headers["content-type"].startswith("text/html")
    assert code in answer.text
    assert answer.headers["x-request-id"] in answer.text
    assert "<b>odd</b>" not in answer.text


async def test_a_page_gives_no_hint_for_programs(browser: AsyncClient) -> None:
    page = await browser.get("/break", params={"how": "invalid_input"})

    assert "Go back, correct it and try again." in page.text
    assert "describes every operation" not in page.text


async def test_the_api_never_answers_with_a_page(browser: AsyncClient) -> None:
    for path in ("/api/v1/break?how=not_found", "/api/v1/nothing", "/api/v1/break"):
        answer = await browser.get(path)
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("how", ["outage", "disk_nearly_full", "out_of_resources", "unexpected"])
async def test_internal_details_are_only_in_the_log(
    browser: AsyncClient, program: AsyncClient, logs: list[Any], how: str
) -> None:
    page = await browser.get("/break", params={"how": how})
    problem = await program.get("/api/v1/break", params={"how": how})

    for answer in (page, problem):
        assert "secret" not in answer.text
        assert "Traceback" not in answer.text
    assert len(logs) == 2
    assert "secret" in str(logs[0].get("error") or logs[0].get("exc_info"))


async def test_an_outage_says_when_to_come_back(program: AsyncClient) -> None:
    answer = await program.get("/api/v1/break", params={"how": "outage"})

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


async def test_a_path_that_does_not_exist_is_a_page_like_any_other(browser: AsyncClient) -> None:
    page = await browser.get("/nothing/<script>")

    assert page.status_code == 404
    assert "<h1>Not found</h1>" in page.text
    assert "<script>" not in page.text.split("<main", 1)[1]


async def test_a_method_that_a_path_does_not_know_names_those_it_does(program: AsyncClient) -> None:
    answer = await program.delete("/healthz")

    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
    assert answer.json()["code"] == "method_not_allowed"
    assert "DELETE" in answer.json()["detail"]
    assert "Allow" in answer.json()["hint"]


async def test_a_wrong_parameter_is_named(program: AsyncClient) -> None:
    answer = await program.get("/api/v1/break", params={"how": "not_found", "number": "many"})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert "number" in answer.json()["detail"]


async def test_every_answer_has_an_id_of_its_own_and_the_headers(
    browser: AsyncClient, program: AsyncClient
) -> None:
    ids = set()
    for path in ("/healthz", "/sign-in", "/static/style.css", "/nothing", "/break?how=unexpected"):
        for client in (browser, program):
            answer = await client.get(path, headers={"X-Request-Id": "chosen-by-somebody-else"})
            ids.add(answer.headers["x-request-id"])
            assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
            assert "unsafe" not in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "same-origin"
            assert answer.headers["x-frame-options"] == "DENY"

    assert len(ids) == 10
    assert "chosen-by-somebody-else" not in ids


async def test_log_lines_of_a_request_name_it(bound: WorkerEnv) -> None:
    seen: list[Any] = []

    @get("/api/v1/look", opt={"right": Right.ANYONE})
    async def look() -> str:
        seen.append(structlog.contextvars.get_contextvars())
        return ""

    transport = ASGITransport(cast("Any", an_app(bound, look)))
    async with AsyncClient(transport=transport, base_url="http://registry") as program:
        answer = await program.get("/api/v1/look")

    assert seen == [{"request_id": answer.headers["x-request-id"]}]
    assert structlog.contextvars.get_contextvars() == {}


def test_more_specific_errors_come_first() -> None:
    kinds = list(KINDS)

    for place, kind in enumerate(kinds):
        assert issubclass(kind, VskillError)
        assert not any(issubclass(later, kind) for later in kinds[place + 1 :])


async def test_a_handler_without_a_right_stops_the_start(bound: WorkerEnv) -> None:
    @get("/forgotten")
    async def forgotten() -> str:
        return ""

    app = create_app(bound)
    app.register(forgotten)

    with pytest.raises(errors.ConfigError, match="/forgotten"):
        check_every_handler(app)


@pytest.mark.parametrize(
    ("path", "secret"),
    [("/account", "a" * 43), ("/api/v1/account", "a" * 43), ("/api/v1/skills/a/b/c", "")],
    ids=["page", "api", "before the routing"],
)
async def test_an_outage_on_the_way_in_is_one_too(
    bound: WorkerEnv, logs: list[Any], path: str, secret: str
) -> None:
    probe = ProbingEngine(bound.engine)
    transport = ASGITransport(cast("Any", an_app(replace(bound, engine=probe))))
    async with AsyncClient(transport=transport, base_url="http://registry") as client:
        client.cookies.set(SESSION_COOKIE, secret)
        probe.kv.fails = lambda _: EngineError("/secret/path: disk gone")

        answer = await client.get(path)

    assert (answer.status_code, answer.json()["code"]) == (503, "outage")
    assert answer.headers["retry-after"] == "5"
    assert answer.headers["x-request-id"] == answer.json()["request_id"]
