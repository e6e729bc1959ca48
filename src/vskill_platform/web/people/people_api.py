"""Account, tokens and users over the API."""

from datetime import datetime, timedelta
from typing import Annotated

import msgspec
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_201_CREATED

from vskill_platform.access.mail_addresses import invite_by_mail, set_mail_address
from vskill_platform.access.one_time_links import invite_user
from vskill_platform.access.tokens import TokenLimits, add_token, revoke_token
from vskill_platform.access.users import (
    add_user,
    disable_user,
    enable_user,
    find_user,
    set_role,
)
from vskill_platform.errors import NotSignedIn
from vskill_platform.model.rights import Visitor
from vskill_platform.model.user import ApiToken, Role, Scope, User
from vskill_platform.stores.namespace_store import get_namespace, list_namespaces_of
from vskill_platform.stores.token_store import list_tokens
from vskill_platform.stores.user_store import list_users
from vskill_platform.web.http.api_types import Ok, Shape, Text
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.people.confirm_identity import check_no_factor_missing


class WhoAmI(Shape, frozen=True, kw_only=True):
    name: str | None
    role: str | None
    via: str
    scopes: list[str]
    namespaces: list[str]


class Tenant(Shape, frozen=True, kw_only=True):
    tenant_id: str
    slug: str
    name: str
    role: str


class Tenants(Shape, frozen=True, kw_only=True):
    tenants: list[Tenant]


class TokenRequest(Shape, frozen=True, kw_only=True):
    label: Text
    scopes: Annotated[tuple[Scope, ...], msgspec.Meta(min_length=1)]
    days: Annotated[int, msgspec.Meta(ge=1, le=365)] = 90


class TokenItem(Shape, frozen=True, kw_only=True):
    id: str
    user: str
    label: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


class TokenCreated(Shape, frozen=True, kw_only=True):
    #: Shown once.
    token: str
    record: TokenItem


class TokenList(Shape, frozen=True, kw_only=True):
    tokens: list[TokenItem]


class UserItem(Shape, frozen=True, kw_only=True):
    name: str
    role: str
    created_at: datetime
    is_disabled: bool


class UserList(Shape, frozen=True, kw_only=True):
    users: list[UserItem]


class NewUser(Shape, frozen=True, kw_only=True):
    name: Text
    role: Role = Role.PUBLISHER
    #: With an address, the invitation is emailed, and the response contains no link.
    mail: Text = ""


class UserCreated(Shape, frozen=True, kw_only=True):
    user: UserItem
    #: The link to choose a password; valid once, for one day. Empty if it is emailed.
    welcome_url: str


class UserChange(Shape, frozen=True, kw_only=True):
    role: Role | None = None
    is_disabled: bool | None = None
    #: A new email address, which the user confirms by a link.
    mail: Text | None = None
    reason: Text = ""


async def who_am_i(request: WebRequest) -> WhoAmI:
    """Show the caller and the scopes of the token."""
    visitor = visitor_of(request)
    user = visitor.user
    return WhoAmI(
        name=user.name if user else None,
        role=user.role if user else None,
        via=visitor.via,
        scopes=sorted(visitor.scopes),
        namespaces=await _namespaces_of(visitor),
    )


async def _namespaces_of(visitor: Visitor) -> list[str]:
    """Return the namespaces of the caller; a token for one of them sees only that one."""
    names = await list_namespaces_of(visitor.user.name) if visitor.user else []
    return [name for name in names if visitor.only_in in {"", name}]


async def revoke_this_token(request: WebRequest) -> Ok:
    """Revoke the token of this request."""
    visitor = visitor_of(request)
    if visitor.user is None or visitor.via != "token":
        raise NotSignedIn("send the token that is to be revoked")
    await revoke_token(visitor.credential, actor=visitor.user.name, of=visitor.user.name)
    return Ok()


async def list_tenants(request: WebRequest) -> Tenants:
    """List the namespaces that the caller owns or is a member of."""
    visitor = visitor_of(request)
    if visitor.user is None:
        raise NotSignedIn("sign in to list your namespaces")
    tenants = []
    for name in await _namespaces_of(visitor):
        namespace = (await get_namespace(name)).record
        role = "owner" if visitor.owns(namespace) else "member"
        tenants.append(Tenant(tenant_id=name, slug=name, name=name, role=role))
    return Tenants(tenants=tenants)


async def list_own_tokens(request: WebRequest) -> TokenList:
    """List the caller's tokens, without secrets."""
    return TokenList(tokens=[_token(one) for one in await list_tokens(_user(request).name)])


@operation(status=HTTP_201_CREATED, response_headers=NO_STORE_HEADER)
async def make_token(request: WebRequest, data: JSONBody[TokenRequest]) -> TokenCreated:
    """Create a token. It is shown only in this response."""
    user, lifetime = _user(request), timedelta(days=data.days)
    check_no_factor_missing(request)
    made = await add_token(
        user.name,
        data.label,
        data.scopes,
        actor=user.name,
        lifetime=lifetime,
        limits=TokenLimits(role=user.role),
    )
    return TokenCreated(token=made.text, record=_token(made.record))


async def revoke_over_api(request: WebRequest, token_id: FromPath[str]) -> Ok:
    """Revoke one of the caller's tokens."""
    name = _user(request).name
    await revoke_token(token_id, actor=name, of=name)
    return Ok()


async def users_over_api() -> UserList:
    """List the users."""
    return UserList(users=[_user_item(one) for one in await list_users()])


@operation(status=HTTP_201_CREATED, response_headers=NO_STORE_HEADER)
async def add_user_over_api(request: WebRequest, data: JSONBody[NewUser]) -> UserCreated:
    """Invite a user; the link is to choose a password."""
    actor = visitor_of(request).name
    if data.mail:
        user = await invite_by_mail(data.name, data.role, data.mail, actor=actor)
        return UserCreated(user=_user_item(user), welcome_url="")
    user = await add_user(data.name, data.role, actor=actor)
    return UserCreated(user=_user_item(user), welcome_url=await invite_user(user.name, actor=actor))


async def change_user(
    request: WebRequest, name: FromPath[str], data: JSONBody[UserChange]
) -> UserItem:
    """Change the role or email address of a user, or disable or enable the user."""
    actor = visitor_of(request).name
    if data.role is not None:
        await set_role(name, data.role, actor=actor, reason=data.reason)
    if data.is_disabled is not None:
        change = disable_user if data.is_disabled else enable_user
        await change(name, actor=actor, reason=data.reason)
    if data.mail is not None:
        await set_mail_address(name, data.mail, actor=actor)
    return _user_item(await find_user(name))


def _user(request: WebRequest) -> User:
    user = visitor_of(request).user
    if user is None:
        raise NotSignedIn("this requires signing in")
    return user


def _token(one: ApiToken) -> TokenItem:
    return TokenItem(
        id=one.id,
        user=one.user,
        label=one.label,
        scopes=list(one.scopes),
        created_at=one.created_at,
        expires_at=one.expires_at,
        last_used_at=one.last_used_at,
    )


def _user_item(one: User) -> UserItem:
    return UserItem(
        name=one.name, role=one.role, created_at=one.created_at, is_disabled=one.is_disabled
    )
