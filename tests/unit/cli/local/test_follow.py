"""`follow` on this machine: all skills of a repo, the list, and how to stop."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.casts import a_published_skill
from vskill_platform.cli.main import cli
from vskill_platform.cli.run_command import run_command
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.stores.db import commit
from vskill_platform.stores.skill_store import write_skill
from vskill_platform.stores.submission_store import get_submission, write_submission

REPO = "https://github.com/ada/notes"


@pytest.fixture(autouse=True)
def own_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSKILL_DATABASE_URL", f"sqlite:///{tmp_path / 'skills.db'}")
    monkeypatch.delenv("VSKILL_REGISTRY", raising=False)


async def publish() -> None:
    for name in ("first", "second"):
        slug = f"ada/notes/{name}"
        made = await submit(git_source(REPO, name), submitter="ada")
        stored = await get_submission(made.submission.id)
        assert stored
        ended = msgspec.structs.replace(stored.record, state=SubmissionState.PUBLISHED, slug=slug)
        skill = a_published_skill(slug, repo_url=REPO, submission_id=ended.id)
        operations = write_submission(ended, [], expected=stored.revision)
        assert await commit([*operations, write_skill(skill, expected=0)])


def follow(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["follow", *arguments])


def followed(*arguments: str) -> list[tuple[Any, ...]]:
    result = follow(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return [
        (one["slug"], one["ref"], one["is_by_operator"])
        for one in msgspec.json.decode(result.stdout)
    ]


def test_every_skill_of_a_repo_is_followed_listed_and_stopped() -> None:
    run_command(publish, create=True)

    made = followed("ada/notes", "--ref", "main")
    listed = followed("--list")
    table = follow("--list")
    ended = followed("ada/notes", "--stop")

    assert made == [
        ("", "main", True),
        ("ada/notes/first", "main", True),
        ("ada/notes/second", "main", True),
    ]
    assert sorted(listed) == sorted(ended) == made
    assert "ada/notes/second" in table.stdout
    assert followed("--list") == []


def test_a_repo_without_published_skills_can_be_followed() -> None:
    run_command(publish, create=True)

    assert followed("ada/other") == [("", "", True)]


def test_a_repo_that_is_not_followed_cannot_be_stopped() -> None:
    run_command(publish, create=True)

    not_followed = follow("ada/notes", "--stop")

    assert not_followed.exit_code == 1
    assert "https://github.com/ada/notes is not followed" in str(not_followed.exception)


@pytest.mark.parametrize(
    "arguments", [(), ("ada/notes", "--list"), ("ada/notes", "--stop", "--ref", "main")]
)
def test_contradicting_options_are_refused(arguments: tuple[str, ...]) -> None:
    assert follow(*arguments).exit_code == 2
