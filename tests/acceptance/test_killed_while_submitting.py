"""`kill -9` during a submission: it is either stored and queued, or does not exist."""

from pathlib import Path

from tests.acceptance.program import Platform
from tests.acceptance.records import read_queue, read_statuses, read_version_counts
from tests.casts import a_skill_folder
from vskill_platform.stores.submission_store import get_submission_index

_COMMIT = "vskill_platform.stores.change:commit"
_END_OF_TRANSACTION = "vskill_platform.engines.sqlite.transaction:Transaction.finish"
_SCHEMA_VERSION = "vskill_platform.engines.sqlite.connection:check_version"


async def _list_ids(platform: Platform) -> list[str]:
    page = await platform.inside(get_submission_index)
    return [submission.id for submission in page.submissions]


async def _assert_nothing_is_stored_and_it_can_be_submitted(
    platform: Platform, skill: Path
) -> None:
    assert await _list_ids(platform) == []
    assert (await read_queue(platform)).ready == 0
    again = platform.run("submit", skill)
    assert again.out.startswith("Submitted: ")
    assert (await read_queue(platform)).ready == 1


async def test_killed_after_the_commit_it_is_stored_and_queued(
    platform: Platform, tmp_path: Path
) -> None:
    skill = a_skill_folder(tmp_path)

    platform.run_killed("after", _COMMIT, "submit", skill)

    (submission_id,) = await _list_ids(platform)
    assert (await read_queue(platform)).ready == 1
    assert platform.run("submit", skill).out.startswith("Already in progress: ")
    platform.run("work", "--drain")
    (status,) = await read_statuses(platform, submission_id)
    assert status.steps[-1] == "publish PUBLISHED"
    assert await read_version_counts(platform, ["@local/tidy-notes"]) == [1]


async def test_killed_before_the_commit_it_was_never_there(
    platform: Platform, tmp_path: Path
) -> None:
    skill = a_skill_folder(tmp_path)

    platform.run_killed("before", _COMMIT, "submit", skill)

    await _assert_nothing_is_stored_and_it_can_be_submitted(platform, skill)


async def test_killed_in_the_middle_of_the_commit_it_was_never_there(
    platform: Platform, tmp_path: Path
) -> None:
    skill = a_skill_folder(tmp_path)

    platform.run_killed("after", _END_OF_TRANSACTION, "submit", skill)

    await _assert_nothing_is_stored_and_it_can_be_submitted(platform, skill)


async def test_killed_while_the_database_is_made_the_next_start_makes_it(
    platform: Platform, tmp_path: Path
) -> None:
    skill = a_skill_folder(tmp_path)

    platform.run_killed("after", _SCHEMA_VERSION, "submit", skill)

    await _assert_nothing_is_stored_and_it_can_be_submitted(platform, skill)
