"""Tags of followed repositories: a new version tag with other content is submitted, once."""

from pathlib import Path

import msgspec
import pytest

from tests.casts import a_published_skill
from tests.clocks import NOON, ManualClock
from tests.people import a_user
from tests.repos import commit_all, git
from vskill_platform.access.namespaces import add_owner
from vskill_platform.cron.follow_repos import follow_repos
from vskill_platform.cron.submit_new_commits import is_new_tag, newest_tag
from vskill_platform.fetch.repo import Refs
from vskill_platform.intake.follow_repo import follow_repo, follow_whole_repo, unfollow_repo
from vskill_platform.intake.submit import submit
from vskill_platform.model.namespace import namespace_of
from vskill_platform.model.source import Source, git_source
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.followed_repo_store import (
    FollowedRepo,
    FollowRights,
    FollowStatus,
    get_followed_repo,
    write_followed_repo,
)
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import get_skill, write_skill
from vskill_platform.stores.submission_store import (
    get_source_owner,
    get_submission,
    write_submission,
)

SLUG = "ada/notes/tidy-notes"
PATH = "skills/tidy-notes"
#: Longer than the time until the next check.
LATER = {"minutes": 61}


@pytest.fixture
async def source(repo_url: str, repo: Path) -> Source:
    """A skill of a namespace of Ada, published from its first commit, which has the tag v1.0.0."""
    source = git_source(repo_url, PATH)
    git(repo, "tag", "v1.0.0")
    made = await submit(source, submitter="ada")
    skill = a_published_skill(SLUG, repo_url=source.url, submission_id=made.submission.id)
    assert await commit([write_skill(skill, expected=0)])
    await end(source, repo, "HEAD")
    await follow_repo(skill, actor="ada")
    return source


async def submission_of(source: Source, ref: str = "") -> Stored[Submission] | None:
    owner = await get_source_owner(msgspec.structs.replace(source, ref=ref))
    return await get_submission(owner) if owner else None


async def end(source: Source, repo: Path, commit_name: str, ref: str = "") -> None:
    """Publish a submission, as a worker would."""
    submission, skill = await submission_of(source, ref), await get_skill(SLUG)
    assert submission
    assert skill
    ended = msgspec.structs.replace(
        submission.record,
        state=SubmissionState.PUBLISHED,
        slug=SLUG,
        tree_sha=git(repo, "rev-parse", f"{commit_name}:{PATH}"),
        digest="0" * 64,
    )
    latest = msgspec.structs.replace(skill.record, submission_id=ended.id)
    written = write_submission(ended, [], expected=submission.revision)
    assert await commit([*written, write_skill(latest, expected=skill.revision)])


def tag_content(repo: Path, text: str, *tags: str) -> str:
    (repo / PATH / "more.md").write_text(text)
    sha = commit_all(repo)
    for tag in tags:
        git(repo, "tag", "--annotate", f"--message={tag}", tag)
    return sha


async def states(source: Source, *refs: str) -> list[SubmissionState | None]:
    found = [await submission_of(source, ref) for ref in refs]
    return [stored.record.state if stored else None for stored in found]


async def followed() -> FollowedRepo:
    stored = await get_followed_repo(SLUG)
    assert stored
    return stored.record


async def test_a_new_version_tag_is_submitted_and_then_the_branch_is_followed_further(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    await add_owner(namespace_of(source), "ada", actor="test")
    await follow_repos()
    first = await states(source, "", "v1.0.0")
    tag_content(repo, "more", "v1.1.0")  # the branch and the tag have the same content
    clock.advance(**LATER)
    await follow_repos()
    tagged = await states(source, "", "v1.1.0")
    await end(source, repo, "v1.1.0", "v1.1.0")
    clock.advance(minutes=5)
    await follow_repos()
    same_content = await states(source, "", "v1.1.0")

    last = tag_content(repo, "even more")
    clock.advance(**LATER)
    await follow_repos()

    published, received = SubmissionState.PUBLISHED, SubmissionState.RECEIVED
    assert first == [published, None]
    assert tagged == [published, received]
    assert same_content == [published, published]
    assert await states(source, "", "v1.1.0") == [received, published]
    record = await followed()
    assert (record.tag, record.commit_sha, record.status) == (
        "v1.1.0",
        last,
        FollowStatus.FOLLOWING,
    )


async def test_a_user_who_may_not_publish_tags_follows_the_branch_alone(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    await follow_repos()
    tag_content(repo, "more", "v1.1.0")
    clock.advance(**LATER)

    await follow_repos()

    assert await states(source, "", "v1.1.0") == [SubmissionState.RECEIVED, None]
    assert ((await followed()).status, (await followed()).tag) == (FollowStatus.FOLLOWING, "v1.1.0")


@pytest.mark.parametrize("rights", ["user", "staff"])
async def test_staff_publish_tags_only_if_they_followed_with_the_rights_of_staff(
    source: Source, repo: Path, clock: ManualClock, rights: FollowRights
) -> None:
    await a_user(Role.REVIEWER)
    skill = await get_skill(SLUG)
    assert skill
    await unfollow_repo(SLUG, actor="ada")
    await follow_repo(skill.record, actor="rae", rights=rights)
    await follow_repos()
    tag_content(repo, "more", "v1.1.0")
    clock.advance(**LATER)

    await follow_repos()

    received, published = SubmissionState.RECEIVED, SubmissionState.PUBLISHED
    expected = [published, received] if rights == "staff" else [received, None]
    assert await states(source, "", "v1.1.0") == expected


async def test_a_tag_between_the_publication_of_a_skill_and_the_next_check_is_submitted(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    await add_owner(namespace_of(source), "ada", actor="test")
    await commit_whole_repo_as_seen(source, tag="v1.0.0")
    tag_content(repo, "more", "v1.1.0")
    clock.advance(**LATER)

    await follow_repos()
    await follow_repos()

    assert await states(source, "v1.1.0") == [SubmissionState.RECEIVED]


async def commit_whole_repo_as_seen(source: Source, *, tag: str) -> None:
    """Follow the repository as a whole, which does not follow its published skill yet."""
    await unfollow_repo(SLUG, actor="ada")
    whole = await follow_whole_repo(source.url, actor="ada")
    seen = msgspec.structs.replace(whole, tag=tag)
    assert await commit([write_followed_repo(seen, due=get_now())])


@pytest.mark.parametrize(
    ("seen", "tags", "newest", "is_new"),
    [
        (None, {"v1.0.0"}, "v1.0.0", False),
        ("", {"v1.0.0", "nightly"}, "v1.0.0", True),
        ("v1.9.0", {"v1.9.0", "v1.10.0"}, "v1.10.0", True),
        ("v1.9.0", {"1.8.5", "v1.9.0", "v2.0.0-rc.1", "20270101"}, "v1.9.0", False),
        ("v1.9.0", {"v2", "2.0.0"}, "2.0.0", True),
        ("v2", {"v2", "v2.0.0"}, "v2.0.0", False),
        ("v1.9.0", set(), "", False),
    ],
)
def test_a_tag_is_new_if_its_version_is_higher_than_all_that_were_seen(
    seen: str | None, tags: set[str], newest: str, is_new: bool
) -> None:
    record = FollowedRepo(
        slug=SLUG, repo_url="https://git.example/a/b", by="ada", at=NOON, tag=seen
    )

    tag = newest_tag(Refs("0" * 40, frozenset(tags)))

    assert (tag, is_new_tag(record, tag)) == (newest, is_new)
    named = msgspec.structs.replace(record, ref="main")
    assert not is_new_tag(named, tag)
