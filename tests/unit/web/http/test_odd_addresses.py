"""Unusual URLs: every route responds to them, and none fails."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import cycle, islice

import msgspec
import pytest
from litestar.routes import HTTPRoute

from tests.unit.web.api_cast import Registry, browser_of, open_registry, token_of
from tests.unit.web.pages_cast import put_submission
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv

#: NUL, controls, bytes that are no UTF-8, a lone surrogate, a long one, ways out, numbers.
ODD = (
    "%00", "a%00b", "%1b%5b31m", "%0d%0aX-Evil:%201", "%ff%fe", "%c0%af", "%ed%a0%80", "%e2%80%ae",
    "%f0%9f%92%a9", "..%2f..%2fetc%2fpasswd", "%2e%2e", "a" * 5000, "%27%22%29%3b--", "*", "-1",
    "99999999999999999999", "1e9", "%7b%7b7*7%7d%7d", "NaN", "%25", "%5c", "a%2fb", "%20", "+",
)  # fmt: skip
QUERIES = ("q", "cursor", "limit", "sort", "state", "set", "version", "from", "to", "next", "page",
           "ids", "name", "hash", "repoUrl", "tag", "agent", "tier", "offset", "mine", "after",
           "namespace", "source", "format", "path", "since")  # fmt: skip
_PARAMETER = re.compile(r"\{[^}]+\}")


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


def addresses(registry: Registry) -> Iterator[str]:
    """Return the path of every route that is read, without those that never end."""
    for route in registry.app.routes:
        is_read = isinstance(route, HTTPRoute) and "GET" in route.methods
        if is_read and not route.path.startswith("/live"):
            yield route.path


async def broken(registry: Registry, paths: list[str], who: dict[str, str]) -> list[str]:
    found = []
    for path in paths:
        registry.app.state.limits._whole_at.clear()
        answer = await registry.client.get(path, headers=who)
        if answer.status_code >= 500:
            found.append(f"{answer.status_code} {path[:80]}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("as_admin", [pytest.param(False, marks=pytest.mark.torture), True])
async def test_no_odd_part_of_an_address_breaks_a_route(
    registry: Registry, *, as_admin: bool
) -> None:
    who = await token_of(Role.ADMIN) if as_admin else {"Accept": "text/html"}
    routes = list(addresses(registry))
    paths = [odd.join(_PARAMETER.split(path)) for path in routes for odd in ODD if "{" in path]
    paths += [f"{path.rstrip('/')}/{odd}" for path in routes if "{" not in path for odd in ODD[:6]]

    assert await broken(registry, paths, who) == []


def odd_query(first: int) -> str:
    words = islice(cycle(ODD), first, None)
    return "&".join(f"{name}={odd[:300]}" for name, odd in zip(QUERIES, words, strict=False))


@pytest.mark.slow
@pytest.mark.parametrize("as_admin", [pytest.param(False, marks=pytest.mark.torture), True])
async def test_no_odd_word_of_a_query_breaks_a_route(registry: Registry, *, as_admin: bool) -> None:
    who = await browser_of(Role.ADMIN) if as_admin else {}
    known = await put_submission(registry.env, SubmissionState.REJECTED)
    routes = [_PARAMETER.sub(known.id, path) for path in addresses(registry)]
    # Each route gets three queries, in which each name has another odd word, all words in turn.
    paths = [
        f"{path}?{odd_query(first)}"
        for number, path in enumerate(routes)
        for first in range(number % 8, len(ODD), 8)
    ]

    assert await broken(registry, paths, who) == []


@pytest.mark.parametrize(
    "path", ["/static/a%00b", "/static/%00", f"/static/{'a' * 5000}", "/skills/a%00/b"]
)
async def test_an_impossible_file_name_is_a_404(registry: Registry, path: str) -> None:
    assert (await registry.client.get(path)).status_code == 404


@pytest.fixture
async def strict(bound: WorkerEnv) -> AsyncIterator[Registry]:
    """A registry that lets one visitor ask three times a minute."""
    settings = msgspec.structs.replace(bound.settings, reads_per_minute=3)
    async with open_registry(replace(bound, settings=settings)) as opened:
        yield opened


@pytest.mark.parametrize(
    "path", ["/healthz-x", "/readyzzz", "/healthz/x", "/static/a%00", "/static"]
)
async def test_an_address_that_begins_like_a_plain_one_is_counted(
    strict: Registry, path: str
) -> None:
    answers = [(await strict.client.get(path)).status_code for _ in range(4)]

    assert answers == [404, 404, 404, 429]


async def test_a_wrong_host_is_counted(strict: Registry) -> None:
    elsewhere = {"Host": "evil.example"}

    answers = [(await strict.client.get("/", headers=elsewhere)).status_code for _ in range(4)]

    assert answers == [421, 421, 421, 429]


@pytest.mark.parametrize("path", ["/static/style.css", "/healthz"])
async def test_static_files_and_health_are_not_counted(strict: Registry, path: str) -> None:
    answers = [(await strict.client.get(path)).status_code for _ in range(4)]

    assert answers == [200] * 4
