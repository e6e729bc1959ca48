"""Which requests are ClawHub's, where our API has the same paths."""

from typing import Any, cast

import pytest
from litestar.types import Scope

from tests.cases import all_cases
from vskill_platform.web.protocols.clawhub.paths import is_clawhub

NODE, VSKILL, CURL = "node", "vskill-cli", "curl/8.5.0"


def a_request(line: str, agent: str) -> Scope:
    method, _, target = line.partition(" ")
    path, _, query = target.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"user-agent", agent.encode())],
    }
    return cast("Scope", scope)


@all_cases(
    "line",
    [
        "GET /api/v1/search?q=x",
        "GET /api/v1/resolve?slug=tidy&hash=0",
        "GET /api/v1/download?slug=tidy",
        "GET /api/v1/whoami",
        "POST /api/v1/skills",
        "POST /api/v1/skills/-/security-verdicts",
        "GET /api/v1/skills/tidy?ownerHandle=ada",
        "HEAD /api/v1/skills/tidy?ownerHandle=ada",
        "GET /api/v1/skills/tidy/versions/1.0.0?ownerHandle=ada",
        "GET /api/v1/skills/tidy/verify",
        "GET /api/v1/skills/tidy/install",
        "DELETE /api/v1/skills/tidy",
        "DELETE /api/v1/skills/tidy/versions/1.0.0",
        "POST /api/v1/skills/tidy/versions/1.0.0/restore",
        "POST /api/v1/skills/tidy/tags/beta",
        "POST /api/v1/stars/tidy",
        "GET /api/v1/packages/x",
        "POST /api/cli/telemetry/install",
    ],
)
@all_cases("agent", [NODE, VSKILL, CURL])
def test_a_path_of_clawhub_alone_is_answered_for_every_client(line: str, agent: str) -> None:
    assert is_clawhub(a_request(line, agent))


@pytest.mark.parametrize(
    "line",
    [
        "GET /api/v1/skills?limit=25",
        "GET /api/v1/skills/tidy",
        "GET /api/v1/skills/tidy/versions",
        "GET /api/v1/skills/tidy/versions/1.0.0",
    ],
)
def test_the_client_decides_about_a_path_of_both(line: str) -> None:
    assert is_clawhub(a_request(line, NODE))
    assert not is_clawhub(a_request(line, VSKILL))
    assert not is_clawhub(a_request(line, CURL))


@all_cases(
    "line",
    [
        "GET /",
        "GET /api",
        "GET /api/search?q=x",
        "GET /api/v1/skills/search?q=x",
        "GET /api/v1/skills?q=x",
        "GET /api/v1/skills?page=2",
        "GET /api/v1/skills/@ada/tidy",
        "GET /api/v1/skills/@ada/verify",
        "GET /api/v1/skills/ada/notes/tidy",
        "GET /api/v1/skills/ada/versions/tidy",
        "GET /api/v1/skills/ada/file/tidy",
        "GET /api/v1/skills/tidy/security",
        "GET /api/v1/skills/tidy/download",
        "POST /api/v1/skills/installs",
        "POST /api/v1/skills/tidy/installs",
        "POST /api/v1/skills/@ada/tidy/yank",
        "POST /api/v1/skills/ada/tags/tidy/yank",
        "POST /api/v1/submissions",
        "GET /api/v1/users",
    ],
)
def test_our_own_paths_are_the_same_for_every_client(line: str) -> None:
    assert not is_clawhub(a_request(line, NODE))
