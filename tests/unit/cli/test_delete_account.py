"""`delete-account`: what it shows, asks for and sends, and that the token is forgotten."""

import msgspec
import pytest
from click.testing import CliRunner

from tests.unit.client.conftest import Reply, ScriptedServer
from vskill_platform.cli.main import cli
from vskill_platform.client.credentials import read_registries, read_token

PREVIEW = {
    "name": "ada", "tokens": 2, "sessions": 1, "followed": 0, "ownerless": {"@ada": 1},
    "shared": [], "webhooks": 0, "trustedPublishers": 0,
    "needsPassword": True, "needsCode": True, "refused": None,
}  # fmt: skip


@pytest.fixture
def server(scripted: ScriptedServer) -> ScriptedServer:
    scripted.replies = [Reply(body=msgspec.json.encode(PREVIEW))]
    return scripted


def test_it_sends_the_proofs_and_forgets_the_token(server: ScriptedServer) -> None:
    arguments = ["delete-account", "--confirm", "ada", "--password-stdin", "--code", "123456"]

    done = CliRunner().invoke(cli, arguments, input="correct horse\n")

    assert done.exit_code == 0, done.output
    assert done.output == (
        f"Deleted ada on here ({server.url}): 2 tokens, 1 session.\n"
        "@ada has no other owner; 1 skill stays in it.\n"
    )
    assert [one.path for one in server.seen] == [
        "/api/v1/account/deletion",
        "/api/v1/account/delete",
    ]
    sent = msgspec.json.decode(server.seen[1].body)
    assert sent == {"confirm": "ada", "password": "correct horse", "code": "123456"}
    assert (read_token("here"), list(read_registries().registries)) == ("", ["here"])


def test_a_dry_run_only_shows(server: ScriptedServer) -> None:
    in_words = CliRunner().invoke(cli, ["delete-account", "--dry-run"])
    shown = CliRunner().invoke(cli, ["delete-account", "--dry-run", "--json"])

    found = msgspec.json.decode(shown.output)
    assert in_words.output.startswith(f"Would delete ada on here ({server.url}): 2 tokens")
    assert (found["registry"], found["url"], found["needsCode"]) == ("here", server.url, True)
    assert len(server.seen) == 2
    assert read_token("here") == "vsk_token"


def test_nothing_is_deleted_without_a_terminal_to_confirm(server: ScriptedServer) -> None:
    refused = CliRunner().invoke(cli, ["delete-account"])

    assert refused.exit_code == 1
    assert "without a terminal to confirm, nothing was deleted" in str(refused.exception)
    assert len(server.seen) == 1


def test_what_the_registry_refuses_is_not_asked_for(server: ScriptedServer) -> None:
    server.replies = [Reply(body=msgspec.json.encode({**PREVIEW, "refused": "no password"}))]

    refused = CliRunner().invoke(cli, ["delete-account", "--confirm", "ada"])

    assert (refused.exit_code, str(refused.exception)) == (1, "no password")
    assert len(server.seen) == 1
