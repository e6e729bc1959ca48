"""Manage the owners and members of namespaces, and check their permissions."""

from collections.abc import Awaitable, Callable

import msgspec

from vskill_platform.access.users import find_user
from vskill_platform.errors import NotAllowed, NotFound
from vskill_platform.model.mirror import is_mirror_namespace
from vskill_platform.model.namespace import checked_namespace, namespace_of, namespace_of_skill
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.source import Source, SourceKind
from vskill_platform.model.user import Namespace
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.namespace_store import get_namespace, write_namespace
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import list_slugs_in, read_skills
from vskill_platform.stores.source_submissions import describe_other_ref
from vskill_platform.stores.transfer_store import Transfer, end_accepted
from vskill_platform.stores.user_store import get_user


async def add_owner(namespace: str, user_name: str, *, actor: str) -> Namespace:
    """Add an owner; with its first owner, a namespace is closed to everyone else."""

    async def change(found: Namespace) -> Namespace:
        owners = _with(found.owners, (await find_user(user_name)).name)
        return msgspec.structs.replace(found, owners=owners, is_managed=False, deleted=None)

    return await _change("namespace add-owner", namespace, user_name, change, actor=actor)


async def remove_owner(namespace: str, user_name: str, *, actor: str) -> Namespace:
    """Remove an owner; a namespace without owners is open to everyone again.

    A namespace with private skills keeps its last owner: everyone who may submit there would learn
    of them.
    """

    async def change(found: Namespace) -> Namespace:
        if user_name not in found.owners:
            raise NotFound(f"{user_name} is not an owner of {found.name}")
        stays_closed = await has_private_skills(found.name)
        return without_user(found, user_name, stays_closed=stays_closed)

    return await _change("namespace remove-owner", namespace, user_name, change, actor=actor)


def without_user(namespace: Namespace, user_name: str, *, stays_closed: bool) -> Namespace:
    """Return it without this owner; with *stays_closed* it stays closed without any owner."""
    owners = _without(namespace.owners, user_name)
    is_closed = namespace.is_managed or (stays_closed and not owners)
    return msgspec.structs.replace(namespace, owners=owners, is_managed=is_closed)


async def has_private_skills(namespace: str) -> bool:
    skills = await read_skills(await list_slugs_in(namespace))
    return any(skill.is_private for skill in skills.values())


async def add_member(namespace: str, user_name: str, *, actor: str) -> Namespace:
    """Add a member, who can see the private skills of the namespace."""

    async def change(found: Namespace) -> Namespace:
        members = _with(found.members, (await find_user(user_name)).name)
        return msgspec.structs.replace(found, members=members)

    return await _change("namespace add-member", namespace, user_name, change, actor=actor)


async def remove_member(namespace: str, user_name: str, *, actor: str) -> Namespace:
    async def change(found: Namespace) -> Namespace:
        if user_name not in found.members:
            raise NotFound(f"{user_name} is not a member of {found.name}")
        return msgspec.structs.replace(found, members=_without(found.members, user_name))

    return await _change("namespace remove-member", namespace, user_name, change, actor=actor)


async def transfer_namespace(
    namespace: str,
    user_name: str,
    *,
    actor: str,
    by: str = "",
    accepted: Stored[Transfer] | None = None,
) -> Namespace:
    """Make a user the owner of a namespace, in place of *by* or, if that is None, of all owners."""
    await check_transferable(namespace)

    async def change(found: Namespace) -> Namespace:
        user = await find_user(user_name)
        if user.is_disabled:
            raise NotAllowed(f"{user.name} is disabled and cannot own a namespace")
        if by and by not in found.owners:
            raise NotAllowed(f"{by} no longer owns {found.name}")
        if by and found.deleted:
            raise NotAllowed(f"{found.name} was deleted")
        kept = _without(found.owners, by) if by else ()
        return msgspec.structs.replace(found, owners=_with(kept, user.name), deleted=None)

    return await _change(
        "namespace transfer", namespace, user_name, change, actor=actor, accepted=accepted
    )


async def check_transferable(namespace: str) -> None:
    """Refuse the namespace of a user: it always belongs to the account with that name."""
    name = checked_namespace(namespace)
    if name.startswith("@") and await get_user(name.removeprefix("@")):
        raise NotAllowed(
            f"{name} belongs to the account of that name; transfer its skills, or ask an admin to "
            "add an owner"
        )


