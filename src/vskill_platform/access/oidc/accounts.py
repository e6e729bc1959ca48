"""Find the user of an account at the provider by its link, never by name; otherwise create one.

Groups decide the role and the namespaces of the user, again at each sign-in.
"""

import re

from vskill_platform.access.oidc.group_rights import apply_groups, role_of
from vskill_platform.access.secret_texts import digest_of
from vskill_platform.access.users import find_user, prepare_user
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import ABSENT
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound, NotSignedIn
from vskill_platform.model.oidc import MAX_SUBJECT, Identity
from vskill_platform.model.user import User, checked_user_name, own_namespace
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.namespace_store import expect_namespace, get_namespace
from vskill_platform.stores.oidc_store import (
    OidcLink,
    delete_oidc_link,
    get_oidc_link,
    get_oidc_link_of,
    write_new_oidc_link,
)
from vskill_platform.stores.skill_store import has_skills_in
from vskill_platform.stores.user_store import expect_user, get_user, is_deleted_user

log = get_logger(__name__)

_NOT_ALLOWED_IN_NAMES = re.compile(r"[^a-z0-9]+")
_MAX_NAME = 36
#: How many people with the same name at the provider get a number after their name.
_MAX_NUMBER = 99
_MAX_SHOWN = 100
_LINK_IT = "Sign in with your password, and link it on your account page"


async def find_account(identity: Identity) -> User:
    """Return the user of this identity with the rights of its groups; create it if allowed."""
    link = await get_oidc_link(identity.issuer, identity.subject)
    user = await find_user(link.record.user) if link else await _sign_up(identity)
    if user.is_disabled:
        raise NotSignedIn(f"the account {user.name} is disabled")
    user = await apply_groups(user.name, identity)
    if role_of(identity) is None:  # after withdrawing the rights, of tokens too
        raise _no_group()
    return user


async def link_account(user: User, identity: Identity) -> OidcLink:
    """Link an account at the provider to a user who asked for it."""
    return await _link(user, _new_link(user.name, identity), actor=user.name, reason="")


async def link_subject(user_name: str, subject: str, *, actor: str, reason: str = "") -> OidcLink:
    """Link the account with this subject, at the provider in the settings, to a user."""
    user, issuer = await find_user(user_name), get_settings().oidc_issuer
    if not issuer:
        raise InvalidInput("set VSKILL_OIDC_ISSUER first")
    if not 0 < len(subject) <= MAX_SUBJECT or not subject.isprintable():
        raise InvalidInput(f"a subject has 1 to {MAX_SUBJECT} printable characters")
    link = _new_link(user.name, Identity(issuer=issuer, subject=subject))
    return await _link(user, link, actor=actor, reason=reason)


async def _link(user: User, link: OidcLink, *, actor: str, reason: str) -> OidcLink:
    async def plan() -> PlannedChange[OidcLink]:
        stored = await get_user(user.name)
        if stored is None:
            raise NotFound(f"there is no user {user.name!r}")
        if stored.record.is_break_glass:
            raise NotAllowed("a break-glass account cannot be linked: it must not need a provider")
        same = await get_oidc_link(link.issuer, link.subject)
        if same and same.record.user != user.name:
            raise NotAllowed("that account is linked to another user of this registry")
        if same:
            return PlannedChange(result=same.record)
        if await get_oidc_link_of(user.name):
            raise NotAllowed("another account is linked already; unlink it first")
        outcome = describe_link(link)
        audit = write_audit("oidc link", user.name, actor=actor, reason=reason, outcome=outcome)
        operations = [*write_new_oidc_link(link), expect_user(stored), audit]
        return PlannedChange(operations=operations, result=link)

    return await change(f"the linked account of {user.name}", plan)


async def unlink_account(user_name: str, *, actor: str, reason: str = "") -> OidcLink:
    """Remove the link of a user; sessions and tokens stay valid."""
    user = await find_user(user_name)

    async def plan() -> PlannedChange[OidcLink]:
        old = await get_oidc_link_of(user.name)
        if old is None:
            raise NotFound(f"no account of a provider is linked to {user.name}")
        outcome = describe_link(old.record)
        audit = write_audit("oidc unlink", user.name, actor=actor, reason=reason, outcome=outcome)
        return PlannedChange(operations=[*delete_oidc_link(old), audit], result=old.record)

    return await change(f"the linked account of {user.name}", plan)


def describe_link(link: OidcLink) -> str:
    return f"{link.shown_as} (subject {link.subject[:_MAX_SHOWN]} at {link.issuer})"


async def _sign_up(identity: Identity) -> User:
    """Create a user for someone who signs in for the first time."""
    role = role_of(identity)
    if role is None:
        raise _no_group()
    if not get_settings().oidc_sign_up:
        raise NotAllowed(f"your account is not linked to a user of this registry. {_LINK_IT}")

    async def plan() -> PlannedChange[User]:
        if known := await get_oidc_link(identity.issuer, identity.subject):
            return PlannedChange(result=await find_user(known.record.user))
        name = await _find_free_name(identity)
        space = await get_namespace(own_namespace(name))
        link = _new_link(name, identity)
        created, user = await prepare_user(name, role, actor=name, reason=describe_link(link))
        operations = [*created, *write_new_oidc_link(link), expect_namespace(space)]
        return PlannedChange(operations=operations, result=user)

    user = await change("a new account", plan)
    log.info("user created by single sign-on", name=user.name, role=user.role)
    return user


async def _find_free_name(identity: Identity) -> str:
    """Return a name for a new user that is free as a user and as a namespace.

    If a user of the provider has the name, it gets a number. If another user has it, that may be
    the same person, who has to link the account.
    """
    wanted = _wanted_name(identity)
    for number in range(1, _MAX_NUMBER):
        name = wanted if number == 1 else f"{wanted}-{number}"
        if await is_deleted_user(name):
            continue
        if await get_user(name):
            other = await get_oidc_link_of(name)
            if other is None or other.record.issuer != identity.issuer:
                raise NotAllowed(
                    f"there is another account {name} here. If it is yours: {_LINK_IT}"
                )
            continue
        space = await get_namespace(own_namespace(name))
        if space.revision == ABSENT and not await has_skills_in(space.record.name):
            return name
    raise NotAllowed(f"too many users are called {wanted}; ask an admin for an account")


def _wanted_name(identity: Identity) -> str:
    """Make a user name from the claims: `Ada.Lovelace@acme.example` becomes `ada-lovelace`."""
    for text in identity.names:
        words = _NOT_ALLOWED_IN_NAMES.sub("-", text.lower().partition("@")[0])
        try:
            return checked_user_name(words[:_MAX_NAME].strip("-"))
        except InvalidInput:
            continue
    return f"user-{digest_of(identity.subject)[:8]}"


def _new_link(user_name: str, identity: Identity) -> OidcLink:
    return OidcLink(
        issuer=identity.issuer,
        subject=identity.subject,
        user=user_name,
        shown_as=(*identity.names, identity.subject)[0][:_MAX_SHOWN],
        at=get_now(),
    )


def _no_group() -> NotAllowed:
    return NotAllowed(
        "None of your groups gives access to this registry. Ask an admin to add you to one."
    )
