"""Delete an account: users their own, on a page or over the API; admins any, over the API."""

from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.params import FromPath, JSONBody
from litestar.response import Redirect, Template

from vskill_platform.access.delete_account import (
    AccountDeletion,
    delete_account,
    preview_account_deletion,
)
from vskill_platform.access.delete_own_account import (
    Confirmation,
    delete_own_account,
    what_confirms,
)
from vskill_platform.errors import InvalidInput, NotAllowed
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.api_types import ReasonRequest, Shape, Text
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
    #: Namespaces without another owner, with the number of skills that remain in each.
    ownerless: dict[str, int]
    shared: tuple[str, ...]
    #: Webhooks and trusted publishers of this user, which stop working.
    webhooks: int
    trusted_publishers: int


class OwnDeletionResponse(AccountDeletionResponse, frozen=True, kw_only=True):
    #: Whether the deletion requires your password, and a code of your second factor.
    needs_password: bool
    needs_code: bool
    #: Why you cannot delete your account this way; null if you can.
    refused: str | None


class OwnDeletionRequest(Shape, frozen=True, kw_only=True):
    #: The name of your account.
    confirm: Text
    #: Your current password, if you have one.
    password: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    #: A code of your app or a recovery code, if you have a second factor.
    code: Text = ""


async def delete_page(request: WebRequest) -> Template:
    return await _show(request)


async def delete_form(request: WebRequest) -> Response[Any]:
    """Delete the user's account, with its name and the user's credentials as confirmation."""
    user, fields = signed_in_user(request), await read_fields(request)
    given = Confirmation(
        confirm=fields.get("confirm", ""),
        password=fields.get("password", ""),
        code=fields.get("code", ""),
    )
    await count_attempt(request, user.name)
    try:
        await delete_own_account(user, visitor_of(request), given)
    except (InvalidInput, NotAllowed) as error:
        return await _show(request, problem=str(error))
    return Redirect("/", status_code=303, cookies=[ended_session_cookie(get_settings())])


async def preview_own(request: WebRequest) -> OwnDeletionResponse:
    """Show what the deletion of your account would remove, and what it requires."""
    user = signed_in_user(request)
    needed = await what_confirms(user, visitor_of(request))
    return OwnDeletionResponse(
        **msgspec.structs.asdict(await preview_account_deletion(user.name)),
        needs_password=needed.password,
        needs_code=needed.code,
        refused=needed.refused,
    )


@operation(status=200, also=(403, 429))
async def delete_own(
    request: WebRequest, data: JSONBody[OwnDeletionRequest]
) -> AccountDeletionResponse:
    """Delete your account with tokens, sessions and addresses. Published skills stay."""
    user = signed_in_user(request)
    given = Confirmation(confirm=data.confirm, password=data.password, code=data.code)
    await count_attempt(request, user.name)
    return _response(await delete_own_account(user, visitor_of(request), given))


async def preview_over_api(request: WebRequest, name: FromPath[str]) -> AccountDeletionResponse:  # noqa: ARG001 - a handler
    """Show what the deletion of a user would remove, and what remains without an owner."""
    return _response(await preview_account_deletion(name))


@operation(status=200)
async def delete_over_api(
    request: WebRequest, name: FromPath[str], data: JSONBody[ReasonRequest]
) -> AccountDeletionResponse:
    """Delete a user with tokens, sessions and addresses. Published skills stay."""
    actor = visitor_of(request).name
    return _response(await delete_account(name, actor=actor, reason=data.reason))


def _response(found: AccountDeletion) -> AccountDeletionResponse:
    return AccountDeletionResponse(**msgspec.structs.asdict(found))


async def _show(request: WebRequest, *, problem: str = "") -> Template:
    user = signed_in_user(request)
    return Template(
        "pages/delete_account.html",
        context={
            "user": user,
            "deletion": await preview_account_deletion(user.name),
            "needed": await what_confirms(user, visitor_of(request)),
            "problem": problem,
            "section": "account",
        },
        status_code=400 if problem else 200,
        headers=NO_STORE_HEADER,
    )
