"""Follow or unfollow a repository: one skill of it, or all, including those added later."""

from vskill_platform.engines.operations import ABSENT, Operation
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.intake.read_source import read_remote_source
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.source import checked_ref
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.followed_repo_store import (
    MAX_SKILLS_OF_A_REPO,
    FollowedRepo,
    FollowRights,
    delete_followed_repo,
    get_followed_repo,
    list_followed_by,
    write_followed_repo,
)
from vskill_platform.stores.skill_store import expect_skill, find_skill, get_skill
from vskill_platform.stores.source_submissions import list_submission_ids_of
from vskill_platform.stores.submission_store import read_submissions
from vskill_platform.stores.user_store import expect_not_deleted, is_deleted_user

#: The maximum per user, except staff. Each causes a request to its host every VSKILL_FOLLOW_EVERY
#: until someone stops it; no person or team publishes from a hundred.
MAX_REPOS_OF_A_USER = 100


def check_repo_of(skill: PublishedSkill, repo_url: str) -> None:
    """Refuse to follow a repository other than the one that the skill is published from."""
    if repo_url and read_remote_source(repo_url, settings=get_settings()).url != skill.repo_url:
        raise InvalidInput(
            f"{skill.slug} is published from {skill.repo_url}, not from {repo_url}; follow that "
            "repository, or submit the skill of the other one"
        )


async def check_may_follow_more(user_name: str, repo_url: str) -> None:
    """Raise if a user already follows the maximum number of other repositories.

    Concurrent requests are not counted; the hourly limit keeps them few.
    """
    followed = await list_followed_by(user_name)
    checked = {one.repo_url for one in followed if not (one.stopped_at or one.is_by_operator)}
    if repo_url not in checked and len(checked) >= MAX_REPOS_OF_A_USER:
        raise NotAllowed(
            f"you follow {MAX_REPOS_OF_A_USER} repositories, the maximum; stop following one first"
        )


async def follow_repo(
    skill: PublishedSkill,
    *,
    ref: str = "",
    actor: str,
    rights: FollowRights = "user",
    may_replace: bool = True,
    tag: str | None = None,
) -> FollowedRepo:
    """Follow the repository that a skill is published from; doing so twice changes nothing.

    *may_replace* is the right to change what another user follows, such as the branch. *tag* is the
    newest known tag; without it, all tags of the first check count as known. New commits are
    submitted with *rights*.
    """
    if not skill.repo_url.startswith(("https://", "http://")):
        raise InvalidInput(
            f"{skill.slug} is not published from a repository; publish its next version instead"
        )
    wanted = FollowedRepo(
        slug=skill.slug,
        repo_url=skill.repo_url,
        ref=checked_ref(ref),
        by=actor,
        is_by_operator=rights == "operator",
        is_by_staff=rights == "staff",
        at=get_now(),
        tag=tag,
    )
    return await _start(wanted, may_replace=may_replace)


async def follow_whole_repo(
    repo_url: str,
    *,
    ref: str = "",
    actor: str,
    rights: FollowRights = "user",
    may_replace: bool = True,
) -> FollowedRepo:
    """Submit the skills that are new in a repository, now and later, and follow each of them."""
    wanted = FollowedRepo(
        slug="",
        repo_url=repo_url,
        ref=checked_ref(ref),
        by=actor,
        is_by_operator=rights == "operator",
        is_by_staff=rights == "staff",
        at=get_now(),
    )
    return await _start(wanted, may_replace=may_replace)


async def _start(wanted: FollowedRepo, *, may_replace: bool) -> FollowedRepo:
    name, actor = wanted.name, wanted.by

    async def plan() -> PlannedChange[FollowedRepo]:
        expected = await _expect_still_there(wanted)
        stored = await get_followed_repo(name)
        if stored and _is_same(stored.record, wanted):
            return PlannedChange(result=stored.record)
        if stored and not may_replace and _is_of_another(stored.record, actor):
            raise NotAllowed(
                f"{stored.record.by} follows {name} at another branch; ask them or a reviewer to "
                "stop that"
            )
        shown = f"{wanted.repo_url} {wanted.ref}".strip()
        operations = [
            write_followed_repo(
                wanted, due=wanted.at, expected=stored.revision if stored else ABSENT
            ),
            *expected,
            write_audit("repo follow", name, actor=actor, reason="", outcome=shown),
        ]
        return PlannedChange(operations=operations, result=wanted)

    return await change(f"the followed repo of {name}", plan)


async def _expect_still_there(wanted: FollowedRepo) -> list[Operation]:
    """Refuse a skill that was deleted or moved meanwhile, and a user whose account was deleted."""
    if await is_deleted_user(wanted.by):
        raise NotFound(f"there is no user {wanted.by!r}")
    operations = [expect_not_deleted(wanted.by)]
    if wanted.slug:
        skill = await get_skill(wanted.slug)
        if skill is None:
            raise NotFound(f"there is no published skill {wanted.slug!r}")
        operations.append(expect_skill(skill))
    return operations


def _is_same(known: FollowedRepo, wanted: FollowedRepo) -> bool:
    """Return whether nothing has to change; a stopped record starts again."""
    is_alike = (known.repo_url, known.ref) == (wanted.repo_url, wanted.ref)
    gains_rights = wanted.is_by_staff and wanted.by == known.by and not known.is_by_staff
    return is_alike and known.stopped_at is None and not gains_rights


def _is_of_another(known: FollowedRepo, actor: str) -> bool:
    return known.stopped_at is None and (known.by != actor or known.is_by_operator)


async def unfollow_repo(name: str, *, actor: str) -> FollowedRepo:
    """Stop following a repository, or that of a skill; raise NotFound if it is not followed."""

    async def plan() -> PlannedChange[FollowedRepo]:
        stored = await get_followed_repo(name)
        if stored is None:
            raise NotFound(f"the repository of {name} is not followed")
        operations = [
            delete_followed_repo(name, expected=stored.revision),
            write_audit("repo unfollow", name, actor=actor, reason=""),
        ]
        return PlannedChange(operations=operations, result=stored.record)

    return await change(f"the followed repo of {name}", plan)


async def list_skills_from(repo_url: str) -> list[PublishedSkill]:
    """Return the skills that are published from a repository, given its canonical URL."""
    submission_ids = await list_submission_ids_of(repo_url, limit=MAX_SKILLS_OF_A_REPO)
    submissions = (await read_submissions(submission_ids)).values()
    slugs = sorted({submission.slug for submission in submissions if submission.slug})
    found = [(await find_skill(slug))[1] for slug in slugs]
    skills = {stored.record.slug: stored.record for stored in found if stored}
    return [skill for skill in skills.values() if skill.repo_url == repo_url]
