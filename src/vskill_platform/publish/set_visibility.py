"""Hiding a skill from all but those of its namespace, and showing it again."""

import msgspec

from vskill_platform.engines.ports import Operation
from vskill_platform.errors import NotAllowed, NotFound, Overtaken
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit
from vskill_platform.stores.likeness_store import delete_likeness
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.skill_store import get_skill, resolve_slug, write_skill
from vskill_platform.stores.submission_store import get_submission, write_submission

#: Each round meets somebody who was faster; so many in a row are a fault.
_MAX_ROUNDS = 20


async def set_visibility(
    slug: str, *, is_private: bool, actor: str, reason: str = ""
) -> PublishedSkill:
    """Hide or show a skill and the submission that it came from; twice changes nothing more.

    What is shown again is compared with others once the cron has brought it into the index.
    """
    slug = await resolve_slug(slug)
    for _ in range(_MAX_ROUNDS):
        stored = await get_skill(slug)
        if stored is None:
            raise NotFound(f"there is no published skill {slug!r}")
        if stored.record.is_private == is_private:
            return stored.record
        if is_private:
            await _check_somebody_sees(stored.record)
        changed = msgspec.structs.replace(stored.record, is_private=is_private)
        outcome = "private" if is_private else "public"
        operations = [
            write_skill(changed, expected=stored.revision),
            *await _write_submission(changed),
            *(await delete_likeness(slug) if is_private else []),
            write_audit("visibility", slug, actor=actor, reason=reason, outcome=f"is {outcome}"),
        ]
        if await commit(operations) is not None:
            return changed
    raise Overtaken(f"{slug} is being changed by too many others; try again")


async def _write_submission(skill: PublishedSkill) -> list[Operation]:
    """Let its submission be as the skill is; else the next publication would undo it."""
    stored = await get_submission(skill.submission_id)
    if stored is None or stored.record.is_private == skill.is_private:
        return []
    changed = msgspec.structs.replace(stored.record, is_private=skill.is_private)
    return write_submission(changed, [], expected=stored.revision)


async def _check_somebody_sees(skill: PublishedSkill) -> None:
    namespace = namespace_of_skill(skill)
    if not (await get_namespace(namespace)).record.is_owned:
        raise NotAllowed(f"{namespace} belongs to nobody: nobody could see what is private in it")
