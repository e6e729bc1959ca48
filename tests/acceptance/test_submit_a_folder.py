"""A skill in a folder: submitted, checked and published, with its status at each step."""

from pathlib import Path

import msgspec
import pytest

from tests.acceptance.program import Platform
from tests.acceptance.records import submit_folders
from tests.casts import a_skill_folder
from vskill_platform.model.submission import SubmissionState
from vskill_platform.stores.version_store import get_versions


def test_a_folder_is_submitted_checked_and_published(platform: Platform, tmp_path: Path) -> None:
    skill = a_skill_folder(tmp_path, "word-count")

    submitted = platform.run("submit", skill)
    worked = platform.run("work", "--drain")
    listed = platform.run("list")

    assert (submitted.code, worked.code, listed.code) == (0, 0, 0)
    assert submitted.out.startswith("Submitted: sub_")
    assert "PUBLISHED" in listed.out
    assert "published as @local/word-count 1.0.0" in listed.out


@pytest.mark.slow
def test_the_command_that_submit_suggests_shows_the_history(
    platform: Platform, tmp_path: Path
) -> None:
    submitted = platform.run("submit", a_skill_folder(tmp_path, "word-count"))
    platform.run("work", "--drain")

    _, _, proposal = submitted.out.partition("Follow it with: vskill-platform ")
    shown = platform.run(*proposal.split())

    assert shown.code == 0
    assert "published as\t@local/word-count" in shown.out
    for state in ("RECEIVED", "TIER1_SCANNING", "AUTO_APPROVED", "PUBLISHED"):
        assert state in shown.out


@pytest.mark.slow
def test_status_as_json_lists_every_step_and_its_actor(platform: Platform, tmp_path: Path) -> None:
    submission_id = platform.submit(a_skill_folder(tmp_path, "word-count"))
    platform.run("work", "--drain", node="worker-1")

    status = platform.status(submission_id)

    assert status.submission.state is SubmissionState.PUBLISHED
    assert status.submission.slug == "@local/word-count"
    assert status.steps == [
        "submit RECEIVED",
        "claim TIER1_SCANNING",
        "check AUTO_APPROVED",
        "publish PUBLISHED",
    ]
    assert {event.actor for event in status.history[1:]} == {"worker-1"}
    assert status.report
    assert status.report.findings == ()


async def test_a_list_shows_the_newest_first_and_how_to_see_more(
    platform: Platform, tmp_path: Path
) -> None:
    folders = [a_skill_folder(tmp_path, name) for name in ("one", "two", "three")]
    ids = [(await submit_folders(platform, folder))[0] for folder in folders]

    first_page = platform.run("list", "--limit", "2")
    _, _, proposal = first_page.out.partition("more: vskill-platform ")
    second_page = platform.run(*proposal.split(), "--json")

    assert first_page.out.index(ids[2]) < first_page.out.index(ids[1])
    listed = msgspec.json.decode(second_page.out)
    assert [submission["id"] for submission in listed["submissions"]] == [ids[0]]
    assert listed["cursor"] is None


def test_a_list_is_readable_on_a_terminal_of_eighty_columns(
    platform: Platform, tmp_path: Path
) -> None:
    submission_id = platform.submit(a_skill_folder(tmp_path, "word-count"))

    platform.columns = 80
    listed = platform.run("list")

    assert submission_id in listed.out
    assert "word-count" in listed.out
    assert "RECEIVED" in listed.out


def test_an_empty_list_says_how_to_begin(platform: Platform) -> None:
    platform.run("work", "--drain")

    listed = platform.run("list")

    assert listed.out == ("No submissions yet. Submit one with: vskill-platform submit SOURCE\n")


@pytest.mark.slow
def test_submitting_the_same_again_is_one_submission(platform: Platform, tmp_path: Path) -> None:
    skill = a_skill_folder(tmp_path, "word-count")

    first = platform.run("submit", skill)
    second = platform.run("submit", f"{skill}/../word-count/")
    platform.run("work", "--drain")
    third = platform.run("submit", skill)

    assert first.out.startswith("Submitted: ")
    assert second.out.startswith("Already in progress: ")
    assert third.out.startswith("Already verified, nothing has changed: ")
    assert len(msgspec.json.decode(platform.run("list", "--json").out)["submissions"]) == 1


@pytest.mark.slow
async def test_only_new_content_makes_a_new_version(platform: Platform, tmp_path: Path) -> None:
    skill = a_skill_folder(tmp_path, "word-count")
    submission_id = ""
    for more in ("", "", "Count twice."):
        with (skill / "SKILL.md").open("a") as manifest:
            manifest.write(more)
        (submission_id,) = await submit_folders(platform, skill)
        platform.run("work", "--drain")

    versions = await platform.inside(lambda: get_versions("@local/word-count"))

    assert [version.version for version in versions] == ["1.0.0", "1.0.1"]
    assert platform.status(submission_id).steps.count("publish PUBLISHED") == 2


@pytest.mark.slow
async def test_a_name_that_is_taken_is_rejected_and_its_owner_named(
    platform: Platform, tmp_path: Path
) -> None:
    await submit_folders(platform, a_skill_folder(tmp_path / "ada"))
    platform.run("work", "--drain")

    submission_id = platform.submit(a_skill_folder(tmp_path / "ben"))
    platform.run("work", "--drain")

    shown = platform.run("status", submission_id)
    assert "REJECTED" in shown.out
    assert "@local/tidy-notes is already published from another source" in shown.out
    assert "fix: Choose another `name` in SKILL.md" in shown.out
