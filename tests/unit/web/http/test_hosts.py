"""A page of another site whose name resolves to this server is refused (DNS rebinding)."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient

from tests.apps import an_app
from tests.cases import all_cases
from vskill_platform.runtime.env import WorkerEnv

REBOUND = "evil.example"


@pytest.fixture
async def program(bound: WorkerEnv) -> AsyncIterator[AsyncClient]:
    """A program that reaches a registry with nothing set but where it listens."""
    async with a_program(bound, allowed_hosts="") as client:
        yield client


def a_program(env: WorkerEnv, **changes: str) -> AsyncClient:
    settings = msgspec.structs.replace(env.settings, **changes)
    app = an_app(replace(env, settings=settings))
    transport = ASGITransport(cast("Any", app))
    return AsyncClient(transport=transport, base_url="http://203.0.113.7:8000")


async def status(client: AsyncClient, host: str, path: str = "/sign-in") -> int:
    return (await client.get(path, headers={"Host": host})).status_code


@all_cases(
    "host",
    [REBOUND, f"{REBOUND}:8000", "127.0.0.1.evil.example", "localhost.evil.example", "", ":8000",
     "localhost:80@evil.example", "evil.example:x", "registry", "127.0.0.1,evil.example"],
)  # fmt: skip
@all_cases("path", ["/", "/sign-in", "/api/v1/skills", "/static/x.css", "/healthz-x"])
async def test_a_name_that_is_not_ours_is_refused(
    program: AsyncClient, host: str, path: str
) -> None:
    answer = await program.get(path, headers={"Host": host})

    assert (answer.status_code, answer.json()["code"]) == (421, "wrong_host")
    assert "VSKILL_PUBLIC_URL" in answer.json()["detail"]


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8000", "localhost", "LOCALHOST:8000", "[::1]:8000", "[::1]", "127.9.9.9",
     "skills.localhost", "192.0.2.9:8000", "[2001:db8::1]"],
)  # fmt: skip
async def test_addresses_and_this_machine_are_ours_as_long_as_nothing_is_set(
    program: AsyncClient, host: str
) -> None:
    assert await status(program, host) == 200


async def test_hosts_named_by_the_operator_are_accepted(bound: WorkerEnv) -> None:
    program = a_program(
        bound,
        host="web.internal",
        public_url="https://Skills.example:8443/registry",
        allowed_hosts="old.example, lan.example",
    )

    ours = ("skills.example", "SKILLS.example:8443", "skills.example.", "old.example:80",
            "lan.example", "web.internal", "127.0.0.1", "203.0.113.7")  # fmt: skip
    others = (REBOUND, "example", "198.51.100.7", "x.skills.example")

    async with program:
        assert [await status(program, host) for host in ours] == [200] * len(ours)
        assert [await status(program, host) for host in others] == [421] * len(others)


async def test_two_hosts_are_none(program: AsyncClient) -> None:
    headers = [("Host", "localhost"), ("Host", REBOUND)]

    assert (await program.get("/sign-in", headers=headers)).status_code == 421


@pytest.mark.parametrize(
    ("path", "answer"), [("/healthz", 200), ("/healthz/queue", 200), ("/readyz", 503)]
)
async def test_a_health_check_may_use_any_host_name(
    program: AsyncClient, path: str, answer: int
) -> None:
    assert await status(program, "pod-7.cluster.internal", path) == answer
    assert await status(program, "pod-7.cluster.internal", f"{path}/") == 421


async def test_a_sign_in_and_a_submission_under_another_name_are_refused(
    program: AsyncClient,
) -> None:
    submitted = await program.post(
        "/api/v1/submissions", json={"repoUrl": "ada/notes"}, headers={"Host": REBOUND}
    )

    assert submitted.status_code == 421
