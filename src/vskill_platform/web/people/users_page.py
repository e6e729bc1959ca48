"""Admin pages for users, namespaces and tokens, and the audit log."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from litestar import Response
from litestar.params import FromPath
from litestar.response import Redirect, Template

from vskill_platform.access.namespaces import add_owner, remove_owner
from vskill_platform.access.one_time_links import invite_user
from vskill_platform.access.tokens import revoke_token
from vskill_platform.access.users import add_user, disable_user, enable_user, set_role
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.user import Role
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.namespace_store import list_namespaces
from vskill_platform.stores.token_store import list_tokens
from vskill_platform.stores.user_store import list_users
from vskill_platform.web.html.flash import act, act_and_show, admin_page
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of

_HERE = "/admin/people"
_A_PAGE = 100


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    #: The link, shown once.
    url: str


async def people_page(request: WebRequest) -> Template:
    return await _show(request)


async def _show(request: WebRequest, invitation: Invitation | None = None) -> Template:
    users, tokens, namespaces = await asyncio.gather(list_users(), list_tokens(), list_namespaces())
    context = {
        "users": users,
        "tokens": tokens,
        "namespaces": namespaces,
        "roles": list(Role),
        "invitation": invitation,
    }
    return admin_page(request, "admin/people.html", context, is_kept=invitation is None)


async def add_user_form(request: WebRequest) -> Response[Any]:
    """Invite a user; the page shows a link for choosing a password."""
    fields, actor = await read_fields(request), visitor_of(request).name

    async def work() -> Template:
        user = await add_user(fields.get("name", ""), _role(fields), actor=actor)
        return await _show(request, await _invite(user.name, actor))

    return await act_and_show(_HERE, work)


async def user_form(
    request: WebRequest, name: FromPath[str], action: FromPath[str]
) -> Response[Any]:
    fields, actor = await read_fields(request), visitor_of(request).name
    reason = fields.get("reason", "")

    async def role() -> str:
        user = await set_role(name, _role(fields), actor=actor, reason=reason)
        return f"The role of {user.name} is now {user.role}."

    async def disable() -> str:
        return f"{(await disable_user(name, actor=actor, reason=reason)).name} was disabled."

    async def enable() -> str:
        return f"{(await enable_user(name, actor=actor, reason=reason)).name} was enabled."

    async def invite() -> Template:
        return await _show(request, await _invite(name, actor))

    if action == "invite":
        return await act_and_show(_HERE, invite)
    actions: dict[str, Callable[[], Awaitable[str]]] = {
        "role": role, "disable": disable, "enable": enable,
    }  # fmt: skip
    if action not in actions:
        raise NotFound(f"unknown action {action!r}")
    return await act(_HERE, actions[action])


async def revoke_token_form(request: WebRequest, token_id: FromPath[str]) -> Redirect:
    fields = await read_fields(request)

    async def work() -> str:
        token = await revoke_token(
            token_id, actor=visitor_of(request).name, reason=fields.get("reason", "")
        )
        return f"The token {token.label!r} of {token.user} was revoked."

    return await act(_HERE, work)


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

    return await act(_HERE, work)


async def _invite(name: str, actor: str) -> Invitation:
    return Invitation(name=name, url=await invite_user(name, actor=actor))


def _role(fields: dict[str, str]) -> Role:
    try:
        return Role(fields.get("role", ""))
    except ValueError as error:
        raise InvalidInput(f"the role must be one of {', '.join(Role)}") from error


async def audit_page(request: WebRequest) -> Template:
    after = request.query_params.get("after") or None
    page = await list_audit(after=after, limit=_A_PAGE)
    context = {"records": page.records, "next": page.cursor, "is_first": after is None}
    return admin_page(request, "admin/audit.html", context)
