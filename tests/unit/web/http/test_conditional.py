"""If-None-Match is compared in the same way, whatever response it is about."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cases import all_cases
from tests.unit.web.api_cast import Registry, open_registry
from tests.unit.web.pages_cast import put_skill
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.http.conditional import is_known

SLUG = "ada/notes/tidy"


@pytest.fixture
async def registry(bound: WorkerEnv, tmp_path: Path) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        await put_skill(bound, tmp_path)
        yield opened


@all_cases(
    ("header", "tag", "known"),
    [
        ('"a"', '"a"', True),
        ('W/"a"', '"a"', True),
        ('"a"', 'W/"a"', True),
        ('W/"a"', 'W/"a"', True),
        ("*", '"a"', True),
        (' "b" , W/"a"', '"a"', True),
        ('"b,c","a"', '"a"', True),
        ('"b,c"', '"b,c"', True),
        ("", '"a"', False),
        ('"ab"', '"a"', False),
        ('"b"', '"a"', False),
        ("a", '"a"', False),
        ('"*"', '"a"', False),
    ],
)
def test_tags_are_compared_whole_and_weakly(header: str, tag: str, known: bool) -> None:
    assert is_known(header, tag) is known


@all_cases(
    "path",
    [
        "/api/v1/skills", f"/api/v1/skills/{SLUG}", f"/api/v1/skills/{SLUG}/download",
        f"/api/v1/skills/{SLUG}/badge", "/api/openapi.json",
        "/.well-known/agent-skills/index.json", "/.claude-plugin/marketplace.json",
        "/clawhub/api/v1/skills",
    ],
)  # fmt: skip
async def test_a_client_gets_no_copy_of_what_it_has(registry: Registry, path: str) -> None:
    whole = await registry.get(path)
    tag = whole.headers["etag"]
    strong = tag.removeprefix("W/")

    for known in (tag, strong, f"W/{strong}", "*", f'"other", {strong}'):
        again = await registry.get(path, headers={"If-None-Match": known})
        assert (again.status_code, again.content) == (304, b""), (path, known)
        assert again.headers["etag"] == tag
    other = await registry.get(path, headers={"If-None-Match": f'"x{strong[1:]}'})
    assert other.status_code == 200
