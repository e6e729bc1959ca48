"""`visibility`, on this machine and on a registry."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tests.casts import a_published_skill
from tests.unit.client.conftest import Reply, ScriptedServer
from vskill_platform.access.namespaces import add_owner
from vskill_platform.access.users import add_user
from vskill_platform.cli.main import cli
from vskill_platform.cli.run_command import run_command
from vskill_platform.model.user import Role
from vskill_platform.stores.db import commit
from vskill_platform.stores.skill_store import get_skill, write_skill

SLUG = "team/notes/one"


async def _fill() -> None:
    await add_user("ada", Role.PUBLISHER, actor="test")
    await add_owner("team", "ada", actor="test")
    skill = a_published_skill(SLUG, publisher="github.com/team")
    assert await commit([write_skill(skill, expected=0)])


async def _is_private() -> bool:
    stored = await get_skill(SLUG)
    assert stored
    return stored.record.is_private


def test_a_skill_becomes_private_and_public_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VSKILL_DATABASE_URL", f"sqlite:///{tmp_path / 'skills.db'}")
    run_command(_fill, create=True)

    hidden = CliRunner().invoke(cli, ["visibility", SLUG, "private", "--reason", "a draft"])
    is_private = run_command(_is_private, read_only=True)
    shown = CliRunner().invoke(cli, ["visibility", SLUG, "public", "--reason", "done", "--json"])
    odd = CliRunner().invoke(cli, ["visibility", SLUG, "hidden", "--reason", "x"])

    assert (hidden.output, is_private) == (f"{SLUG} is private now.\n", True)
    assert '"private": false' in shown.output
    assert run_command(_is_private, read_only=True) is False
    assert odd.exit_code == 2


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    scripted = ScriptedServer()
    scripted.replies = [Reply(body=b'{"slug": "team/notes/one", "private": true}')]
    yield scripted
    scripted.close()


def test_a_registry_is_asked(server: ScriptedServer) -> None:
    words = ["visibility", SLUG, "private", "--reason", "a draft", "--registry", server.url]

    done = CliRunner().invoke(cli, words)

    assert done.output == f"{SLUG} is private now.\n"
    (seen,) = server.seen
    assert seen.path == "/api/v1/skills/team%2Fnotes%2Fone/visibility"
    assert msgspec.json.decode(seen.body) == {"private": True, "reason": "a draft"}
