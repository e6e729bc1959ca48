"""`sessions`: what it shows, and what it sends."""

import msgspec
import pytest
from click.testing import CliRunner

from tests.unit.client.conftest import Reply, ScriptedServer
from vskill_platform.cli.main import cli

SESSIONS = {
    "user": "ada",
    "sessions": [
        {
            "id": "0123456789abcdef", "createdAt": "2026-03-01T12:00:00Z",
            "lastUsedAt": "2026-03-02T12:30:00Z", "expiresAt": "2026-03-08T12:00:00Z",
            "address": "203.0.113.7", "browser": "Firefox on Linux", "isCurrent": False,
        }
    ],
}  # fmt: skip


@pytest.fixture
def server(scripted: ScriptedServer) -> ScriptedServer:
    scripted.replies = [Reply(body=msgspec.json.encode(SESSIONS))]
    return scripted


def test_sessions_are_listed(server: ScriptedServer) -> None:
    done = CliRunner().invoke(cli, ["sessions", "list"])
    as_json = CliRunner().invoke(cli, ["sessions", "list", "--json"])

    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1].split("\t") == [
        "0123456789abcdef", "2026-03-02 12:30", "2026-03-08 12:00", "203.0.113.7",
        "Firefox on Linux",
    ]  # fmt: skip
    assert msgspec.json.decode(as_json.output) == SESSIONS


@pytest.mark.parametrize(
    ("arguments", "path", "words"),
    [
        (["0123456789abcdef"], "/api/v1/account/sessions/0123456789abcdef", "Session 01234"),
        (["--all"], "/api/v1/auth/sign-out-all", "All your sessions have ended on http://"),
    ],
)
def test_sessions_are_ended(
    server: ScriptedServer, arguments: list[str], path: str, words: str
) -> None:
    server.replies = [Reply(body=b'{"ok":true}')]

    done = CliRunner().invoke(cli, ["sessions", "end", *arguments])

    assert done.exit_code == 0, done.output
    assert done.output.startswith(words)
    assert [(one.method, one.path) for one in server.seen] == [("DELETE", path)]


@pytest.mark.parametrize("arguments", [[], ["0123456789abcdef", "--all"]])
def test_what_to_end_must_be_clear(server: ScriptedServer, arguments: list[str]) -> None:
    refused = CliRunner().invoke(cli, ["sessions", "end", *arguments])

    assert refused.exit_code == 2
    assert "name a session, or use --all" in refused.output
    assert server.seen == []
