"""Add, disable and enable users, and change roles and passwords; all changes are audited."""

from collections.abc import Awaitable, Callable

import msgspec

from vskill_platform.access.passwords import check_password, digest_password
from vskill_platform.access.sign_in import check_credentials
from vskill_platform.engines.operations import ABSENT, Operation
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.user import Role, User, checked_user_name
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.oidc_store import expect_no_oidc_link, get_oidc_link_of
from vskill_platform.stores.one_time_link_store import delete_one_time_links_for
from vskill_platform.stores.records import Stored
from vskill_platform.stores.session_store import delete_sessions
from vskill_platform.stores.user_store import (
    Password,
    expect_not_deleted,
    get_admins_mark,
    get_user,
    is_deleted_user,
    list_users,
    write_admins_mark,
    write_password,
    write_user,
)

_Change = Callable[[User], User]


async def find_user(name: str) -> User:
    stored = await get_user(name.strip().lower())
    if stored is None:
        raise NotFound(f"there is no user {name!r}")
    return stored.record


async def add_user(name: str, role: Role, *, actor: str, password: str | None = None) -> User:
    """Add a user; without a password, the user cannot sign in until one is set."""
    operations, user = await prepare_user(name, role, actor=actor, password=password)
    if await commit(operations) is None:
        raise InvalidInput(f"the user {user.name!r} already exists")
    return user


async def prepare_user(
    name: str,
    role: Role,
    *,
    actor: str,
    password: str | None = None,
    reason: str = "",
    is_break_glass: bool = False,
) -> tuple[list[Operation], User]:
    """Return the operations that add a user; the commit fails if the name is taken."""
    checked = checked_user_name(name)
    user = User(name=checked, role=role, created_at=get_now(), is_break_glass=is_break_glass)
    if await is_deleted_user(user.name):
        raise InvalidInput(f"an account {user.name!r} was deleted, so nobody can use this name")
    operations = [
        write_user(user, expected=ABSENT),
        expect_not_deleted(user.name),
        write_audit("user add", user.name, actor=actor, reason=reason, outcome=f"is {role}"),
    ]
    if password is not None:
        operations.append(await prepare_password(user.name, password))
    return operations, user


async def prepare_password(name: str, password: str) -> Operation:
    check_password(password, name=name)
    kept = Password(digest=await digest_password(password), changed_at=get_now())
    return write_password(name, kept)


async def set_role(name: str, role: Role, *, actor: str, reason: str = "") -> User:
    """Change a user's role, effective from the next request, even for tokens."""
    return await _change(
        name,
        lambda user: msgspec.structs.replace(user, role=role),
        audit=("user set-role", f"is {role}"),
        actor=actor,
        reason=reason,
    )


async def disable_user(name: str, *, actor: str, reason: str = "") -> User:
    """Disable a user: sign-in, sessions, tokens and links stop working."""
    user = await find_user(name)
    return await _change(
        name,
        lambda user: msgspec.structs.replace(
            user, is_disabled=True, epoch=user.epoch + (not user.is_disabled)
        ),
        audit=("user disable", "disabled, signed out everywhere"),
        actor=actor,
        reason=reason,
        also=lambda: delete_one_time_links_for(user.name),
    )


async def enable_user(name: str, *, actor: str, reason: str = "") -> User:
    """Enable a user; tokens work again, but the user has to sign in again."""
    return await _change(
        name,
        lambda user: msgspec.structs.replace(user, is_disabled=False),
        audit=("user enable", "is enabled"),
        actor=actor,
        reason=reason,
    )


async def set_break_glass(name: str, *, is_on: bool, actor: str, reason: str = "") -> User:
    """Allow or forbid a user to sign in with a password while passwords are turned off."""
    user = await find_user(name)

    async def without_link() -> list[Operation]:
        if not is_on:
            return []
        if await get_oidc_link_of(user.name):
            raise NotAllowed(
                f"{user.name} is linked to an account of the sign-on provider, whose groups decide "
                "the role; unlink it first, or use another account"
            )
        return [expect_no_oidc_link(user.name)]

    return await _change(
        user.name,
        lambda user: msgspec.structs.replace(user, is_break_glass=is_on),
        audit=("user break-glass", "can use a password" if is_on else "is a normal account"),
        actor=actor,
        reason=reason,
        also=without_link,
    )


async def set_password(name: str, password: str, *, actor: str, reason: str = "") -> User:
    """Set a user's password and revoke password links.

    It ends the user's sessions: each belongs to an epoch, and this begins a new one.
    """
    user = await find_user(name)
    written = await prepare_password(user.name, password)

    async def replace_password() -> list[Operation]:
        return [written, *await delete_one_time_links_for(user.name)]

    return await _change(
        user.name,
        _sign_out,
        audit=("user set-password", "signed out everywhere"),
        actor=actor,
        reason=reason,
        also=replace_password,
    )


async def change_own_password(user: User, old: str, new: str) -> User:
    """Change a user's own password, given the current one; it ends all sessions."""
    if await check_credentials(user.name, old) is None:
        raise InvalidInput("the current password is wrong")
    return await set_password(user.name, new, actor=user.name, reason="own choice")


async def sign_out_everywhere(name: str, *, actor: str) -> User:
    """End all sessions of a user and revoke the user's password links, in one commit."""
    user = await find_user(name)

    async def end_all() -> list[Operation]:
        return [*await delete_sessions(user.name), *await delete_one_time_links_for(user.name)]

    return await _change(
        user.name,
        _sign_out,
        audit=("user sign-out", "signed out everywhere"),
        actor=actor,
        reason="",
        also=end_all,
    )


async def has_admin() -> bool:
    """Return whether there is an admin that is not disabled."""
    return any(user.role is Role.ADMIN and not user.is_disabled for user in await list_users())


def _sign_out(user: User) -> User:
    return msgspec.structs.replace(user, epoch=user.epoch + 1)


async def _change(
    name: str,
    update: _Change,
    *,
    audit: tuple[str, str],
    actor: str,
    reason: str,
    also: Callable[[], Awaitable[list[Operation]]] | None = None,
) -> User:
    """Change a user by compare-and-set, with an audit record if there is a change.

    *also* returns further operations for the same commit; it is called again for each attempt.
    """

    async def plan() -> PlannedChange[User]:
        stored = await get_user(name.strip().lower())
        if stored is None:
            raise NotFound(f"there is no user {name!r}")
        changed = update(stored.record)
        if changed == stored.record:
            return PlannedChange(result=changed)
        action, outcome = audit
        operations = [
            *await keep_an_admin(stored, changed),
            write_user(changed, expected=stored.revision),
            write_audit(action, changed.name, actor=actor, reason=reason, outcome=outcome),
            *(await also() if also else []),
        ]
        return PlannedChange(operations=operations, result=changed)

    return await change(f"the user {name}", plan)


async def keep_an_admin(stored: Stored[User], changed: User) -> list[Operation]:
    """Refuse to remove the last admin, even if two admins are removed concurrently."""
    was, will_be = (
        user.role is Role.ADMIN and not user.is_disabled for user in (stored.record, changed)
    )
    if not was or will_be:
        return []
    mark = await get_admins_mark()  # before the check, to detect a concurrent removal
    others = [user for user in await list_users() if user.name != changed.name]
    if not any(user.role is Role.ADMIN and not user.is_disabled for user in others):
        raise NotAllowed(f"{changed.name} is the last admin; make another user an admin first")
    return [write_admins_mark(changed.name, expected=mark)]
