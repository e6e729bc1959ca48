"""What is private is not there for whoever may not see it: not even as something forbidden."""

from vskill_platform.errors import NotFound
from vskill_platform.model.namespace import namespace_of, namespace_of_skill
from vskill_platform.model.rights import Visitor
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.submission import Submission
from vskill_platform.stores.namespace_store import get_namespace, list_namespaces_of
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.stores.submission_store import get_submission


async def sees_skill(visitor: Visitor, skill: PublishedSkill) -> bool:
    return not skill.is_private or await _sees_into(visitor, namespace_of_skill(skill))


async def sees_submission(visitor: Visitor, submission: Submission) -> bool:
    return not submission.is_private or await _sees_into(visitor, namespace_of(submission.source))


async def find_visible_skill(visitor: Visitor, slug: str) -> Stored[PublishedSkill]:
    """Return a skill, taken down or not; old slugs work too.

    Whoever shows versions, files, diffs, archives or reports of a skill asks here first.
    """
    stored = await get_skill(await resolve_slug(slug))
    if stored is None or not await sees_skill(visitor, stored.record):
        raise NotFound(f"there is no published skill {slug!r}")
    return stored


async def find_visible_submission(visitor: Visitor, submission_id: str) -> Stored[Submission]:
    stored = await get_submission(submission_id)
    if stored is None or not await sees_submission(visitor, stored.record):
        raise NotFound(f"there is no submission {submission_id!r}")
    return stored


async def list_seen_namespaces(visitor: Visitor) -> frozenset[str]:
    """Return the namespaces whose private skills are shown, for who does not see all."""
    if visitor.user is None or not visitor.sees_own:
        return frozenset()
    return frozenset(await list_namespaces_of(visitor.user.name))


async def _sees_into(visitor: Visitor, namespace: str) -> bool:
    return visitor.sees_into((await get_namespace(namespace)).record)
