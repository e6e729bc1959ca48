"""Admin pages for users, namespaces and tokens."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from litestar import Response
from litestar.params import FromPath
from litestar.response import Redirect, Template

from vskill_platform.access.mail_addresses import invite_by_mail, set_mail_address
from vskill_platform.access.namespaces import add_owner, remove_owner
from vskill_platform.access.oidc.accounts import describe_link, link_subject, unlink_account
from vskill_platform.access.oidc.provider import is_oidc_sign_in
from vskill_platform.access.one_time_links import (
    invite_user,
    is_mail_on,
    is_reset_link,
    mail_user_link,
)
from vskill_platform.access.second_factor.factors import reset_second_factor
from vskill_platform.access.sessions import find_last_sign_in
from vskill_platform.access.tokens import revoke_token
from vskill_platform.access.users import add_user, disable_user, enable_user, set_role
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.user import Role, User
from vskill_platform.stores.mail_address_store import get_mail_addresses
from vskill_platform.stores.namespace_store import list_namespaces
from vskill_platform.stores.oidc_store import OidcLink, get_oidc_link_of
from vskill_platform.stores.one_time_link_store import OneTimeLink, list_one_time_links
from vskill_platform.stores.second_factor_store import list_users_with_factor
from vskill_platform.stores.token_store import list_tokens
from vskill_platform.stores.user_store import list_users
from vskill_platform.web.html.flash import act, act_and_show, admin_page
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import with_query
from vskill_platform.web.http.visitor import visitor_of

_HERE = "/admin/people"
_TOKENS = "/admin/tokens"
_NAMESPACES = "/admin/namespaces"
_A_PAGE = 50
_MAX_TEXT = 200
Item = TypeVar("Item")
#: The actions of the forms about a user; each returns the text to show.
_Actions = dict[str, Callable[[], Awaitable[str]]]


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    #: The link, shown once; empty if it is mailed.
    url: str
    mailed_to: str = ""


class PendingLink(msgspec.Struct, frozen=True, kw_only=True):
    """An invitation or a reset link that has not been used yet."""

    link: OneTimeLink
    is_invitation: bool


class ListPage(msgspec.Struct, Generic[Item], frozen=True, kw_only=True):
    """One page of search results in a list."""

    items: list[Item]
    q: str
    page: int
    pages: int
    total: int
    path: str

    def url(self, page: int) -> str:
        return with_query(self.path, q=self.q, page=page)


async def people_page(request: WebRequest) -> Template:
    return await _show(request)


async def _show(request: WebRequest, invitation: Invitation | None = None) -> Template:
    users, links = await asyncio.gather(list_users(), list_one_time_links())
    shown = _search(request, _HERE, users, lambda user: (user.name, user.role))
    sign_ins = await asyncio.gather(*(find_last_sign_in(user.name) for user in shown.items))
    context = {
        "shown": shown,
        "sign_ins": dict(zip((user.name for user in shown.items), sign_ins, strict=True)),
        "pending": [await _pending(link) for link in links],
        "roles": list(Role),
        "with_factor": await list_users_with_factor(),
        "invitation": invitation,
        "is_mail_on": is_mail_on(),
        "is_oidc_on": is_oidc_sign_in(),
        "linked": await _linked(shown.items),
        "addresses": await get_mail_addresses([user.name for user in shown.items]),
    }
    return admin_page(request, "admin/people.html", context, is_kept=invitation is None)


async def _linked(users: Sequence[User]) -> dict[str, OidcLink]:
    found = await asyncio.gather(*(get_oidc_link_of(user.name) for user in users))
    return {one.record.user: one.record for one in found if one}


async def _pending(link: OneTimeLink) -> PendingLink:
    return PendingLink(link=link, is_invitation=not await is_reset_link(link))


async def tokens_page(request: WebRequest) -> Template:
    tokens = sorted(await list_tokens(), key=lambda one: (one.user, one.label))
    shown = _search(request, _TOKENS, tokens, lambda one: (one.user, one.label, one.id))
    return admin_page(request, "admin/tokens.html", {"shown": shown})


async def namespaces_page(request: WebRequest) -> Template:
    users, namespaces = await asyncio.gather(list_users(), list_namespaces())
    shown = _search(
        request, _NAMESPACES, namespaces, lambda one: (one.name, *one.owners, *one.members)
    )
    return admin_page(request, "admin/namespaces.html", {"shown": shown, "users": users})


def _search(
    request: WebRequest,
    path: str,
    items: Sequence[Item],
    texts_of: Callable[[Item], Iterable[str]],
) -> ListPage[Item]:
    """Return the requested page of items that contain the text, or the last page if it is less."""
    q = request.query_params.get("q", "").strip()[:_MAX_TEXT]
    found = [one for one in items if any(q.casefold() in text.casefold() for text in texts_of(one))]
    asked = request.query_params.get("page", "1")
    pages = max(1, -(-len(found) // _A_PAGE))
    number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < len("10000") else 1
    page = min(max(1, number), pages)
    items_shown = found[(page - 1) * _A_PAGE : page * _A_PAGE]
    return ListPage(items=items_shown, q=q, page=page, pages=pages, total=len(found), path=path)


async def add_user_form(request: WebRequest) -> Response[Any]:
    """Invite a user; the page shows a link to choose a password."""
    fields, actor = await read_fields(request), visitor_of(request).name

    async def work() -> Template:
        name, mail = fields.get("name", ""), fields.get("mail", "").strip()
        if mail:
            user = await invite_by_mail(name, _role(fields), mail, actor=actor)
            return await _show(request, Invitation(name=user.name, url="", mailed_to=mail))
        user = await add_user(name, _role(fields), actor=actor)
        return await _show(request, await _invite(user.name, actor))

    return await act_and_show(_HERE, work)


async def user_form(
    request: WebRequest, name: FromPath[str], action: FromPath[str]
) -> Response[Any]:
    fields, actor = await read_fields(request), visitor_of(request).name

    async def invite() -> Template:
        return await _show(request, await _invite(name, actor))

    if action == "invite":
        return await act_and_show(_HERE, invite)
    actions = {
        **_account_actions(name, fields, actor),
        **_mail_actions(name, fields, actor),
        **_link_actions(name, fields, actor),
    }
    if action not in actions:
        raise NotFound(f"unknown action {action!r}")
    return await act(_HERE, actions[action])


def _account_actions(name: str, fields: dict[str, str], actor: str) -> _Actions:
    reason = fields.get("reason", "")

    async def role() -> str:
        user = await set_role(name, _role(fields), actor=actor, reason=reason)
        return f"The role of {user.name} is now {user.role}."

    async def disable() -> str:
        return f"{(await disable_user(name, actor=actor, reason=reason)).name} was disabled."

    async def enable() -> str:
        return f"{(await enable_user(name, actor=actor, reason=reason)).name} was enabled."

    async def reset_factor() -> str:
        user = await reset_second_factor(name, actor=actor, reason=reason)
        return f"The second factor of {user.name} was reset."

    return {"role": role, "disable": disable, "enable": enable, "reset-factor": reset_factor}


def _mail_actions(name: str, fields: dict[str, str], actor: str) -> _Actions:
    async def mail() -> str:
        address = await set_mail_address(name, fields.get("mail", ""), actor=actor)
        return f"The email address of {address.user} was set."

    async def mail_link() -> str:
        return f"A link was emailed to {await mail_user_link(name, actor=actor)}."

    return {"mail": mail, "mail-link": mail_link}


def _link_actions(name: str, fields: dict[str, str], actor: str) -> _Actions:
    reason = fields.get("reason", "")

    async def link() -> str:
        made = await link_subject(name, fields.get("subject", ""), actor=actor, reason=reason)
        return f"{made.user} can sign in as {describe_link(made)}."

    async def unlink() -> str:
        removed = await unlink_account(name, actor=actor, reason=reason)
        return f"{removed.user} can no longer sign in as {describe_link(removed)}."

    return {"link": link, "unlink": unlink}


async def revoke_token_form(request: WebRequest, token_id: FromPath[str]) -> Redirect:
    fields = await read_fields(request)

    async def work() -> str:
        token = await revoke_token(
            token_id, actor=visitor_of(request).name, reason=fields.get("reason", "")
        )
        return f"The token {token.label!r} of {token.user} was revoked."

    return await act(_TOKENS, work)


async def namespace_form(request: WebRequest, action: FromPath[str]) -> Redirect:
    """Add or remove an owner of a namespace."""
    fields, actor = await read_fields(request), visitor_of(request).name
    actions = {"add-owner": add_owner, "remove-owner": remove_owner}
    if action not in actions:
        raise NotFound(f"unknown action {action!r}")

    async def work() -> str:
        found = await actions[action](
            fields.get("namespace", ""), fields.get("user", ""), actor=actor
        )
        return f"Owners of {found.name}: {', '.join(found.owners) or 'none'}."

    return await act(_NAMESPACES, work)


async def _invite(name: str, actor: str) -> Invitation:
    return Invitation(name=name, url=await invite_user(name, actor=actor))


def _role(fields: dict[str, str]) -> Role:
    try:
        return Role(fields.get("role", ""))
    except ValueError as error:
        raise InvalidInput(f"the role must be one of {', '.join(Role)}") from error
