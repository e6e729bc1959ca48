"""The account page: skills, submissions, tokens, sessions, namespaces, password."""

from datetime import timedelta
from typing import Any

import msgspec
from litestar import Response
from litestar.params import FromPath
from litestar.response import Redirect, Template

from vskill_platform.access.mail_addresses import MailTopic
from vskill_platform.access.namespaces import add_member, remove_member
from vskill_platform.access.one_time_links import is_mail_on
from vskill_platform.access.sessions import (
    begin_session,
    browser_name,
    end_session,
    list_open_sessions,
)
from vskill_platform.access.sign_in import has_password
from vskill_platform.access.tokens import NewToken, TokenLimits, add_token, revoke_token
from vskill_platform.access.users import change_own_password, sign_out_everywhere
from vskill_platform.errors import (
    InvalidInput,
    NamespaceDeleted,
    NotAllowed,
    NotFound,
    SlugTaken,
)
from vskill_platform.model.rights import SCOPES_OF
from vskill_platform.model.user import Scope
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.github_link_store import get_github_link_of
from vskill_platform.stores.mail_address_store import get_mail_address
from vskill_platform.stores.namespace_store import get_namespace, list_namespaces_of
from vskill_platform.stores.oidc_store import get_oidc_link_of
from vskill_platform.stores.second_factor_store import get_second_factor
from vskill_platform.stores.token_store import list_tokens
from vskill_platform.web.http.bodies import read_choices, read_fields
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import SIGN_IN
from vskill_platform.web.http.visitor import ended_session_cookie, session_cookie, visitor_of
from vskill_platform.web.manage_skills.transfers import (
    accept_transfer,
    end_transfer,
    give_namespace,
    transfers_for,
)
from vskill_platform.web.people.account_overview import read_overview
from vskill_platform.web.people.confirm_identity import (
    check_no_factor_missing,
    confirmed_password,
    count_attempt,
    signed_in_user,
)

#: Messages after an action, by key; text in the URL is never shown.
_DONE = {
    "welcome": "Welcome! You are signed in.",
    "password": "Your password was changed. All other sessions were signed out.",
    "token": "The token was revoked.",
    "session": "The session was signed out.",
    "namespace": "The namespace members were changed.",
    "namespace-deleted": "The namespace was deleted.",
    "accepted": "You accepted the transfer.",
    "ended": "The transfer has ended.",
    "offered": "The namespace was offered. The user can accept it on their account page.",
    "github": "Your linked GitHub account was changed.",
    "mail": "Your email address was set. Use the link that was sent to it to confirm it.",
    "no-mail": "Your email address was removed.",
    "topics": "Your choice of emails was saved.",
    "oidc": "Your linked account was changed.",
}
WHAT_SCOPES_MEAN = {
    Scope.READ: "read, including private skills that you can see",
    Scope.SUBMIT: "submit, retry and withdraw",
    Scope.MANAGE: "manage your skills (yank, visibility)",
    Scope.REVIEW: "review and block",
    Scope.OPERATE: "manage the queue",
    Scope.ADMIN: "everything that your role allows",
}
_TOPICS = {
    MailTopic.VERDICTS: "results of the checks of my submissions",
    MailTopic.REVIEWS: "a daily reminder of submissions waiting for review (for reviewers)",
}
_LIFETIMES = (7, 30, 90, 365)


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the last action."""

    done: str = ""
    problem: str = ""
    new_token: NewToken | None = None


async def account_page(request: WebRequest) -> Template:
    done = _DONE.get(request.query_params.get("done", ""), "")
    return await show_account(request, Notes(done=done))


async def change_password(request: WebRequest) -> Response[Any]:
    """Change the password; all other sessions end, and this session gets a new secret."""
    user, fields = signed_in_user(request), await read_fields(request)
    await count_attempt(request, user.name)
    try:
        new = confirmed_password(fields)
        changed = await change_own_password(user, fields.get("old_password", ""), new)
    except InvalidInput as error:
        return await show_account(request, Notes(problem=str(error)), status=400)
    visitor = visitor_of(request)
    opened = await begin_session(
        changed,
        address=visitor.address,
        browser=request.headers.get("user-agent", ""),
        has_second_factor=visitor.has_second_factor,
    )
    cookie = session_cookie(opened.secret, get_settings())
    return Redirect("/account?done=password", status_code=303, cookies=[cookie])


async def add_own_token(request: WebRequest) -> Template:
    """Create a token and show it, once."""
    user, fields = signed_in_user(request), await read_fields(request)
    try:
        check_no_factor_missing(request)
        token = await add_token(
            user.name,
            fields.get("label", ""),
            _scopes(await read_choices(request, "scope")),
            actor=user.name,
            lifetime=_lifetime(fields.get("days", "")),
            limits=TokenLimits(role=user.role),
        )
    except (InvalidInput, NotAllowed) as error:
        return await show_account(request, Notes(problem=str(error)), status=400)
    return await show_account(request, Notes(new_token=token), status=201)


async def revoke_own_token(request: WebRequest, token_id: FromPath[str]) -> Redirect:
    name = signed_in_user(request).name
    await revoke_token(token_id, actor=name, of=name)
    return Redirect("/account?done=token", status_code=303)


async def end_own_session(request: WebRequest, session_id: FromPath[str]) -> Redirect:
    await end_session(signed_in_user(request).name, session_id)
    return Redirect("/account?done=session", status_code=303)


async def end_own_sessions(request: WebRequest) -> Redirect:
    name = signed_in_user(request).name
    await sign_out_everywhere(name, actor=name)
    return Redirect(SIGN_IN, status_code=303, cookies=[ended_session_cookie(get_settings())])


async def change_members(request: WebRequest) -> Response[Any]:
    """Add or remove a member of the user's namespace."""
    visitor, fields = visitor_of(request), await read_fields(request)
    namespace, member = fields.get("namespace", ""), fields.get("member", "")
    if not visitor.owns((await get_namespace(namespace)).record):
        raise NotAllowed(f"you do not own {namespace}")
    change = remove_member if fields.get("act") == "remove" else add_member
    try:
        await change(namespace, member, actor=visitor.name)
    except (InvalidInput, NotFound) as error:
        return await show_account(request, Notes(problem=str(error)), status=400)
    return Redirect("/account?done=namespace", status_code=303)


