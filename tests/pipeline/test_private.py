"""Private skills: submission, publication, hidden from copies of them, made public again."""

import asyncio
from pathlib import Path

import pytest

from tests.casts import GOOD_MANIFEST, a_skill_folder
from tests.people import a_user
from tests.pipeline.conftest import Journey, Process
from tests.repos import a_repo, commit_all, git
from vskill_platform.access.namespaces import add_owner
from vskill_platform.cron.fill_similarity_index import send_missing_skills
from vskill_platform.errors import NotAllowed, NotFound
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.submit import SubmitKind, submit
from vskill_platform.intake.take_upload import take_folder
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.publish.versions.set_visibility import set_visibility
from vskill_platform.queue.worker import Worker
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.similarity_store import get_similarity_record
from vskill_platform.stores.skill_store import enumerate_published_skills, get_skill
from vskill_platform.stores.source_submissions import list_submissions_of
from vskill_platform.stores.submission_store import get_submission

SLUG = "@ada/tidy-notes"
REPO_SLUG = "ada/tidy-notes/tidy-notes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return a_skill_folder(tmp_path)


async def publish_upload(
    process: Process, folder: Path, *, is_private: bool, to: str = "@ada"
) -> Journey:
    upload = await take_folder(folder, namespace=to)
    offer = SubmissionRequest(source=upload.source, upload=upload.content, is_private=is_private)
    journey = await process(offer)
    assert journey.submission.state is SubmissionState.PUBLISHED
    return journey


def change(folder: Path, text: str) -> None:
    (folder / "SKILL.md").write_text(GOOD_MANIFEST.format(name="tidy-notes") + f"\n{text}\n")


async def is_private(slug: str = SLUG) -> tuple[bool, bool]:
    """Tell it of the skill and of its submission."""
    skill = await get_skill(slug)
    assert skill
    submission = await get_submission(skill.record.submission_id)
    assert submission
    return skill.record.is_private, submission.record.is_private


async def test_a_private_upload_is_published_as_private(process: Process, folder: Path) -> None:
    await publish_upload(process, folder, is_private=True)

    assert await is_private() == (True, True)
    assert [(item.slug, item.is_private) for item in await enumerate_published_skills()] == [
        (SLUG, True)
    ]


async def test_nothing_that_comes_later_shows_it_by_the_way(process: Process, folder: Path) -> None:
    await publish_upload(process, folder, is_private=True)
    await publish_again(process, folder, "The next version.")
    assert await is_private() == (True, True)

    await set_visibility(SLUG, is_private=False, actor="ada")
    await publish_again(process, folder, "One more version.")

    assert await is_private() == (False, False)


async def publish_again(process: Process, folder: Path, text: str) -> None:
    change(folder, text)
    await publish_upload(process, folder, is_private=False)


async def test_handing_it_in_privately_later_hides_it(process: Process, folder: Path) -> None:
    await publish_upload(process, folder, is_private=False)
    change(folder, "The next version, for us alone.")

    await publish_upload(process, folder, is_private=True)

    assert await is_private() == (True, True)
    assert await get_similarity_record(SLUG) is None


async def test_unchanged_content_that_is_submitted_privately_becomes_private(
    process: Process, folder: Path
) -> None:
    await publish_upload(process, folder, is_private=False)

    await publish_upload(process, folder, is_private=True)

    assert await is_private() == (True, True)
    again = await take_folder(folder, namespace="@ada")
    offer = SubmissionRequest(source=again.source, upload=again.content, is_private=True)
    assert (await submit(offer, submitter="ada")).kind is SubmitKind.ALREADY_VERIFIED


async def test_a_submission_in_progress_becomes_private(
    process: Process, bound: WorkerEnv, folder: Path
) -> None:
    upload = await take_folder(folder, namespace="@ada")
    offer = SubmissionRequest(source=upload.source, upload=upload.content)
    await submit(offer, submitter="ada", may_replace_ref=True)

    await publish_upload(process, folder, is_private=True)

    assert await is_private() == (True, True)


async def test_a_copy_of_a_private_skill_reveals_nothing_about_it(
    process: Process, folder: Path, bound: WorkerEnv
) -> None:
    await publish_upload(process, folder, is_private=True)
    assert await send_missing_skills() == "all skills are indexed"

    copy = await publish_upload(process, folder, is_private=False, to="@local")

    assert await get_similarity_record(SLUG) is None
    assert "@ada" not in str(copy.report)


