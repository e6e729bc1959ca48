"""Rights from groups of the provider: the role of a user, and namespaces.

They are set at each sign-in, so a user who loses a group loses its rights. This includes the last
admin, because the provider decides; the operator can always create another one (`admin users
admin-link`).
"""

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import NotFound
from vskill_platform.model.namespace import checked_namespace
from vskill_platform.model.oidc import Identity
from vskill_platform.model.user import Namespace, Role, User
from vskill_platform.sign_on_settings import NamespaceGroups, namespace_groups, role_groups
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.namespace_store import get_namespace, write_namespace
from vskill_platform.stores.oidc_store import change_oidc_link, get_oidc_link
from vskill_platform.stores.records import Stored
from vskill_platform.stores.user_store import get_user, write_user

log = get_logger(__name__)

_ACTOR = "system"
_WHY = "groups at the sign-on provider"
_STRONGEST_FIRST = tuple(reversed(Role))
_NO_GROUPS = NamespaceGroups()


def role_of(identity: Identity) -> Role | None:
    """Return the role of these groups; None if they give no access to this registry."""
    settings = get_settings()
    groups = role_groups(settings)
    for role in _STRONGEST_FIRST:
        if not identity.groups.isdisjoint(groups.get(role, ())):
            return role
    default = settings.oidc_default_role
    return None if default == "none" else Role(default)


async def apply_groups(user_name: str, identity: Identity) -> User:
    """Give a user the rights of these groups and withdraw those of lost ones, in one commit."""

    async def plan() -> PlannedChange[User]:
        stored = await get_user(user_name)
        if stored is None:
            raise NotFound(f"there is no user {user_name!r}")
        role, changed = _plan_role(stored, identity)
        operations = [*role, *await _plan_namespaces(user_name, identity)]
        return PlannedChange(operations=operations, result=changed)

    return await change(f"the rights of {user_name}", plan)


async def close_managed_namespaces() -> None:
    """Close the namespaces in the settings before any member of their groups has signed in."""
    for name, groups in _managed().items():

        async def plan(name: str = name, groups: NamespaceGroups = groups) -> PlannedChange[None]:
            stored = await get_namespace(name)
            if not groups.owners or stored.record.is_owned:
                return PlannedChange(result=None)
            closed = msgspec.structs.replace(stored.record, is_managed=True)
            return PlannedChange(operations=_write(stored, closed), result=None)

        await change(f"the namespace {name}", plan)


def _plan_role(stored: Stored[User], identity: Identity) -> tuple[list[Operation], User]:
    user, role = stored.record, role_of(identity) or Role.READER
    if not role_groups(get_settings()) or user.role is role:  # without groups, admins set the roles
        return [], user
    if user.role is Role.ADMIN:
        log.warning("an admin lost the role: no group of the provider gives it", name=user.name)
    changed = msgspec.structs.replace(user, role=role)
    audit = write_audit("user set-role", user.name, actor=_ACTOR, reason=_WHY, outcome=f"is {role}")
    return [write_user(changed, expected=stored.revision), audit], changed


async def _plan_namespaces(user_name: str, identity: Identity) -> list[Operation]:
    """Set the user's rights in managed namespaces, and in those that were managed before."""
    managed = _managed()
    link = await get_oidc_link(identity.issuer, identity.subject)
    before = link.record.namespaces if link else ()
    operations: list[Operation] = []
    for name in sorted({*managed, *before}):
        stored = await get_namespace(name)
        changed = _with_rights(stored.record, user_name, identity, managed.get(name, _NO_GROUPS))
        if changed != stored.record:
            operations += _write(stored, changed)
    given = tuple(
        name
        for name, groups in sorted(managed.items())
        if not identity.groups.isdisjoint((*groups.owners, *groups.members))
    )
    if link and given != before:
        renewed = msgspec.structs.replace(link.record, namespaces=given)
        operations.append(change_oidc_link(link, renewed))
    return operations


def _with_rights(
    namespace: Namespace, user_name: str, identity: Identity, groups: NamespaceGroups
) -> Namespace:
    owners, members = set(namespace.owners), set(namespace.members)
    for names, chosen in ((owners, groups.owners), (members, groups.members)):
        names.discard(user_name)
        if not identity.groups.isdisjoint(chosen):
            names.add(user_name)
    return msgspec.structs.replace(
        namespace,
        owners=tuple(sorted(owners)),
        members=tuple(sorted(members)),
        # Otherwise it would be open to everyone when its last owner loses the group.
        is_managed=namespace.is_managed or bool(groups.owners),
    )


def _write(stored: Stored[Namespace], changed: Namespace) -> list[Operation]:
    owners = ", ".join(changed.owners) or "nobody"
    audit = write_audit(
        "namespace manage", changed.name, actor=_ACTOR, reason=_WHY, outcome=f"owned by {owners}"
    )
    return [*write_namespace(stored, changed), audit]


def _managed() -> dict[str, NamespaceGroups]:
    found = namespace_groups(get_settings())
    return {checked_namespace(name): groups for name, groups in found.items()}
