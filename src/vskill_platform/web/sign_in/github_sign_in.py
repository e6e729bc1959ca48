"""Sign-in with GitHub: the token exchange of the original client, and links to accounts."""

from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.params import JSONBody
from litestar.response import Redirect
from litestar.status_codes import HTTP_501_NOT_IMPLEMENTED

from vskill_platform.access.github_sign_in import (
    exchange_github_token,
    is_github_sign_in,
    link_github_account,
    unlink_github_account,
)
from vskill_platform.errors import (
    GithubUnavailable,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSignedIn,
)
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.github_link_store import GithubLink, get_github_link_of
from vskill_platform.web.http.api_types import Ok, Shape
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.concurrency_quota import ConcurrencyQuota
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.rate_limits import address_key, limits_of
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.people.account_page import Notes, show_account
from vskill_platform.web.people.confirm_identity import (
    check_may_link,
    check_no_factor_missing,
    signed_in_user,
)

#: Limited, because each sends a request to GitHub, which may be slow.
_EXCHANGES = ConcurrencyQuota(
    in_all=20, each=2, what="sign-ins with GitHub", retry_after=timedelta(seconds=5)
)


class GithubToken(Shape, frozen=True, kw_only=True):
    github_token: Annotated[str, msgspec.Meta(max_length=1000)]


class GithubLinking(GithubToken, frozen=True, kw_only=True):
    #: The current password, if you have one.
    password: Annotated[str, msgspec.Meta(max_length=1000)] = ""


class ExchangedToken(Shape, frozen=True, kw_only=True):
    #: Shown once.
    token: str
    expires_at: datetime
    scopes: list[str]
    user_id: str


class GithubLinked(Shape, frozen=True, kw_only=True):
    login: str | None
    linked_at: datetime | None


async def exchange_over_api(request: WebRequest, data: JSONBody[GithubToken]) -> Response[Any]:
    """Issue a token to the user whose GitHub account owns the sent token."""
    if not is_github_sign_in():
        text = (
            "This registry has no sign-in with GitHub. Create a token on its account page, "
            "and write it to ~/.vskill/keys.env as vskill-api-token=vsk_…"
        )
        return Response(
            {"error": "Not supported", "message": text}, status_code=HTTP_501_NOT_IMPLEMENTED
        )
    with _EXCHANGES.held_by(_limited(request)):
        made = await exchange_github_token(data.github_token)
    answer = ExchangedToken(
        token=made.text,
        expires_at=made.record.expires_at,
        scopes=list(made.record.scopes),
        user_id=made.record.user,
    )
    return Response(answer, headers=NO_STORE_HEADER)


async def show_github_link(request: WebRequest) -> GithubLinked:
    """Show the GitHub account that is linked to your account."""
    stored = await get_github_link_of(signed_in_user(request).name)
    return _linked(stored.record if stored else None)


@operation(also=(429, 503))
async def link_over_api(request: WebRequest, data: JSONBody[GithubLinking]) -> GithubLinked:
    """Link the GitHub account that owns the sent token to your account."""
    return _linked(await _link(request, data.github_token, data.password))


@operation(also=(404,))
async def unlink_over_api(request: WebRequest) -> Ok:
    """Remove the link to your GitHub account."""
    await unlink_github_account(signed_in_user(request))
    return Ok()


async def github_form(request: WebRequest) -> Response[Any]:
    """Link or unlink a GitHub account, on the account page."""
    user, fields = signed_in_user(request), await read_fields(request)
    try:
        if fields.get("act") == "unlink":
            await unlink_github_account(user)
        else:
            await _link(request, fields.get("github_token", ""), fields.get("password", ""))
    except (GithubUnavailable, InvalidInput, NotAllowed, NotFound, NotSignedIn) as error:
        return await show_account(request, Notes(problem=str(error)), status=400)
    return Redirect("/account?done=github", status_code=303)


async def _link(request: WebRequest, github_token: str, password: str) -> GithubLink:
    check_no_factor_missing(request)  # the link allows getting tokens
    await check_may_link(request, password)
    with _EXCHANGES.held_by(_limited(request)):
        return await link_github_account(signed_in_user(request), github_token)


def _linked(link: GithubLink | None) -> GithubLinked:
    return GithubLinked(login=link.login if link else None, linked_at=link.at if link else None)


def _limited(request: WebRequest) -> str:
    """Count an attempt of this address, like one to sign in; return the address."""
    key = address_key(visitor_of(request).address)
    rate = get_settings().sign_ins_per_minute
    limits_of(request).take("github", key, per_minute=rate, now=get_now())
    return key
