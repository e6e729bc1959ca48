"""Trusted publishers: the token exchange of CI jobs, the API, and the page of the account."""

from datetime import datetime, timedelta
from typing import Annotated

import msgspec
from litestar import Response
from litestar.params import FromPath, FromQuery, JSONBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_201_CREATED

from vskill_platform.access.namespaces import may_manage_in
from vskill_platform.access.trusted_publishing import (
    JobFilter,
    add_trusted_publisher,
    audience,
    describe_conditions,
    exchange_ci_token,
    issuers,
    remove_trusted_publisher,
)
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.namespace import checked_namespace
from vskill_platform.model.rights import Visitor
from vskill_platform.model.user import Scope
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.namespace_store import list_namespaces_of
from vskill_platform.stores.trusted_publisher_store import (
    TrustedPublisher,
    get_trusted_publisher,
    list_trusted_publishers,
)
from vskill_platform.web.html.flash import act, read_flash
from vskill_platform.web.http.api_types import Ok, Shape, Text
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.concurrency_quota import ConcurrencyQuota
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.rate_limits import address_key, limits_of
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of

_HERE = "/account/publishers"
_MAX_TOKEN = 64 * 1024
#: Limited, because each may fetch the keys of a CI system.
_EXCHANGES = ConcurrencyQuota(
    in_all=20, each=4, what="exchanges of tokens", retry_after=timedelta(seconds=5)
)


class CiToken(Shape, frozen=True, kw_only=True):
    #: The signed token of the CI job, requested for the URL of this registry.
    token: Annotated[str, msgspec.Meta(max_length=_MAX_TOKEN)]
    #: The namespace to which the job wants to publish.
    namespace: Text


class PublishToken(Shape, frozen=True, kw_only=True):
    token: str
    expires_at: datetime
    namespace: str
    scopes: list[str]


class NewPublisher(Shape, frozen=True, kw_only=True):
    namespace: Text
    repository: Text
    #: The issuer of its jobs' tokens, such as that of GitHub Actions or gitlab.com.
    issuer: Text
    workflow: Text = ""
    environment: Text = ""
    ref: Text = ""


class PublisherItem(NewPublisher, frozen=True, kw_only=True):
    id: str
    kind: str
    added_by: str
    added_at: datetime
    last_used_at: datetime | None


class PublisherList(Shape, frozen=True, kw_only=True):
    publishers: list[PublisherItem]
    #: The audience that jobs must request their token for, and the allowed CI systems.
    audience: str
    issuers: list[str]


@operation(also=(401, 503))
async def exchange_over_api(request: WebRequest, data: JSONBody[CiToken]) -> Response[PublishToken]:
    """Exchange the signed token of a CI job for a token that is valid for 15 minutes."""
    address = address_key(visitor_of(request).address)
    rate = get_settings().writes_per_minute  # many runners share an address
    limits_of(request).take("ci token", address, per_minute=rate, now=get_now())
    with _EXCHANGES.held_by(address):
        made = await exchange_ci_token(data.token, namespace=data.namespace)
    answer = PublishToken(
        token=made.text,
        expires_at=made.record.expires_at,
        namespace=made.record.namespace,
        scopes=list(made.record.scopes),
    )
    return Response(answer, headers=NO_STORE_HEADER)


async def list_over_api(request: WebRequest, namespace: FromQuery[str]) -> PublisherList:
    """List the trusted publishers of a namespace that you manage."""
    name = checked_namespace(namespace)
    await _check_may_manage(visitor_of(request), name)
    return PublisherList(
        publishers=[publisher_item(one) for one in await list_trusted_publishers(name)],
        audience=audience(),
        issuers=list(issuers()),
    )


@operation(status=HTTP_201_CREATED)
async def add_over_api(request: WebRequest, data: JSONBody[NewPublisher]) -> PublisherItem:
    """Let the CI jobs of a repository publish to a namespace that you manage."""
    jobs = JobFilter(
        issuer=data.issuer,
        repository=data.repository,
        workflow=data.workflow,
        environment=data.environment,
        ref=data.ref,
    )
    return publisher_item(await _add(visitor_of(request), data.namespace, jobs))


@operation(also=(404,))
async def remove_over_api(request: WebRequest, publisher_id: FromPath[str]) -> Ok:
    """Remove a trusted publisher; existing tokens of its jobs stay valid for up to 15 minutes."""
    await _remove(visitor_of(request), publisher_id)
    return Ok()


async def publishers_page(request: WebRequest) -> Template:
    """List the trusted publishers of the user's namespaces."""
    names = await _managed_namespaces(visitor_of(request))
    shown = [
        (one, describe_conditions(one))
        for name in names
        for one in await list_trusted_publishers(name)
    ]
    messages, cookies = read_flash(request, on=_HERE)
    context = messages | {
        "publishers": shown,
        "namespaces": names,
        "issuers": issuers(),
        "audience": audience(),
    }
    return Template("pages/trusted_publishers.html", context=context, cookies=cookies)


async def add_form(request: WebRequest) -> Redirect:
    fields = await read_fields(request)

    async def add() -> str:
        jobs = JobFilter(
            issuer=fields.get("issuer", ""),
            repository=fields.get("repository", ""),
            workflow=fields.get("workflow", ""),
            environment=fields.get("environment", ""),
        )
        made = await _add(visitor_of(request), fields.get("namespace", ""), jobs)
        return f"Jobs of {made.repository} can now publish to {made.namespace}."

    return await act(_HERE, add, on=_HERE)


async def remove_form(request: WebRequest, publisher_id: FromPath[str]) -> Redirect:
    async def remove() -> str:
        gone = await _remove(visitor_of(request), publisher_id)
        return f"Jobs of {gone.repository} can no longer publish to {gone.namespace}."

    return await act(_HERE, remove, on=_HERE)


async def _add(visitor: Visitor, namespace: str, jobs: JobFilter) -> TrustedPublisher:
    if visitor.user is None:
        raise InvalidInput("sign in first")
    if visitor.via == "token" and not {Scope.READ, Scope.SUBMIT} <= visitor.scopes:
        raise NotAllowed("the jobs get the scopes read and submit, so the token also needs them")
    name = checked_namespace(namespace)
    await _check_may_manage(visitor, name)
    return await add_trusted_publisher(name, jobs, user=visitor.user)


async def _remove(visitor: Visitor, publisher_id: str) -> TrustedPublisher:
    stored = await get_trusted_publisher(publisher_id)
    if stored is None or not await may_manage_in(visitor, stored.record.namespace):
        raise NotFound(f"there is no trusted publisher {publisher_id!r} that you manage")
    return await remove_trusted_publisher(publisher_id, actor=visitor.name)


async def _check_may_manage(visitor: Visitor, namespace: str) -> None:
    if not await may_manage_in(visitor, namespace):
        raise NotAllowed(f"you do not manage {namespace}; ask one of its owners")


async def _managed_namespaces(visitor: Visitor) -> list[str]:
    names = sorted(await list_namespaces_of(visitor.name))
    return [name for name in names if await may_manage_in(visitor, name)]


def publisher_item(one: TrustedPublisher) -> PublisherItem:
    return PublisherItem(
        id=one.id,
        namespace=one.namespace,
        repository=one.repository,
        issuer=one.issuer,
        workflow=one.workflow,
        environment=one.environment,
        ref=one.ref,
        kind=one.kind,
        added_by=one.by,
        added_at=one.at,
        last_used_at=one.last_used_at,
    )
