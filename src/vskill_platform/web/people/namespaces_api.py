"""Owners and members of namespaces over the API."""

from typing import Annotated

from litestar import Response
from litestar.params import FromQuery, JSONBody, QueryParameter

from vskill_platform.access.namespaces import add_member, add_owner, remove_member, remove_owner
from vskill_platform.errors import NotAllowed
from vskill_platform.model.namespace import checked_namespace
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.user import Namespace
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.namespace_store import (
    get_namespace,
    list_namespaces,
    list_namespaces_of,
)
from vskill_platform.web.http.api_types import Limit, Shape, Text, clamp, key_cursor, read_key
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of

_MAX_ROWS = 100
_NamespaceQuery = Annotated[Text, QueryParameter(name="namespace")]
_UserQuery = Annotated[Text, QueryParameter(name="user")]


class NamespaceUser(Shape, frozen=True, kw_only=True):
    namespace: Text
    user: Text


class NamespaceItem(Shape, frozen=True, kw_only=True):
    name: str
    #: The user of a namespace `@name` also owns it, but is not listed.
    owners: tuple[str, ...]
    #: They see its private skills; null unless you own it or are an admin.
    members: tuple[str, ...] | None
    #: Whether only its owners and staff can submit to it.
    is_owned: bool
    is_deleted: bool


class NamespaceList(Shape, frozen=True, kw_only=True):
    namespaces: list[NamespaceItem]
    next_cursor: str | None = None


async def list_over_api(
    request: WebRequest, cursor: FromQuery[str | None] = None, limit: Limit = 50
) -> Response[NamespaceList]:
    """List the namespaces that you own or are a member of; admins see all. At most 100 at once."""
    visitor, after = visitor_of(request), read_key(cursor)
    _check_can_see(visitor)
    size, headers = clamp(limit, _MAX_ROWS)
    found = sorted(await _list_for(visitor), key=lambda one: one.name)
    rest = [one for one in found if after is None or one.name > after]
    answer = NamespaceList(
        namespaces=[_item(one, visitor) for one in rest[:size]],
        next_cursor=key_cursor(rest[size - 1].name) if len(rest) > size else None,
    )
    return Response(answer, headers=headers)


@operation(status=200, also=(404,))
async def add_member_over_api(request: WebRequest, data: JSONBody[NamespaceUser]) -> NamespaceItem:
    """Let a user see the private skills of a namespace; for its owners and admins."""
    visitor = await _may_change_members(request, data.namespace)
    return _item(await add_member(data.namespace, data.user, actor=visitor.name), visitor)


@operation(also=(404,))
async def remove_member_over_api(
    request: WebRequest, namespace: _NamespaceQuery, user: _UserQuery
) -> NamespaceItem:
    """Remove a member, who then only sees public skills; for owners and admins."""
    visitor = await _may_change_members(request, namespace)
    return _item(await remove_member(namespace, user, actor=visitor.name), visitor)


@operation(status=200, also=(404,))
async def add_owner_over_api(request: WebRequest, data: JSONBody[NamespaceUser]) -> NamespaceItem:
    """Add an owner; once a namespace has one, only owners and staff can submit to it."""
    visitor = visitor_of(request)
    return _item(await add_owner(data.namespace, data.user, actor=visitor.name), visitor)


@operation(also=(404,))
async def remove_owner_over_api(
    request: WebRequest, namespace: _NamespaceQuery, user: _UserQuery
) -> NamespaceItem:
    """Remove an owner. Without owners a namespace is open, unless it has private skills."""
    visitor = visitor_of(request)
    return _item(await remove_owner(namespace, user, actor=visitor.name), visitor)


async def _list_for(visitor: Visitor) -> list[Namespace]:
    if visitor.may(Right.ADMINISTER, get_settings()):
        return await list_namespaces()
    names = await list_namespaces_of(visitor.name)
    return [(await get_namespace(name)).record for name in names]


async def _may_change_members(request: WebRequest, namespace: str) -> Visitor:
    visitor, name = visitor_of(request), checked_namespace(namespace)
    _check_can_see(visitor)
    if not _manages(visitor, (await get_namespace(name)).record):
        raise NotAllowed(f"only an owner of {name} or an admin can change its members")
    return visitor


def _manages(visitor: Visitor, namespace: Namespace) -> bool:
    return visitor.owns(namespace) or visitor.may(Right.ADMINISTER, get_settings())


def _check_can_see(visitor: Visitor) -> None:
    """Raise for a token that sees no private skills, which must not let others see them either."""
    if not visitor.can_see_own:
        raise NotAllowed("members see private skills, so the token also needs the scope read")


def _item(found: Namespace, visitor: Visitor) -> NamespaceItem:
    return NamespaceItem(
        name=found.name,
        owners=found.owners,
        members=found.members if _manages(visitor, found) else None,
        is_owned=found.is_owned,
        is_deleted=found.deleted is not None,
    )
