"""`delete --namespace`: shown first, confirmed, and done, on this machine and on a registry."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.casts import a_published_skill
from tests.unit.client.conftest import Reply, ScriptedServer
from vskill_platform.access.namespaces import add_owner
from vskill_platform.access.users import add_user
from vskill_platform.cli.main import cli
from vskill_platform.cli.run_command import run_command
from vskill_platform.errors import InvalidInput, NotAllowed
from vskill_platform.model.user import Role
from vskill_platform.stores.db import commit
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.skill_store import list_slugs_in, write_skill

SLUGS = ["team/notes/one", "team/notes/two"]
SHOWN = {
    "namespace": "team", "skills": [{"slug": SLUGS[0], "versions": 2, "installs": 1}],
    "owners": ["ada"], "members": [], "webhooks": 1, "trustedPublishers": 0, "tokens": 2,
    "installs": 1, "bytes": 1234, "refused": None,
}  # fmt: skip
WORDS = (
    "the namespace team: 1 skill, 1,234 bytes, 1 webhook, 0 trusted publishers, 2 tokens.\n"
    "  team/notes/one: 2 versions, 1 install\n"
)


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["delete", "team", "--namespace", *words])


@pytest.fixture
def local_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this machine a registry where Ada owns the namespace team with two skills."""
    monkeypatch.setenv("VSKILL_DATABASE_URL", f"sqlite:///{tmp_path / 'skills.db'}")

    async def fill() -> None:
        await add_user("ada", Role.PUBLISHER, actor="test")
        await add_owner("team", "ada", actor="test")
        skills = [a_published_skill(slug, publisher="github.com/team") for slug in SLUGS]
        assert await commit([write_skill(skill, expected=0) for skill in skills])

    run_command(fill, create=True)


async def what_is_left() -> tuple[list[str], bool]:
    return await list_slugs_in("team"), (await get_namespace("team")).record.deleted is not None


@pytest.mark.usefixtures("local_database")
def test_a_dry_run_shows_what_would_go_and_deletes_nothing() -> None:
    done = run("--dry-run")

    assert done.exit_code == 0, done.output
    assert done.output.startswith("Would delete the namespace team: 2 skills, ")
    assert all(slug in done.output for slug in SLUGS)
    assert run_command(what_is_left, read_only=True) == (SLUGS, False)


@pytest.mark.usefixtures("local_database")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--reason", "we moved"), "without a terminal to confirm, nothing was deleted; use --yes"),
        (("--yes",), "give a --reason"),
        (("--reason", "x", "--yes", "--version", "1.0.0"), "cannot be combined with --version"),
    ],
    ids=["not confirmed", "no reason", "with a version"],
)
def test_nothing_is_deleted_without_a_reason_and_a_confirmation(
    words: tuple[str, ...], why: str
) -> None:
    refused = run(*words)

    assert isinstance(refused.exception, InvalidInput | NotAllowed)
    assert why in str(refused.exception)
    assert run_command(what_is_left, read_only=True) == (SLUGS, False)


@pytest.mark.usefixtures("local_database")
def test_all_skills_go_with_their_namespace() -> None:
    done = run("--reason", "we moved", "--yes", "--json")

    assert done.exit_code == 0, done.output
    answer = msgspec.json.decode(done.stdout)
    assert (answer["namespace"], answer["owners"]) == ("team", ["ada"])
    assert [skill["slug"] for skill in answer["skills"]] == SLUGS
    assert run_command(what_is_left, read_only=True) == ([], True)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    scripted = ScriptedServer()
    scripted.replies = [Reply(body=msgspec.json.encode(SHOWN))]
    yield scripted
    scripted.close()


def test_a_registry_previews_a_deletion_and_records_the_reason(server: ScriptedServer) -> None:
    done = run("--registry", server.url, "--reason", "we moved", "--yes")

    assert done.exit_code == 0, done.output
    assert done.output == f"Deleted {WORDS}"
    shown, deleted = server.seen
    path = urlsplit(shown.path)
    assert (shown.method, path.path) == ("GET", "/api/v1/namespaces/deletion")
    assert parse_qs(path.query) == {"namespace": ["team"]}
    assert (deleted.method, deleted.path) == ("POST", "/api/v1/namespaces/delete")
    assert msgspec.json.decode(deleted.body) == {"namespace": "team", "reason": "we moved"}


def test_a_registry_that_refuses_is_not_asked_to_delete(server: ScriptedServer) -> None:
    why = "1 skill cannot be deleted by an owner"
    server.replies = [Reply(body=msgspec.json.encode({**SHOWN, "refused": why}))]

    dry = run("--registry", server.url, "--dry-run")
    refused = run("--registry", server.url, "--reason", "we moved", "--yes")

    assert dry.exit_code == 0
    assert dry.stdout == f"Would delete {WORDS}"
    assert dry.stderr == f"Not allowed: {why}\n"
    assert isinstance(refused.exception, NotAllowed)
    assert str(refused.exception) == why
    assert {seen.method for seen in server.seen} == {"GET"}
