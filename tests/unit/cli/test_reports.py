"""`reports` on the database of this machine, and what it sends to a registry."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.unit.cli.test_remote_commands import REPORT, run, server
from tests.unit.client.conftest import ScriptedServer
from tests.unit.web.pages_cast import put_skill
from vskill_platform.cli.main import cli
from vskill_platform.cli.run_command import run_command
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.db import bound_env

__all__ = ["server"]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry with the skill ada/notes/tidy."""
    monkeypatch.setenv("VSKILL_DATABASE_URL", f"sqlite:///{tmp_path / 'skills.db'}")

    async def fill() -> None:
        await put_skill(bound_env(), tmp_path)

    run_command(fill, create=True)


def reports(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["reports", *arguments])


@pytest.mark.usefixtures("database")
def test_a_report_is_added_listed_and_closed_on_this_machine() -> None:
    made = reports("add", "ada/notes/tidy@1.0.0", "--reason", "it steals", "--json")
    report = msgspec.json.decode(made.stdout)["report"]
    listed = reports("list", "--status", "open")
    closed = reports("close", report["id"], "--answer", "Blocked.")
    after = reports("list", "--status", "open", "--json")
    mine = reports("list", "--json")

    assert made.exit_code == closed.exit_code == 0
    assert (report["subject"], report["version"]) == ("ada/notes/tidy", "1.0.0")
    assert "it steals" in listed.stdout
    assert msgspec.json.decode(after.stdout)["reports"] == []
    assert [one["answer"] for one in msgspec.json.decode(mine.stdout)["reports"]] == ["Blocked."]

    async def audited() -> list[str]:
        return [one.action for one in (await list_audit()).records]

    assert run_command(audited) == ["report close", "report"]


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("subject", ["no/such/skill", "ada/notes/tidy@9.9.9"])
def test_a_report_needs_a_skill_that_exists(subject: str) -> None:
    assert reports("add", subject, "--reason", "x").exit_code == 1


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ((), "/api/v1/reports/mine"),
        (("--status", "open"), "/api/v1/reports?status=open&kind=skill"),
        (("--status", "all"), "/api/v1/reports?status=all&kind=skill"),
        (("--status", "open", "--problems"), "/api/v1/reports?status=open&kind=problem"),
    ],
)
def test_a_list_asks_for_what_was_named(
    server: ScriptedServer,
    options: tuple[str, ...],
    path: str,
) -> None:
    done = run(server, ("reports", "list", *options), answer={"reports": [REPORT]})

    assert done.exit_code == 0, done.output
    assert server.seen[-1].path == path
