"""The page of a publisher: its skills, when it published first, and its sources."""

from typing import Any

from litestar import Response
from litestar.params import FromPath
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_302_FOUND

from vskill_platform.access.visibility import list_visible_blocks
from vskill_platform.catalogue.query import SkillQuery, SkillSort
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.block import Block, publisher_subject
from vskill_platform.model.namespace import checked_namespace
from vskill_platform.model.rights import Visitor
from vskill_platform.stores.block_store import get_block
from vskill_platform.web.http.numbered_pages import read_page
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.urls import publisher_url, with_query
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.marketplace.marketplace_page import PAGE_SIZE, read_search


async def short_publisher_page(request: WebRequest, publisher: FromPath[str]) -> Response[Any]:
    """Show `/@name` and `/owner`; other pages at the top level come before them."""
    return await _show(request, publisher)


async def publisher_page(request: WebRequest, publisher: FromPath[str]) -> Response[Any]:
    """Show the same page for any name, such as one on another host or one that equals a page."""
    return await _show(request, publisher.strip("/"))


async def _show(request: WebRequest, name: str) -> Response[Any]:
    try:
        namespace = checked_namespace(name)
    except InvalidInput as error:
        raise NotFound("there is no such page or publisher") from error
    catalogue, page = catalogue_of(request), read_search(request.query_params).page
    visible = await visible_to(visitor_of(request))
    query = SkillQuery(
        namespace=namespace,
        sort=SkillSort.INSTALLS,
        offset=(page - 1) * PAGE_SIZE,
        limit=PAGE_SIZE,
        visible=visible,
    )
    results = await read_page(request, query)
    about = await catalogue.about_namespace(namespace, visible=visible)
    if not results.total and not about.down and namespace not in visible.namespaces:
        raise NotFound("there is no such page or publisher")
    pages = max(-(-results.total // PAGE_SIZE), 1)
    if page > pages:
        return Redirect(_address(namespace, pages), status_code=HTTP_302_FOUND)
    return Template(
        "pages/publisher.html",
        context={
            "section": "skills",
            "namespace": namespace,
            "source": _source(namespace),
            "block": await _visible_block(namespace, visitor_of(request)),
            "about": about,
            "results": results,
            "page": page,
            "pages": pages,
            "address": lambda number: _address(namespace, number),
        },
    )


def _address(namespace: str, page: int) -> str:
    return with_query(publisher_url(namespace), page=page if page > 1 else "")


def _source(namespace: str) -> str:
    """Return the URL from which this registry fetched its skills; empty for uploads."""
    if namespace.startswith("@"):
        return ""
    return namespace if "/" in namespace else f"github.com/{namespace}"


async def _visible_block(namespace: str, visitor: Visitor) -> Block | None:
    """Return the block of the whole publisher, unless it affects only private skills."""
    subject = publisher_subject(_source(namespace) or namespace)
    if not await get_block(subject):
        return None
    return next((one for one in await list_visible_blocks(visitor) if one.subject == subject), None)
