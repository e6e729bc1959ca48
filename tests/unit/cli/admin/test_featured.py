"""`admin featured` on this machine: listed, added, removed and put in order."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.casts import a_published_skill
from vskill_platform.cli.main import cli
from vskill_platform.cli.run_command import run_command
from vskill_platform.stores.db import commit
from vskill_platform.stores.skill_store import write_skill

ONE, TWO = "ada/notes/one", "ada/notes/two"


async def _publish() -> None:
    skills = [a_published_skill(slug) for slug in (ONE, TWO)]
    assert await commit([write_skill(skill, expected=0) for skill in skills])


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["admin", "featured", *words])


def test_featured_skills_are_chosen_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VSKILL_DATABASE_URL", f"sqlite:///{tmp_path / 'skills.db'}")
    run_command(_publish, create=True)

    none = run()
    added = run("add", ONE)
    both = run("set", TWO, ONE, "--json")
    removed = run("remove", ONE)
    unknown = run("add", "no/such/skill")
    listed = run("--json")

    assert none.output == "No skills are featured.\n"
    assert added.output == f"{ONE}\n"
    assert msgspec.json.decode(both.stdout) == [TWO, ONE]
    assert removed.output == f"{TWO}\n"
    assert unknown.exit_code == 1
    assert msgspec.json.decode(listed.stdout) == [TWO]
