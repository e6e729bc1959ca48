"""A skill in a git repo: the newest commit is fetched, checked and published."""

from pathlib import Path

import pytest

from tests.acceptance.program import Platform
from tests.casts import a_skill_folder
from tests.repos import a_repo, git
from vskill_platform.model.submission import SubmissionState
from vskill_platform.stores.version_store import get_versions


async def test_a_skill_in_a_repo_is_published_with_its_commit(
    platform: Platform, tmp_path: Path
) -> None:
    repo = tmp_path / "ada" / "toolbox"
    a_skill_folder(repo / "skills", "word-count")
    url = a_repo(repo)

    submission_id = platform.submit(url, "--path", "skills/word-count")
    platform.run("work", "--drain")

    submission = platform.status(submission_id).submission
    assert submission.state is SubmissionState.PUBLISHED
    assert submission.slug == "ada/toolbox/word-count"
    versions = await platform.inside(lambda: get_versions("ada/toolbox/word-count"))
    assert [version.commit_sha for version in versions] == [git(repo, "rev-parse", "HEAD")]


@pytest.mark.slow
def test_a_repo_that_is_one_skill_needs_no_path(platform: Platform, tmp_path: Path) -> None:
    repo = a_skill_folder(tmp_path / "ada", "word-count")

    submission_id = platform.submit(a_repo(repo))
    platform.run("work", "--drain")

    assert platform.status(submission_id).submission.slug == "ada/word-count/word-count"


@pytest.mark.slow
def test_a_repo_submitted_without_a_path_is_refused_with_the_path_of_its_skill(
    platform: Platform, tmp_path: Path
) -> None:
    repo = tmp_path / "ada" / "toolbox"
    a_skill_folder(repo / "skills", "word-count")

    submission_id = platform.submit(a_repo(repo))
    platform.run("work", "--drain")

    shown = platform.run("status", submission_id)
    assert "TIER1_FAILED" in shown.out
    assert "There is no SKILL.md. There is one in: skills/word-count." in shown.out
    assert "fix: Submit that folder: --path skills/word-count" in shown.out


def test_nothing_of_a_fetched_repo_is_left_on_the_disk(platform: Platform, tmp_path: Path) -> None:
    repo = a_skill_folder(tmp_path / "ada", "word-count")
    platform.submit(a_repo(repo))

    platform.run("work", "--drain")

    assert list((platform.folder / "tmp").iterdir()) == []
