"""Selected skills of a repo: one submission each, none twice, none from outside."""

import pytest

from vskill_platform.errors import InvalidInput
from vskill_platform.intake.discover import MAX_SKILLS
from vskill_platform.intake.submit_set import submit_paths
from vskill_platform.model.source import git_source
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.submission_set_store import get_submission_set

REPO = git_source("https://git.example/ada/notes", "skills", ref="main")


async def test_each_chosen_folder_is_submitted_once_and_below_the_path_of_the_source(
    bound: WorkerEnv,
) -> None:
    submitted = await submit_paths(
        REPO, ["one", "two/", "one/", ""], submitter="ada", is_private=True
    )

    results = [member.result for member in submitted.members]
    assert all(results)
    records = [result.submission for result in results if result]
    assert [one.source.path for one in records] == ["skills/one", "skills/two", "skills"]
    assert {(one.source.ref, one.is_private, one.set_id) for one in records} == {
        ("main", True, submitted.set_id)
    }
    stored = await get_submission_set(submitted.set_id)
    assert stored
    assert stored.submission_ids == submitted.submission_ids


@pytest.mark.parametrize(
    "paths",
    [[], ["../x"], ["/etc"], ["a\\b"], ["-x"], ["x"] * (MAX_SKILLS + 1)],
    ids=["none", "parent", "absolute", "backslash", "option", "too many"],
)
async def test_an_invalid_choice_is_refused(bound: WorkerEnv, paths: list[str]) -> None:
    with pytest.raises(InvalidInput):
        await submit_paths(REPO, paths, submitter="ada")
