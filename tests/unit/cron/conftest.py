"""A repository with one skill, as the tests of followed repositories need it."""

from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from tests.git_server import GitServer
from tests.people import a_user
from vskill_platform.model.user import Role


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A folder with the skill `skills/tidy-notes`; it is a repository once it is served."""
    return a_skill_folder(tmp_path / "repo" / "skills").parents[1]


@pytest.fixture
async def repo_url(git_server: GitServer, repo: Path) -> str:
    """The URL of the repository on a git server; Ada has an account."""
    await a_user(Role.PUBLISHER)
    return git_server.serve_repo(repo, "ada/notes")