async def has_receiver(namespace: str) -> bool:
    """Return whether someone can accept a skill for this namespace."""
    owners = (await get_namespace(namespace)).record.owners
    is_users = namespace.startswith("@") and await get_user(namespace.removeprefix("@"))
    return bool(owners or is_users)


async def may_act_in(visitor: Visitor, namespace: str) -> bool:
    """Return whether the visitor may submit, withdraw, yank and change visibility in it."""
    if is_mirror_namespace(namespace):
        return visitor.may(Right.REVIEW, get_settings())
    found = await get_namespace(namespace)
    return visitor.may_act_in(found.record, get_settings())


async def check_may_act_in(visitor: Visitor, namespace: str) -> None:
    if not await may_act_in(visitor, namespace):
        if is_mirror_namespace(namespace):
            raise NotAllowed(f"{namespace} belongs to a mirror; only reviewers can act there")
        if (await get_namespace(namespace)).record.deleted:
            raise NotAllowed(f"{namespace} was deleted; only an admin can open it again")
        raise NotAllowed(f"{namespace} has other owners")


async def check_may_publish_ref(visitor: Visitor, source: Source) -> bool:
    """Refuse a branch or tag other than the one of the latest version.

    Otherwise anyone could roll a skill back to an old ref, which would become the latest version.
    Owners of the namespace and reviewers may publish any ref; for them this returns True. For
    others it returns False, and the worker checks again, because another ref may be published
    first.
    """
    if source.kind is not SourceKind.GIT or visitor.may(Right.OPERATE, get_settings()):
        return True
    namespace = namespace_of(source)
    is_owned = (await get_namespace(namespace)).record.is_owned
    if is_owned and await may_act_in(visitor, namespace):
        return True
    if other := await describe_other_ref(source):
        raise NotAllowed(
            f"{source.url} is published from {other}; only the owners of {namespace} or a reviewer "
            "can publish another branch or tag"
        )
    return False


async def _change(
    action: str,
    namespace: str,
    user_name: str,
    update: Callable[[Namespace], Awaitable[Namespace]],
    *,
    actor: str,
    accepted: Stored[Transfer] | None = None,
) -> Namespace:
    """Change a namespace by compare-and-set, with the audit record."""
    name, user_name = checked_namespace(namespace), user_name.strip().lower()

    async def plan() -> PlannedChange[Namespace]:
        stored = await get_namespace(name)
        changed = await update(stored.record)
        if changed == stored.record:
            return PlannedChange(result=changed)
        ended = [await end_accepted(accepted)] if accepted else []
        owners = ", ".join(changed.owners) or "nobody"
        audit = write_audit(
            action, f"{name} {user_name}", actor=actor, reason="", outcome=f"owned by {owners}"
        )
        return PlannedChange(
            operations=[*write_namespace(stored, changed), audit, *ended], result=changed
        )

    return await change(f"the namespace {name}", plan)


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(sorted({*names, name}))


def _without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(item for item in names if item != name)


async def may_manage(visitor: Visitor, skill: PublishedSkill) -> bool:
    """Return whether the visitor may manage a skill: as a namespace owner or a reviewer.

    In a namespace without owners, submitting a skill gives no permission to manage it.
    """
    return await may_manage_in(visitor, namespace_of_skill(skill))


async def may_manage_in(visitor: Visitor, name: str) -> bool:
    """Return whether the visitor may manage the contents of a namespace."""
    settings = get_settings()
    if visitor.may(Right.BLOCK, settings):
        return True
    namespace = (await get_namespace(name)).record
    if not namespace.is_owned or visitor.user is None:
        return False
    return visitor.may(Right.MANAGE, settings) and visitor.may_act_in(namespace, settings)


async def acts_as_staff(visitor: Visitor, skill: PublishedSkill) -> bool:
    """Return whether someone who may manage a skill does so as staff, not as an owner."""
    return not visitor.owns((await get_namespace(namespace_of_skill(skill))).record)


async def check_may_manage(visitor: Visitor, skill: PublishedSkill) -> None:
    if not await may_manage(visitor, skill):
        raise NotAllowed(f"only an owner of its namespace or a reviewer can change {skill.slug}")
