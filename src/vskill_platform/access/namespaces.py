"""Namespaces: their owners and members, and what these may do."""

from collections.abc import Callable

import msgspec

from vskill_platform.access.users import find_user
from vskill_platform.errors import NotAllowed, NotFound
from vskill_platform.model.namespace import checked_namespace, namespace_of_skill
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.user import Namespace
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.namespace_store import get_namespace, write_namespace


async def add_owner(namespace: str, user_name: str, *, actor: str) -> Namespace:
    """Add an owner; once a namespace has one, nobody else may submit to it."""
    user = await find_user(user_name)

    def change(found: Namespace) -> Namespace:
        return msgspec.structs.replace(found, owners=_with(found.owners, user.name))

    return await _change("namespace add-owner", namespace, user.name, change, actor=actor)


async def remove_owner(namespace: str, user_name: str, *, actor: str) -> Namespace:
    """Remove an owner; everybody may submit to a namespace without owners."""

    def change(found: Namespace) -> Namespace:
        if user_name not in found.owners:
            raise NotFound(f"{user_name} is not an owner of {found.name}")
        return msgspec.structs.replace(found, owners=_without(found.owners, user_name))

    return await _change("namespace remove-owner", namespace, user_name, change, actor=actor)


async def add_member(namespace: str, user_name: str, *, actor: str) -> Namespace:
    """Let a user see private skills in a namespace."""
    user = await find_user(user_name)

    def change(found: Namespace) -> Namespace:
        return msgspec.structs.replace(found, members=_with(found.members, user.name))

    return await _change("namespace add-member", namespace, user.name, change, actor=actor)


async def remove_member(namespace: str, user_name: str, *, actor: str) -> Namespace:
    def change(found: Namespace) -> Namespace:
        if user_name not in found.members:
            raise NotFound(f"{user_name} is not a member of {found.name}")
        return msgspec.structs.replace(found, members=_without(found.members, user_name))

    return await _change("namespace remove-member", namespace, user_name, change, actor=actor)


async def may_act_in(visitor: Visitor, namespace: str) -> bool:
    """Tell whether a user may submit, withdraw, yank and hide in a namespace."""
    found = await get_namespace(namespace)
    return visitor.may_act_in(found.record, get_settings())


async def check_may_act_in(visitor: Visitor, namespace: str) -> None:
    if not await may_act_in(visitor, namespace):
        raise NotAllowed(f"{namespace} belongs to others; its owners can do this")


async def _change(
    action: str,
    namespace: str,
    user_name: str,
    update: Callable[[Namespace], Namespace],
    *,
    actor: str,
) -> Namespace:
    """Change a namespace by compare-and-set, with the audit record."""
    name = checked_namespace(namespace)

    async def plan() -> PlannedChange[Namespace]:
        stored = await get_namespace(name)
        changed = update(stored.record)
        if changed == stored.record:
            return PlannedChange(result=changed)
        owners = ", ".join(changed.owners) or "nobody"
        audit = write_audit(
            action, f"{name} {user_name}", actor=actor, reason="", outcome=f"owned by {owners}"
        )
        return PlannedChange(operations=[*write_namespace(stored, changed), audit], result=changed)

    return await change(f"the namespace {name}", plan)


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(sorted({*names, name}))


def _without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(item for item in names if item != name)


async def may_manage(visitor: Visitor, skill: PublishedSkill) -> bool:
    """Tell whether a user may manage a skill: as namespace owner, or with the right to block.

    In a namespace without owners, its submitters have no more rights than anybody else.
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
