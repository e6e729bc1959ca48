"""Another branch or tag of a published skill needs a review unless the submitter may replace it."""

from pathlib import Path

import pytest

from tests.casts import GOOD_MANIFEST, a_skill_folder
from tests.repos import a_repo, commit_all, git
from vskill_platform.intake.requeue import retry
from vskill_platform.intake.submit import submit
from vskill_platform.intake.withdraw import withdraw
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.publish.moderation.review_skill import ReviewDecision, approve
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.skill_store import get_skill
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.stores.version_store import get_versions

SLUG = "ada/tidy-notes/tidy-notes"

pytestmark = pytest.mark.usefixtures("bound")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A repo with the tag `old` and something newer on its default branch."""
    folder = a_skill_folder(tmp_path / "ada")
    url = a_repo(folder)
    git(folder, "tag", "old")
    (folder / "SKILL.md").write_text(f"{GOOD_MANIFEST.format(name='tidy-notes')}\nNewer.\n")
    commit_all(folder)
    return url


async def submit_ref(url: str, ref: str, *, may_replace_ref: bool = False) -> str:
    source = git_source(url, ref=ref)
    result = await submit(source, submitter="eve", may_replace_ref=may_replace_ref)
    return result.submission.id


async def process(env: WorkerEnv, submission_id: str) -> Submission:
    """Process the messages that wait, one after the other, and return the submission."""
    while batch := await env.engine.queue.receive(1, lease=env.settings.lease):
        await handle_messages(batch, env)
    stored = await get_submission(submission_id)
    assert stored
    return stored.record


async def latest_submission() -> str:
    skill = await get_skill(SLUG)
    assert skill
    return skill.record.submission_id


async def test_a_ref_submitted_before_another_was_published_does_not_replace_it(
    bound: WorkerEnv, url: str
) -> None:
    published = await submit_ref(url, "")
    early = await submit_ref(url, "old")

    ended = await process(bound, early)

    assert ended.state is SubmissionState.NEEDS_REVIEW
    assert ended.reason == (
        "needs review: the skill is published from the default branch; this would replace it"
    )
    assert await latest_submission() == published
    assert len(await get_versions(SLUG)) == 1


async def test_a_reviewer_may_approve_a_ref_that_replaces_another(
    bound: WorkerEnv, url: str
) -> None:
    await submit_ref(url, "")
    early = await submit_ref(url, "old")
    ended = await process(bound, early)

    await approve(
        ReviewDecision(submission_id=early, reviewer="rae", reason="asked for", seen=ended.digest)
    )

    assert await latest_submission() == early
    assert len(await get_versions(SLUG)) == 2


async def test_a_submitter_with_the_right_replaces_another_ref(bound: WorkerEnv, url: str) -> None:
    await submit_ref(url, "")
    early = await submit_ref(url, "old", may_replace_ref=True)

    ended = await process(bound, early)

    assert ended.state is SubmissionState.PUBLISHED
    assert await latest_submission() == early


async def test_the_same_ref_is_published_again_by_anybody(
    bound: WorkerEnv, url: str, tmp_path: Path
) -> None:
    await process(bound, await submit_ref(url, ""))
    folder = tmp_path / "ada" / "tidy-notes"
    (folder / "more.md").write_text("More.\n")
    commit_all(folder)

    again = await process(bound, await submit_ref(url, ""))

    assert again.state is SubmissionState.PUBLISHED
    assert len(await get_versions(SLUG)) == 2


async def test_a_retry_has_the_rights_of_the_retrying_user(bound: WorkerEnv, url: str) -> None:
    early = await submit_ref(url, "old", may_replace_ref=True)
    await withdraw(early, actor="eve", reason="a mistake")
    await process(bound, await submit_ref(url, ""))

    await retry(early, actor="eve")
    by_stranger = await process(bound, early)
    await withdraw(early, actor="eve", reason="a mistake")
    await retry(early, actor="rae", may_replace_ref=True)
    by_reviewer = await process(bound, early)

    assert by_stranger.state is SubmissionState.NEEDS_REVIEW
    assert by_reviewer.state is SubmissionState.PUBLISHED
