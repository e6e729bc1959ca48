"""Make a skill private or public, together with all submissions of its source.

Each ref of a repo has its own submission with name, source and findings, so a public submission
would reveal a private skill.
"""

import msgspec

from vskill_platform.engines.operations import Operation
from vskill_platform.errors import NotAllowed, NotFound, Overtaken
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.source import Source
from vskill_platform.model.submission import Submission
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.namespace_store import claim_namespace, get_namespace
from vskill_platform.stores.records import Stored
from vskill_platform.stores.similarity_store import delete_similarity_record
from vskill_platform.stores.skill_store import expect_skill, get_skill, resolve_slug, write_skill
from vskill_platform.stores.source_submissions import list_submissions_of
from vskill_platform.stores.submission_store import write_submission

#: Submissions are changed in batches; more batches than this indicate a bug.
_MAX_BATCHES = 100


async def set_visibility(
    slug: str, *, is_private: bool, actor: str, reason: str = ""
) -> PublishedSkill:
    """Make a skill private or public with all submissions of its source; idempotent.

    A skill that becomes public is compared with others once the cron job has indexed it.
    """
    slug = await resolve_slug(slug)

    async def plan() -> PlannedChange[PublishedSkill | None]:
        stored = await get_skill(slug)
        if stored is None:
            raise NotFound(f"there is no published skill {slug!r}")
        operations = await _change(stored, is_private=is_private, actor=actor, reason=reason)
        return PlannedChange(operations=operations, result=None if operations else stored.record)

    for _ in range(_MAX_BATCHES):
        # Repeat until nothing is left to change, because submissions may arrive in the meantime.
        if unchanged := await change(slug, plan):
            return unchanged
    raise Overtaken(f"{slug} keeps getting new submissions; try again")


async def _change(
    stored: Stored[PublishedSkill], *, is_private: bool, actor: str, reason: str
) -> list[Operation]:
    """Return the operations; empty if nothing has to change."""
    changed = msgspec.structs.replace(stored.record, is_private=is_private)
    home = sources_of(changed)
    aligned = await sync_visibility(home, is_private=is_private)
    if stored.record.is_private == is_private:
        return [expect_skill(stored), *aligned] if aligned else []
    claimed = [await _claim_owned(stored.record)] if is_private else []
    outcome = f"is now {'private' if is_private else 'public'}"
    return [
        write_skill(changed, expected=stored.revision),
        *aligned,
        *claimed,
        *(await delete_similarity_record(changed.slug) if is_private else []),
        write_audit("visibility", changed.slug, actor=actor, reason=reason, outcome=outcome),
    ]


async def _claim_owned(skill: PublishedSkill) -> Operation:
    """Refuse a namespace without an owner, even if the last one is removed meanwhile."""
    stored = await get_namespace(namespace_of_skill(skill))
    if not stored.record.is_owned:
        name = stored.record.name
        raise NotAllowed(f"{name} has no owner, so nobody could see its private skills")
    return claim_namespace(stored)


#: How many submissions one commit changes; the next commit changes more.
_MAX_AT_ONCE = 500


class SkillSources(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of a skill and its names."""

    #: The URL and path of its current source, and of those before it was moved.
    places: tuple[tuple[str, str], ...]
    #: Its slug, and the slug of a publication that is being prepared, if any.
    slugs: frozenset[str]


def sources_of(
    skill: PublishedSkill, *, source: Source | None = None, slug: str = ""
) -> SkillSources:
    """Return all sources and slugs of a skill; *source* and *slug* are added by a publication."""
    places = {(skill.repo_url, skill.skill_path): None}
    places |= {(home.repo_url, home.skill_path): None for home in skill.moved_from}
    if source:
        places[source.url, source.path] = None
    return SkillSources(places=tuple(places), slugs=frozenset({skill.slug, slug} - {""}))


async def sync_visibility(
    home: SkillSources, *, is_private: bool, but: str | None = None
) -> list[Operation]:
    """Return the operations that hide or show all submissions of a skill's source.

    The caller writes the submission *but* itself.
    """
    operations: list[Operation] = []
    found = [one for url, path in home.places for one in await list_submissions_of(url, path)]
    for stored in found:
        submission = stored.record
        if submission.id == but or submission.is_private == is_private:
            continue
        if len(operations) < _MAX_AT_ONCE and await _belongs_to(submission, home):
            changed = msgspec.structs.replace(submission, is_private=is_private)
            operations += write_submission(changed, [], expected=stored.revision)
    return operations


async def _belongs_to(submission: Submission, home: SkillSources) -> bool:
    """Return False for a submission whose ref contains the skill under another name."""
    return submission.slug is None or await resolve_slug(submission.slug) in home.slugs
