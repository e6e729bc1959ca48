"""The access log: one line for each request, without secrets, if the operator wants it."""

from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient
from litestar import get as route
from litestar.params import FromPath

from tests.apps import an_app
from vskill_platform.access.secret_texts import new_token_text
from vskill_platform.model.rights import Right
from vskill_platform.runtime.env import WorkerEnv


async def get(env: WorkerEnv, path: str, *, access_log: bool) -> None:
    settings = msgspec.structs.replace(env.settings, access_log=access_log)
    transport = ASGITransport(cast("Any", an_app(replace(env, settings=settings))))
    async with AsyncClient(transport=transport, base_url="http://registry") as client:
        await client.get(path)


def requests(logs: list[Any]) -> list[Any]:
    return [line for line in logs if line["event"] == "request"]


async def test_a_request_is_logged_with_its_answer(bound: WorkerEnv, logs: list[Any]) -> None:
    await get(bound, "/healthz?secret=1", access_log=True)

    (line,) = requests(logs)
    assert (line["method"], line["path"], line["status"]) == ("GET", "/healthz", 200)
    assert line["bytes"] == len('{"status":"alive"}')
    assert line["request_id"]


@pytest.mark.parametrize("host", ["registry", "elsewhere.example"])
async def test_a_token_in_the_path_is_hidden(bound: WorkerEnv, logs: list[Any], host: str) -> None:
    settings = msgspec.structs.replace(bound.settings, access_log=True)
    transport = ASGITransport(cast("Any", an_app(replace(bound, settings=settings))))
    async with AsyncClient(transport=transport, base_url=f"http://{host}") as client:
        await client.get("/t/vsk_secret/s/@acme/x/.well-known/agent-skills/index.json")

    (line,) = requests(logs)
    assert line["path"].startswith("/t/(hidden)/s/@acme/x/")
    assert "vsk_secret" not in str(logs)


@pytest.mark.parametrize(
    "path",
    [
        "//t/{}/s/@acme/x", "/t//{}/s/@acme/x", "/%74/{}/s/@acme/x", "/T/{}/s/@acme/x",
        "/t/other/t/{}/s/@acme/x", "/./t/{}/s/@acme/x", "/s/{}", "/git/{}.git/info/refs",
    ],
)  # fmt: skip
async def test_a_token_in_the_wrong_place_of_a_path_is_hidden_too(
    bound: WorkerEnv, logs: list[Any], path: str
) -> None:
    token = new_token_text()

    await get(bound, "http://registry" + path.format(token), access_log=True)

    (line,) = requests(logs)
    assert "(hidden)" in line["path"]
    assert token not in str(logs)


@pytest.mark.parametrize("start", ["", "/", "/t/vsk_secret"])
async def test_the_signature_of_a_repository_is_hidden(
    bound: WorkerEnv, logs: list[Any], start: str
) -> None:
    path = f"http://registry{start}/git/signed/123-5ec2e7/@acme/x.git/info/refs"

    await get(bound, path, access_log=True)

    (line,) = requests(logs)
    assert line["path"].endswith("/git/signed/(hidden)/@acme/x.git/info/refs")
    assert "vsk_secret" not in str(logs)


@route("/fails/{name:str}", opt={"right": Right.ANYONE})
async def fails(name: FromPath[str]) -> None:
    raise RuntimeError(len(name))


async def test_the_path_of_a_request_that_failed_shows_no_token(
    bound: WorkerEnv, logs: list[Any]
) -> None:
    token = new_token_text()
    transport = ASGITransport(cast("Any", an_app(bound, fails)))

    async with AsyncClient(transport=transport, base_url="http://registry") as client:
        await client.get(f"/fails/{token}")

    (line,) = [line for line in logs if line["event"] == "request failed"]
    assert line["path"] == "/fails/(hidden)"


async def test_nothing_is_logged_unless_it_is_wanted(bound: WorkerEnv, logs: list[Any]) -> None:
    await get(bound, "/healthz", access_log=False)

    assert requests(logs) == []
