"""Manage over the API how users sign in: sign-on accounts, password links, second factors."""

from datetime import datetime
from typing import Annotated

import msgspec
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from vskill_platform.access.oidc.accounts import link_subject, unlink_account
from vskill_platform.access.one_time_links import invite_user, mail_user_link
from vskill_platform.access.second_factor.factors import reset_second_factor
from vskill_platform.access.users import find_user
from vskill_platform.model.oidc import MAX_SUBJECT
from vskill_platform.stores.oidc_store import OidcLink, get_oidc_link_of
from vskill_platform.web.http.api_types import Ok, Shape, Text
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.people.confirm_identity import signed_in_user
from vskill_platform.web.sign_in.oidc_pages import unlink_own_account


class OidcLinked(Shape, frozen=True, kw_only=True):
    #: Null, like the others, if no account is linked.
    issuer: str | None = None
    subject: str | None = None
    #: The name at the provider when it was linked.
    name: str | None = None
    linked_at: datetime | None = None


class OidcLinking(Shape, frozen=True, kw_only=True):
    #: The claim `sub` of the account at the provider.
    subject: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_SUBJECT)]
    reason: Text = ""


class PasswordLinkRequest(Shape, frozen=True, kw_only=True):
    #: Email the link to the user's address instead of returning it.
    mail: bool = False


class PasswordLink(Shape, frozen=True, kw_only=True):
    #: Valid once, for one day; it replaces earlier links. Empty if it is emailed.
    url: str
    #: The address to which it is emailed; empty otherwise.
    mailed_to: str


class ReasonOfReset(Shape, frozen=True, kw_only=True):
    reason: Text = ""


async def show_own_link(request: WebRequest) -> OidcLinked:
    """Show the sign-on account that is linked to your account."""
    return await _linked(signed_in_user(request).name)


@operation(also=(403, 404))
async def unlink_own(request: WebRequest) -> Ok:
    """Remove the link to your sign-on account; you need a password to sign in again."""
    await unlink_own_account(signed_in_user(request))
    return Ok()


async def show_link(name: FromPath[str]) -> OidcLinked:
    """Show the sign-on account that is linked to a user."""
    return await _linked((await find_user(name)).name)


@operation(also=(403,))
async def link_user(
    request: WebRequest, name: FromPath[str], data: JSONBody[OidcLinking]
) -> OidcLinked:
    """Link the account with this subject at the sign-on provider to a user."""
    actor = visitor_of(request).name
    return _shown(await link_subject(name, data.subject, actor=actor, reason=data.reason))


async def unlink_user(request: WebRequest, name: FromPath[str]) -> Ok:
    """Remove the link of a user to a sign-on account; sessions and tokens stay valid."""
    await unlink_account(name, actor=visitor_of(request).name)
    return Ok()


@operation(status=HTTP_200_OK, response_headers=NO_STORE_HEADER)
async def make_password_link(
    request: WebRequest, name: FromPath[str], data: JSONBody[PasswordLinkRequest]
) -> PasswordLink:
    """Create a link for a user to set a password, or email it."""
    actor = visitor_of(request).name
    if data.mail:
        return PasswordLink(url="", mailed_to=await mail_user_link(name, actor=actor))
    return PasswordLink(url=await invite_user(name, actor=actor), mailed_to="")


@operation(status=HTTP_200_OK)
async def reset_factor(
    request: WebRequest, name: FromPath[str], data: JSONBody[ReasonOfReset]
) -> Ok:
    """Remove the app, the passkeys and the recovery codes of a user."""
    await reset_second_factor(name, actor=visitor_of(request).name, reason=data.reason)
    return Ok()


async def _linked(user_name: str) -> OidcLinked:
    stored = await get_oidc_link_of(user_name)
    return _shown(stored.record) if stored else OidcLinked()


def _shown(link: OidcLink) -> OidcLinked:
    return OidcLinked(
        issuer=link.issuer, subject=link.subject, name=link.shown_as, linked_at=link.at
    )
