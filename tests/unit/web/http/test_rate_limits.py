"""Visitors with too many requests have to wait, and nobody else."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient
from litestar import Litestar, post

from tests.apps import an_app
from tests.clocks import NOON, ManualClock
from tests.people import a_user, let_in
from vskill_platform.access.tokens import add_token
from vskill_platform.errors import TooMany
from vskill_platform.model.rights import Right
from vskill_platform.model.user import Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.http import rate_limits
from vskill_platform.web.http.rate_limits import RateLimits, address_key


@post("/api/v1/a-write", opt={"right": Right.ANYONE}, status_code=200)
async def a_write() -> str:
    return "done"


@pytest.fixture
def app(bound: WorkerEnv) -> Litestar:
    settings = msgspec.structs.replace(bound.settings, reads_per_minute=6, writes_per_minute=3)
    return an_app(replace(bound, settings=settings), a_write)


def from_address(app: Any, address: str) -> AsyncClient:
    transport = ASGITransport(app, client=(address, 1234))
    return AsyncClient(transport=transport, base_url="http://registry")


async def test_too_many_reads_get_a_retry_after(program: AsyncClient, clock: ManualClock) -> None:
    answers = [await program.get("/sign-in") for _ in range(7)]
    clock.advance(seconds=10)
    later = await program.get("/sign-in")

    assert [answer.status_code for answer in answers] == [200] * 6 + [429]
    assert answers[-1].headers["retry-after"] == "10"
    assert answers[-1].json()["code"] == "too_many"
    assert later.status_code == 200


async def test_a_person_gets_a_page_about_it(browser: AsyncClient) -> None:
    for _ in range(6):
        await browser.get("/sign-in")

    page = await browser.get("/sign-in")

    assert page.status_code == 429
    assert "Too many requests" in page.text


async def test_writes_are_counted_apart_and_allowed_less_often(program: AsyncClient) -> None:
    answers = [(await program.post("/api/v1/a-write")).status_code for _ in range(4)]

    assert answers == [200, 200, 200, 429]
    assert (await program.get("/sign-in")).status_code == 200


async def test_requests_for_missing_pages_count_too(program: AsyncClient) -> None:
    answers = [(await program.get(f"/nothing/{number}")).status_code for number in range(7)]

    assert answers == [404] * 6 + [429]


async def test_each_address_is_counted_by_itself(app: Litestar) -> None:
    for address in ("203.0.113.1", "203.0.113.2"):
        async with from_address(app, address) as client:
            answers = [(await client.get("/sign-in")).status_code for _ in range(7)]
            assert answers == [200] * 6 + [429]


async def test_a_network_of_the_newer_kind_is_one_visitor(app: Litestar) -> None:
    answers = []
    for number in range(7):
        async with from_address(app, f"2001:db8:1:2::{number}") as client:
            answers.append((await client.get("/sign-in")).status_code)

    assert answers == [200] * 6 + [429]


async def test_users_are_counted_with_all_their_tokens_apart_from_their_address(
    app: Litestar, program: AsyncClient
) -> None:
    user = await a_user()
    tokens = [await add_token("ada", str(n), [Scope.READ], actor="ada") for n in range(2)]
    for _ in range(7):
        await program.get("/sign-in")
    headers = [{"Authorization": f"Bearer {token.text}"} for token in tokens]

    first = [(await program.get("/sign-in", headers=headers[0])).status_code for _ in range(7)]
    second = await program.get("/sign-in", headers=headers[1])
    await let_in(program, user)
    by_session = await program.get("/account")

    assert first == [200] * 6 + [429]
    assert second.status_code == 429
    assert by_session.status_code == 429


async def test_attempts_with_invalid_tokens_are_counted_by_address(program: AsyncClient) -> None:
    headers = {"Authorization": "Bearer vsk_" + "a" * 40}

    answers = [(await program.get("/sign-in", headers=headers)).status_code for _ in range(7)]

    assert answers == [401] * 6 + [429]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/healthz", 200),
        ("/healthz/queue", 200),
        ("/readyz", 503),  # this application has no search index
        ("/static/style.css", 200),
    ],
)
async def test_health_and_static_files_are_not_counted(
    program: AsyncClient, path: str, status: int
) -> None:
    answers = {(await program.get(path)).status_code for _ in range(20)}

    assert answers == {status}


def test_it_comes_back_evenly() -> None:
    limits, now = RateLimits(), NOON
    for _ in range(60):
        limits.take("read", "ada", per_minute=60, now=now)

    for _ in range(100):
        with pytest.raises(TooMany) as refused:
            limits.take("read", "ada", per_minute=60, now=now)
        assert refused.value.retry_after == timedelta(seconds=1)
        now += timedelta(seconds=1)
        limits.take("read", "ada", per_minute=60, now=now)


def test_a_clock_that_goes_back_locks_nobody_out() -> None:
    limits = RateLimits()
    for _ in range(3):
        limits.take("read", "ada", per_minute=3, now=NOON)

    limits.take("read", "ada", per_minute=3, now=NOON - timedelta(hours=1))


def test_it_remembers_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "_MOST", 100)
    limits = RateLimits()
    for _ in range(3):
        limits.take("read", "loud", per_minute=3, now=NOON)

    for number in range(1000):
        limits.take("read", f"address {number}", per_minute=600, now=NOON)

    assert len(limits._whole_at) <= 100
    with pytest.raises(TooMany):
        limits.take("read", "loud", per_minute=3, now=NOON)


def test_an_older_address_in_the_clothes_of_a_newer_one_is_the_older_one() -> None:
    assert address_key("::ffff:203.0.113.7") == address_key("203.0.113.7")
    assert address_key("::ffff:203.0.113.7") != address_key("::ffff:198.51.100.1")


def test_addresses_that_are_none_are_one_visitor() -> None:
    assert address_key("") == address_key("not an address")
