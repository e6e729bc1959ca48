"""Feeds for programs that read the whole site: robots.txt, the sitemap and RSS.

They contain only public skills, even for signed-in users, because readers store and share them.
"""

from collections.abc import Iterable
from datetime import datetime
from email.utils import format_datetime
from typing import Annotated
from xml.etree import ElementTree as ET

import msgspec
from litestar import Response
from litestar.params import QueryParameter

from vskill_platform.base.show_text import show
from vskill_platform.catalogue.query import PUBLIC, SkillQuery, SkillSort
from vskill_platform.errors import NotFound
from vskill_platform.model.registry_url import base_url
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of
from vskill_platform.web.http.urls import skill_url

#: How many entries a feed has, and how many URLs a page of the sitemap (at most 50,000).
_MAX_ENTRIES, _PER_PAGE = 50, 5_000
_SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
_PAGES = ("/", "/skills", "/trust", "/api")
#: Not for search engines: pages of an account, and URLs for programs.
_DISALLOWED = (
    "/account", "/admin", "/api/", "/clawhub/", "/device", "/git/", "/live/", "/mcp", "/sign-in",
    "/report", "/submissions/", "/submit", "/welcome",
)  # fmt: skip
_ROBOTS, _XML, _RSS = "text/plain", "application/xml", "application/rss+xml"


class _Entry(msgspec.Struct, frozen=True):
    title: str
    path: str
    text: str
    at: datetime
    #: A new value makes readers show the entry as a new one.
    id: str


async def robots() -> Response[str]:
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in _DISALLOWED)]
    text = "\n".join([*lines, "", f"Sitemap: {_absolute('/sitemap.xml')}", ""])
    return Response(text, media_type=_ROBOTS)


async def sitemap(
    request: WebRequest, page: Annotated[int | None, QueryParameter(ge=1, le=100_000)] = None
) -> Response[bytes]:
    """List the pages of all public skills; if there are many, list the pages of the sitemap."""
    catalogue = catalogue_of(request)
    total = (await catalogue.count_all(visible=PUBLIC)).published
    pages = max(-(-total // _PER_PAGE), 1)
    if page is None and pages > 1:
        index = ET.Element("sitemapindex", xmlns=_SITEMAP)
        for number in range(1, pages + 1):
            _add(ET.SubElement(index, "sitemap"), loc=_absolute(f"/sitemap.xml?page={number}"))
        return _response(index, _XML)
    number = page or 1
    if number > pages:
        raise NotFound("the sitemap has no such page")
    listed = await catalogue.list_addresses(offset=(number - 1) * _PER_PAGE, limit=_PER_PAGE)
    urls = ET.Element("urlset", xmlns=_SITEMAP)
    for path in _PAGES if number == 1 else ():
        _add(ET.SubElement(urls, "url"), loc=_absolute(path))
    for slug, updated_at in listed:
        address = _absolute(skill_url(slug))
        _add(ET.SubElement(urls, "url"), loc=address, lastmod=f"{updated_at:%Y-%m-%d}")
    return _response(urls, _XML)


async def new_skills(request: WebRequest) -> Response[bytes]:
    query = SkillQuery(sort=SkillSort.NEWEST, limit=_MAX_ENTRIES, visible=PUBLIC)
    found = await catalogue_of(request).search_skills(query)
    return _feed(
        "New skills",
        (
            _Entry(hit.slug, skill_url(hit.slug), hit.description, hit.published_at, hit.slug)
            for hit in found.hits
        ),
    )


async def blocked_skills(request: WebRequest) -> Response[bytes]:
    found = await catalogue_of(request).list_taken_down(limit=_MAX_ENTRIES, visible=PUBLIC)
    return _feed(
        "Blocked skills",
        (
            _Entry(
                skill.slug,
                skill_url(skill.slug),
                skill.reason[:1].upper() + skill.reason[1:],
                skill.at,
                f"{skill.slug} {skill.at.isoformat()}",  # it can be blocked repeatedly
            )
            for skill in found.skills
        ),
    )


def _feed(title: str, entries: Iterable[_Entry]) -> Response[bytes]:
    feed = ET.Element("rss", version="2.0")
    channel = ET.SubElement(feed, "channel")
    _add(
        channel,
        title=f"{title} · {_absolute('').partition('://')[2]}",
        link=_absolute("/skills"),
        description=f"{title} of this registry.",
    )
    for entry in entries:
        item = ET.SubElement(channel, "item")
        _add(
            item,
            title=entry.title,
            link=_absolute(entry.path),
            description=entry.text,
            pubDate=format_datetime(entry.at),
        )
        ET.SubElement(item, "guid", isPermaLink="false").text = show(entry.id)
    return _response(feed, _RSS)


def _add(parent: ET.Element, **texts: str) -> None:
    for name, text in texts.items():
        # XML forbids most control characters; `show` spells them out.
        ET.SubElement(parent, name).text = show(text)


def _absolute(path: str) -> str:
    return base_url(get_settings()) + path


def _response(root: ET.Element, media_type: str) -> Response[bytes]:
    body = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return Response(body, media_type=f"{media_type}; charset=utf-8")
