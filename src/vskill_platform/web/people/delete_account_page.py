"""Delete an account: the user's own page, which first previews the effects, and the admin API."""

from typing import Any

from litestar import Response
from litestar.params import FromPath, JSONBody
from litestar.response import Redirect, Template

from vskill_platform.access.delete_account import (
    AccountDeletion,
    delete_account,
    delete_own_account,
    preview_account_deletion,
)
from vskill_platform.errors import InvalidInput, NotAllowed
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.api_types import ReasonRequest, Shape
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import ended_session_cookie, visitor_of
from vskill_platform.web.people.confirm_identity import count_attempt, signed_in_user


class AccountDeletionResponse(Shape, frozen=True, kw_only=True):
    name: str
    tokens: int
    sessions: int
    followed: int
    #: Namespaces that no other user owns, with the number of skills that stay in each.
    ownerless: dict[str, int]
    shared: tuple[str, ...]
    #: Webhooks and trusted publishers of this user, which stop working.
    webhooks: int
    trusted_publishers: int


async def delete_page(request: WebRequest) -> Template:
    return await _show(request)


async def delete_form(request: WebRequest) -> Response[Any]:
    """Delete one's own account, with the password and the name as confirmation."""
    user, fields = signed_in_user(request), await read_fields(request)
    await count_attempt(request, user.name)
    try:
        await delete_own_account(user, fields.get("password", ""), fields.get("confirm", ""))
    except (InvalidInput, NotAllowed) as error:
        return await _show(request, problem=str(error))
    return Redirect("/", status_code=303, cookies=[ended_session_cookie(get_settings())])


async def preview_over_api(request: WebRequest, name: FromPath[str]) -> AccountDeletionResponse:  # noqa: ARG001 - a handler
    """Show what the deletion of a user would remove, and what stays without an owner."""
    return _answer(await preview_account_deletion(name))


@operation(status=200)
async def delete_over_api(
    request: WebRequest, name: FromPath[str], data: JSONBody[ReasonRequest]
) -> AccountDeletionResponse:
    """Delete a user with tokens, sessions and addresses. Published skills stay."""
    actor = visitor_of(request).name
    return _answer(await delete_account(name, actor=actor, reason=data.reason))


def _answer(found: AccountDeletion) -> AccountDeletionResponse:
    return AccountDeletionResponse(
        name=found.name,
        tokens=found.tokens,
        sessions=found.sessions,
        followed=found.followed,
        ownerless=found.ownerless,
        shared=found.shared,
        webhooks=found.webhooks,
        trusted_publishers=found.trusted_publishers,
    )


async def _show(request: WebRequest, *, problem: str = "") -> Template:
    user = signed_in_user(request)
    return Template(
        "pages/delete_account.html",
        context={
            "user": user,
            "deletion": await preview_account_deletion(user.name),
            "problem": problem,
            "section": "account",
        },
        status_code=400 if problem else 200,
        headers=NO_STORE_HEADER,
    )