async def test_a_skill_that_is_hidden_is_compared_no_more_until_it_is_shown(
    process: Process, folder: Path, bound: WorkerEnv
) -> None:
    await publish_upload(process, folder, is_private=False)
    assert await get_similarity_record(SLUG)

    await set_visibility(SLUG, is_private=True, actor="ada", reason="not ready")
    hidden = await get_similarity_record(SLUG)
    await set_visibility(SLUG, is_private=False, actor="ada")
    await send_missing_skills()
    await Worker(bound).run(asyncio.Event(), drain=True)

    assert hidden is None
    assert await get_similarity_record(SLUG)


async def test_hiding_and_showing_is_in_the_audit_once_each(process: Process, folder: Path) -> None:
    await publish_upload(process, folder, is_private=False)

    for _ in range(2):
        await set_visibility(SLUG, is_private=True, actor="ada", reason="not ready")
    await set_visibility(SLUG, is_private=False, actor="cyd")

    said = [
        (record.actor, record.subject, record.reason, record.outcome)
        for record in (await list_audit()).records
        if record.action == "visibility"
    ]
    assert sorted(said) == [
        ("ada", SLUG, "not ready", "is now private"),
        ("cyd", SLUG, "", "is now public"),
    ]


async def two_refs(
    process: Process, tmp_path: Path, *, private: frozenset[str] = frozenset()
) -> str:
    """Publish a skill from two tags of a repo whose owner is known; return its URL."""
    home = tmp_path / "ada"
    folder = a_skill_folder(home, "tidy-notes")
    url = a_repo(folder)
    await a_user(Role.PUBLISHER)
    await add_owner("file/ada", "ada", actor="cyd")
    for tag in ("v1", "v2"):
        change(folder, f"This is {tag}.")
        commit_all(folder)
        git(folder, "tag", tag)
        offer = SubmissionRequest(source=git_source(url, ref=tag), is_private=tag in private)
        assert (await process(offer)).submission.state is SubmissionState.PUBLISHED
    return url


async def hidden_refs(url: str) -> dict[str, bool]:
    found = await list_submissions_of(url, "")
    return {stored.record.source.ref: stored.record.is_private for stored in found}


async def test_hiding_and_showing_is_about_the_submissions_of_every_ref(
    process: Process, bound: WorkerEnv, tmp_path: Path
) -> None:
    url = await two_refs(process, tmp_path)

    await set_visibility(REPO_SLUG, is_private=True, actor="ada")
    hidden = await hidden_refs(url)
    again = await submit(git_source(url), submitter="ada")
    await set_visibility(REPO_SLUG, is_private=False, actor="ada")
    shown = await hidden_refs(url)

    assert hidden == {"v1": True, "v2": True}
    assert again.submission.is_private
    assert shown == {"": False, "v1": False, "v2": False}


async def test_submissions_of_a_private_skill_are_private(
    process: Process, bound: WorkerEnv, tmp_path: Path
) -> None:
    url = await two_refs(process, tmp_path)
    refs = ("", "main", "v1.x", "v2.x")

    await asyncio.gather(
        *(submit(git_source(url, ref=ref), submitter="ada") for ref in refs[:2]),
        set_visibility(REPO_SLUG, is_private=True, actor="ada"),
        *(submit(git_source(url, ref=ref), submitter="ada") for ref in refs[2:]),
    )

    assert await hidden_refs(url) == dict.fromkeys((*refs, "v1", "v2"), True)


async def test_a_private_ref_hides_the_submissions_of_the_others(
    process: Process, bound: WorkerEnv, tmp_path: Path
) -> None:
    url = await two_refs(process, tmp_path, private=frozenset({"v2"}))

    skill = await get_skill(REPO_SLUG)

    assert skill
    assert skill.record.is_private
    assert await hidden_refs(url) == {"v1": True, "v2": True}


async def test_a_submission_made_before_its_skill_became_private_is_published_private(
    process: Process, bound: WorkerEnv, tmp_path: Path
) -> None:
    url = await two_refs(process, tmp_path, private=frozenset({"v1"}))

    assert await hidden_refs(url) == {"v1": True, "v2": True}


async def test_a_skill_that_nobody_could_see_cannot_be_private(
    process: Process, folder: Path
) -> None:
    await publish_upload(process, folder, is_private=False, to="@local")

    with pytest.raises(NotAllowed, match="nobody"):
        await set_visibility("@local/tidy-notes", is_private=True, actor="cyd")
    with pytest.raises(NotFound):
        await set_visibility("@ada/none", is_private=True, actor="cyd")
