"""`search` on this machine: words and filters over the records of its database."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tests.casts import a_published_skill
from vskill_platform.cli.main import cli
from vskill_platform.cli.run_command import run_command
from vskill_platform.stores.db import commit
from vskill_platform.stores.skill_store import write_skill


async def _publish() -> None:
    skills = [
        a_published_skill("ada/notes/pdf-notes", tags=("pdf",), agents=("codex",)),
        a_published_skill("ada/notes/plain"),
        a_published_skill("ben/tools/pdf-tool", tags=("pdf",), agents=("cursor",)),
    ]
    assert await commit([write_skill(skill, expected=0) for skill in skills])


@pytest.fixture(scope="module", autouse=True)
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder: Path = tmp_path_factory.mktemp("search")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VSKILL_DATABASE_URL", f"sqlite:///{folder / 'skills.db'}")
        run_command(_publish, create=True)
        yield


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("pdf",), ["ada/notes/pdf-notes", "ben/tools/pdf-tool"]),
        (("--tag", "PDF"), ["ada/notes/pdf-notes", "ben/tools/pdf-tool"]),
        (("--agent", "codex"), ["ada/notes/pdf-notes", "ada/notes/plain"]),
        (("--namespace", "ada", "--tag", "pdf"), ["ada/notes/pdf-notes"]),
        (("--cannot", "network"), []),  # no version says what it can do
    ],
)
def test_filters_choose_the_skills(options: tuple[str, ...], expected: list[str]) -> None:
    done = CliRunner().invoke(cli, ["search", "--json", *options])

    assert done.exit_code == 0, (done.output, done.exception)
    assert [one["slug"] for one in msgspec.json.decode(done.stdout)["skills"]] == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--can", "fly"), "unknown capability 'fly'"),
        (("--tier", "T2"), "--tier needs the search index"),
        ((), "give some words to search for"),
    ],
)
def test_a_filter_that_cannot_be_applied_is_an_error(
    options: tuple[str, ...], message: str
) -> None:
    done = CliRunner().invoke(cli, ["search", *options])

    assert done.exit_code == 2
    assert message in done.stderr
