"""Delete a namespace: the page, which first shows what would be deleted, and the API."""

from typing import Annotated

from litestar import Response
from litestar.params import JSONBody, QueryParameter
from litestar.response import Redirect, Template

from vskill_platform.errors import InvalidInput, NotAllowed, NotFound, Overtaken
from vskill_platform.model.namespace import checked_namespace
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.publish.moderation.delete_namespace import (
    NamespaceDeletion,
    delete_namespace,
    preview_namespace_deletion,
)
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.web.html.flash import admin_page
from vskill_platform.web.http.api_types import ReasonText, Shape, Text
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of


class NamespaceDeleteRequest(Shape, frozen=True, kw_only=True):
    namespace: Text
    reason: ReasonText


class DeletedSkillItem(Shape, frozen=True, kw_only=True):
    slug: str
    versions: int
    installs: int


class NamespaceDeletionResponse(Shape, frozen=True, kw_only=True):
    namespace: str
    skills: list[DeletedSkillItem]
    owners: tuple[str, ...]
    members: tuple[str, ...]
    webhooks: int
    trusted_publishers: int
    #: Tokens that are limited to this namespace.
    tokens: int
    installs: int
    #: The size of the files.
    bytes: int
    #: Why you cannot delete it; null if you can.
    refused: str | None


@operation(also=(404,))
async def preview_over_api(
    request: WebRequest, namespace: Annotated[Text, QueryParameter()]
) -> NamespaceDeletionResponse:
    """Show what the deletion of a namespace would remove, without deleting anything."""
    name, is_admin = await _own(visitor_of(request), namespace)
    return _response(await preview_namespace_deletion(name), is_admin=is_admin)


@operation(status=200, also=(404,))
async def delete_over_api(
    request: WebRequest, data: JSONBody[NamespaceDeleteRequest]
) -> NamespaceDeletionResponse:
    """Delete a namespace and all its skills. Others cannot use its name or theirs."""
    visitor = visitor_of(request)
    name, is_admin = await _own(visitor, data.namespace)
    done = await delete_namespace(name, actor=visitor.name, reason=data.reason, is_admin=is_admin)
    return _response(done, is_admin=is_admin)


async def delete_page(request: WebRequest) -> Template:
    return await _show(request, request.query_params.get("namespace", ""))


async def delete_form(request: WebRequest) -> Response[str] | Template:
    fields, visitor = await read_fields(request), visitor_of(request)
    name, is_admin = await _own(visitor, fields.get("namespace", ""))
    if fields.get("confirm", "").strip() != name:
        return await _show(request, name, problem=f"To confirm, type {name}.")
    try:
        await delete_namespace(
            name, actor=visitor.name, reason=fields.get("reason", ""), is_admin=is_admin
        )
    except (InvalidInput, NotAllowed, NotFound, Overtaken) as error:
        return await _show(request, name, problem=str(error))
    return Redirect("/account?done=namespace-deleted", status_code=303)


async def _show(request: WebRequest, namespace: str, *, problem: str = "") -> Template:
    name, is_admin = await _own(visitor_of(request), namespace)
    deletion = await preview_namespace_deletion(name)
    context = {"deletion": deletion, "is_admin": is_admin}
    page = admin_page(request, "admin/delete_namespace.html", context)
    if problem:
        page.context["problem"] = problem
        page.status_code = 400
    return page


async def _own(visitor: Visitor, namespace: str) -> tuple[str, bool]:
    """Return the name and whether the visitor is an admin; raise if neither owner nor admin."""
    name, settings = checked_namespace(namespace), get_settings()
    if visitor.may(Right.ADMINISTER, settings):
        return name, True
    found = (await get_namespace(name)).record
    if not visitor.owns(found) or not visitor.may(Right.MANAGE, settings):
        raise NotAllowed(f"only an owner of {name} or an admin can delete it")
    if not visitor.can_see_own:
        raise NotAllowed("this also concerns private skills, so the token needs the scope read")
    return name, False


def _response(found: NamespaceDeletion, *, is_admin: bool) -> NamespaceDeletionResponse:
    return NamespaceDeletionResponse(
        namespace=found.name,
        skills=[
            DeletedSkillItem(slug=one.slug, versions=len(one.versions), installs=one.installs)
            for one in found.skills
        ],
        owners=found.owners,
        members=found.members,
        webhooks=found.webhooks,
        trusted_publishers=found.trusted_publishers,
        tokens=found.tokens,
        installs=found.installs,
        bytes=found.bytes,
        refused=None if is_admin else found.refused or None,
    )
