"""Delete an account: preview what would be deleted, then delete everything personal in one commit.

Published skills stay with their namespace. The name stays reserved: histories and the audit log
keep it, and a new account with that name would own its namespace.
"""

import msgspec

from vskill_platform.access.namespaces import has_private_skills, without_user
from vskill_platform.access.users import find_user, keep_an_admin
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import NotFound
from vskill_platform.model.namespace import namespace_of
from vskill_platform.model.submission import TERMINAL_STATES
from vskill_platform.model.user import own_namespace
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.end_submission import withdraw_deleted
from vskill_platform.stores.followed_repo_store import delete_followed_repo, list_followed_by
from vskill_platform.stores.github_link_store import delete_github_link, get_github_link_of
from vskill_platform.stores.mail_address_store import delete_mail_address, get_mail_address
from vskill_platform.stores.namespace_store import (
    get_namespace,
    list_namespaces_of,
    write_namespace,
)
from vskill_platform.stores.oidc_store import (
    delete_oidc_link,
    delete_oidc_session,
    get_oidc_link_of,
    list_oidc_sessions,
)
from vskill_platform.stores.one_time_link_store import delete_one_time_links_for
from vskill_platform.stores.passkey_store import delete_passkey, list_passkeys
from vskill_platform.stores.second_factor_store import (
    delete_new_totp,
    delete_second_factor,
    get_second_factor,
)
from vskill_platform.stores.session_store import delete_sessions, forget_sign_in, list_sessions
from vskill_platform.stores.skill_store import list_slugs_in
from vskill_platform.stores.source_submissions import get_namespace_of
from vskill_platform.stores.submission_store import get_submission, list_pending_ids
from vskill_platform.stores.token_store import delete_token, delete_tokens_mark, list_tokens
from vskill_platform.stores.transfer_store import delete_transfer, list_transfers
from vskill_platform.stores.trusted_publisher_store import list_trusted_publishers
from vskill_platform.stores.user_store import delete_user, get_user
from vskill_platform.stores.webhook_store import list_endpoints


class AccountDeletion(msgspec.Struct, frozen=True, kw_only=True):
    """What the deletion of an account removes, and what remains without an owner."""

    name: str
    tokens: int
    sessions: int
    followed: int
    #: Namespaces without another owner, with the number of skills that remain in each.
    ownerless: dict[str, int]
    #: Namespaces with other owners.
    shared: tuple[str, ...]
    #: Webhooks and trusted publishers of this user, which stop working.
    webhooks: int
    trusted_publishers: int


async def preview_account_deletion(name: str) -> AccountDeletion:
    """Return what would happen, without changing anything."""
    user = await find_user(name)
    ownerless, shared, trusted = {}, [], 0
    for namespace in await list_namespaces_of(user.name):
        found = (await get_namespace(namespace)).record
        publishers = await list_trusted_publishers(namespace)
        trusted += sum(one.by == user.name for one in publishers)
        if not found.is_owner(user.name):
            continue
        if set(found.owners) - {user.name}:
            shared.append(namespace)
        else:
            ownerless[namespace] = len(await list_slugs_in(namespace))
    return AccountDeletion(
        name=user.name,
        tokens=len(await list_tokens(user.name)),
        sessions=len(await list_sessions(user.name)),
        followed=len(await list_followed_by(user.name)),
        ownerless=ownerless,
        shared=tuple(shared),
        webhooks=sum(one.owner == user.name for one in await list_endpoints()),
        trusted_publishers=trusted,
    )


async def delete_account(name: str, *, actor: str, reason: str) -> AccountDeletion:
    """Delete an account with everything personal; the last admin cannot be deleted."""

    async def plan() -> PlannedChange[AccountDeletion]:
        stored = await get_user(name.strip().lower())
        if stored is None:
            raise NotFound(f"there is no user {name!r}")
        user = stored.record
        preview = await preview_account_deletion(user.name)
        without = msgspec.structs.replace(user, is_disabled=True)
        operations = [
            *await keep_an_admin(stored, without),
            *delete_user(stored),
            *await _delete_credentials(user.name),
            *await _delete_links(user.name),
            *await _leave_namespaces(user.name),
            *await _withdraw_undecided(user.name, actor=actor),
            write_audit(
                "user delete", user.name, actor=actor, reason=reason,
                outcome=f"{len(preview.ownerless)} namespaces without an owner",
            ),
        ]  # fmt: skip
        return PlannedChange(operations=operations, result=preview)

    done = await change(f"the user {name}", plan)
    await _delete_rest(done.name)
    return done


async def _delete_rest(name: str) -> None:
    """Delete what was written during the deletion; from now on nothing can be added."""

    async def plan() -> PlannedChange[None]:
        rest = [
            *await _delete_credentials(name),
            *await _delete_links(name),
            *await _leave_namespaces(name),
        ]
        return PlannedChange(operations=rest, result=None)

    await change(f"what is left of {name}", plan)


async def _delete_credentials(name: str) -> list[Operation]:
    factor, passkeys = await get_second_factor(name), await list_passkeys(name)
    tokens = [await delete_token(token) for token in await list_tokens(name)]
    return [
        *(operation for operations in tokens for operation in operations),
        delete_tokens_mark(name),
        *await delete_sessions(name),
        forget_sign_in(name),
        *await delete_one_time_links_for(name),
        *([delete_second_factor(factor)] if factor else []),
        *(operation for passkey in passkeys for operation in delete_passkey(passkey)),
        delete_new_totp(name),
    ]


async def _delete_links(name: str) -> list[Operation]:
    """Delete the account's links to other accounts, addresses and repositories."""
    github, oidc = await get_github_link_of(name), await get_oidc_link_of(name)
    address = await get_mail_address(name)
    sessions = [delete_oidc_session(one) for one in await list_oidc_sessions(name)]
    return [
        *(delete_github_link(github) if github else []),
        *(delete_oidc_link(oidc) if oidc else []),
        *(operation for operations in sessions for operation in operations),
        *([delete_mail_address(address)] if address else []),
        *(delete_followed_repo(one.name) for one in await list_followed_by(name)),
        *(
            delete_transfer(one.id)
            for one in await list_transfers()
            if name in {one.by, one.to} or one.to == own_namespace(name)
        ),
    ]


async def _withdraw_undecided(name: str, *, actor: str) -> list[Operation]:
    """Withdraw submissions that would still be published in the namespace of the account."""
    own = own_namespace(name)
    operations: list[Operation] = []
    for found in await list_pending_ids(lambda one: namespace_of(one.source) == own):
        stored = await get_submission(found)
        if stored is None or stored.record.state in TERMINAL_STATES:
            continue
        if await get_namespace_of(stored.record) == own:  # not if the skill was transferred
            why = f"the account {name} was deleted"
            operations += (await withdraw_deleted(stored, why, actor=actor))[1]
    return operations


async def _leave_namespaces(name: str) -> list[Operation]:
    operations: list[Operation] = []
    for namespace in await list_namespaces_of(name):
        stored = await get_namespace(namespace)
        if name not in {*stored.record.owners, *stored.record.members}:
            continue
        stays_closed = await has_private_skills(namespace)
        left = msgspec.structs.replace(
            without_user(stored.record, name, stays_closed=stays_closed),
            members=tuple(one for one in stored.record.members if one != name),
        )
        operations += write_namespace(stored, left)
    return operations
