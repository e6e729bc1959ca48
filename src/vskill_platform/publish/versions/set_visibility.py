"""Hiding a skill from all but those of its namespace, and showing it again."""

import msgspec

from vskill_platform.engines.ports import Operation
from vskill_platform.errors import NotAllowed, NotFound, Overtaken
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.publish.versions.sync_visibility import Home, align_submissions
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.likeness_store import delete_likeness
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import expect_skill, get_skill, resolve_slug, write_skill

#: Submissions are changed in batches; a source with more batches than this has met a fault.
_MAX_BATCHES = 100


async def set_visibility(
    slug: str, *, is_private: bool, actor: str, reason: str = ""
) -> PublishedSkill:
    """Hide or show a skill and all submissions of its source; twice changes nothing more.

    What is shown again is compared with others once the cron has brought it into the index.
    """
    slug = await resolve_slug(slug)

    async def plan() -> PlannedChange[PublishedSkill | None]:
        stored = await get_skill(slug)
        if stored is None:
            raise NotFound(f"there is no published skill {slug!r}")
        operations = await _change(stored, is_private=is_private, actor=actor, reason=reason)
        return PlannedChange(operations=operations, result=None if operations else stored.record)

    for _ in range(_MAX_BATCHES):
        # Until nothing is left to change: a submission that arrived meanwhile is found now.
        if unchanged := await change(slug, plan):
            return unchanged
    raise Overtaken(f"{slug} keeps getting new submissions; try again")


async def _change(
    stored: Stored[PublishedSkill], *, is_private: bool, actor: str, reason: str
) -> list[Operation]:
    """Say what there is to write; nothing if all is as it should be."""
    changed = msgspec.structs.replace(stored.record, is_private=is_private)
    home = Home(url=changed.repo_url, path=changed.skill_path, slugs=frozenset({changed.slug}))
    aligned = await align_submissions(home, is_private=is_private)
    if stored.record.is_private == is_private:
        return [expect_skill(stored), *aligned] if aligned else []
    if is_private:
        await _check_somebody_sees(stored.record)
    outcome = f"is {'private' if is_private else 'public'}"
    return [
        write_skill(changed, expected=stored.revision),
        *aligned,
        *(await delete_likeness(changed.slug) if is_private else []),
        write_audit("visibility", changed.slug, actor=actor, reason=reason, outcome=outcome),
    ]


async def _check_somebody_sees(skill: PublishedSkill) -> None:
    namespace = namespace_of_skill(skill)
    if not (await get_namespace(namespace)).record.is_owned:
        raise NotAllowed(f"{namespace} belongs to nobody: nobody could see what is private in it")
