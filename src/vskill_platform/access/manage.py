"""Who may yank a published skill's versions, hide it or show it."""

from vskill_platform.errors import NotAllowed
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.namespace_store import get_namespace


async def may_manage(visitor: Visitor, skill: PublishedSkill) -> bool:
    """Tell whether it is theirs: as an owner of its namespace, or as somebody who may block.

    Where nobody owns the namespace, whoever submits there has no more say than anybody else.
    """
    settings = get_settings()
    if visitor.may(Right.BLOCK, settings):
        return True
    namespace = (await get_namespace(namespace_of_skill(skill))).record
    if not namespace.is_owned or visitor.user is None:
        return False
    return visitor.may(Right.MANAGE, settings) and visitor.may_act_in(namespace, settings)


async def check_may_manage(visitor: Visitor, skill: PublishedSkill) -> None:
    if not await may_manage(visitor, skill):
        raise NotAllowed(f"only an owner of its namespace or a reviewer can change {skill.slug}")