async def transfer_form(request: WebRequest) -> Response[Any]:
    """Accept or end a transfer, or offer the user's namespace to another user."""
    visitor, fields = visitor_of(request), await read_fields(request)
    action = fields.get("act", "")
    try:
        if action == "accept":
            await accept_transfer(visitor, fields.get("id", ""))
        elif action == "end":
            await end_transfer(visitor, fields.get("id", ""))
        else:
            await give_namespace(visitor, fields.get("namespace", ""), fields.get("user", ""))
    except (InvalidInput, NamespaceDeleted, NotAllowed, NotFound, SlugTaken) as error:
        return await show_account(request, Notes(problem=str(error)), status=400)
    done = {"accept": "accepted", "end": "ended"}.get(action, "offered")
    return Redirect(f"/account?done={done}", status_code=303)


async def show_account(request: WebRequest, notes: Notes, *, status: int = 200) -> Template:
    user, visitor, settings = signed_in_user(request), visitor_of(request), get_settings()
    names = await list_namespaces_of(user.name)
    overview, tokens = await read_overview(request, names), await list_tokens(user.name)
    has_begun = bool(tokens or (overview and (overview.total or overview.skills)))
    namespaces = [(await get_namespace(name)).record for name in names]
    context = {
        "overview": overview,
        "is_new": overview is not None and not has_begun,
        "user": user,
        "notes": notes,
        "sessions": await list_open_sessions(user),
        "this_session": visitor.credential,
        "tokens": tokens,
        "namespaces": namespaces,
        "transfers": await transfers_for(visitor),
        "owned": {one.name for one in namespaces if visitor.owns(one)},
        "scopes": [
            (scope, words)
            for scope, words in WHAT_SCOPES_MEAN.items()
            if scope in SCOPES_OF[user.role]
        ],
        "lifetimes": _LIFETIMES,
        "has_github": settings.github_sign_in != "off",
        "github": await get_github_link_of(user.name),
        "mail": await get_mail_address(user.name),
        "is_mail_on": is_mail_on(),
        "topics": _TOPICS,
        "provider": settings.oidc_name if settings.oidc_issuer else "",
        "oidc": await get_oidc_link_of(user.name),
        "has_password": await has_password(user),
        "has_second_factor": await get_second_factor(user.name) is not None,
        "needs_second_factor": visitor.needs_second_factor,
        "browser_name": browser_name,
        "section": "account",
    }
    return Template(
        "pages/account.html", context=context, status_code=status, headers=NO_STORE_HEADER
    )


def _scopes(ticked: list[str]) -> list[Scope]:
    try:
        return [Scope(item) for item in ticked]
    except ValueError as error:
        raise InvalidInput(f"scopes: choose one or more of {', '.join(Scope)}") from error


def _lifetime(days: str) -> timedelta:
    if not days.isascii() or not days.isdecimal() or int(days) not in _LIFETIMES:
        raise InvalidInput("choose when the token expires")
    return timedelta(days=int(days))
