"""The list of published skills: search and filters."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from litestar import Response
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_302_FOUND

from vskill_platform.catalogue.match import WITHOUT
from vskill_platform.catalogue.query import (
    SkillQuery,
    SkillResults,
    SkillSort,
    Visible,
)
from vskill_platform.catalogue.words import query_words
from vskill_platform.errors import InvalidInput
from vskill_platform.model.skill import CAPABILITY_KINDS
from vskill_platform.model.trust import TrustTier
from vskill_platform.web.html.templating import tier_name
from vskill_platform.web.http.list_cursors import jump_to, next_cursor
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.urls import with_query
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.marketplace.unlisted import Unlisted, find_unlisted

PAGE_SIZE = 25
#: The last page, because offsets must fit into the database.
_MAX_PAGE = 1_000_000
_MAX_TEXT = 200
#: How many options are shown for each filter.
_MAX_OPTIONS = 10
LIST = "/skills"
SORTS = {
    SkillSort.RELEVANCE: "Best match",
    SkillSort.INSTALLS: "Most installed",
    SkillSort.UPDATED: "Recently updated",
    SkillSort.NEWEST: "Newest",
    SkillSort.NAME: "Name",
}
#: In the order in which they are shown.
FILTERS = {"tier": "Verdict", "namespace": "Publisher", "tag": "Tag", "agent": "Works with"}
#: The filters by capability: capabilities that a skill must have, and must not have.
CAPABILITY_FILTERS = {"cannot": "Cannot", "can": "Can"}
#: The words after "can" and "cannot".
CAPABILITY_WORDS = {
    "network": "reach the network",
    "secrets": "read secrets",
    "shell": "run commands",
    "files": "change files",
    "installs": "install packages",
}


class Search(msgspec.Struct, frozen=True, kw_only=True):
    text: str = ""
    namespace: str = ""
    tier: str = ""
    tag: str = ""
    agent: str = ""
    can: tuple[str, ...] = ()
    cannot: tuple[str, ...] = ()
    sort: SkillSort = SkillSort.RELEVANCE
    page: int = 1
    #: A cursor of the list that the visitor reads: its order stays as it was when they came.
    after: str = ""

    @property
    def filters(self) -> dict[str, str]:
        """The active filters, as in the URL."""
        chosen = {name: str(getattr(self, name)) for name in FILTERS}
        capable = {name: ",".join(getattr(self, name)) for name in CAPABILITY_FILTERS}
        return {name: value for name, value in (chosen | capable).items() if value}

    @property
    def order(self) -> SkillSort:
        """The order in use; without words, relevance is not available."""
        is_list = self.sort is SkillSort.RELEVANCE and not self.text
        return SkillSort.INSTALLS if is_list else self.sort

    @property
    def sorts(self) -> list[tuple[str, str, bool]]:
        """The available orders: value, label, and whether it is in use."""
        usable = [sort for sort in SORTS if self.text or sort is not SkillSort.RELEVANCE]
        return [
            ("" if number == 0 else sort.value, SORTS[sort], sort is self.order)
            for number, sort in enumerate(usable)
        ]

    @property
    def is_plain(self) -> bool:
        """Return whether there is neither a search text nor a filter."""
        return not self.text and not self.filters

    def query(self, visible: Visible) -> SkillQuery:
        return SkillQuery(
            text=self.text,
            namespace=self.namespace,
            tier=self.tier,
            tag=self.tag,
            agent=self.agent,
            can=self.can,
            cannot=self.cannot,
            sort=self.order,
            limit=PAGE_SIZE,
            visible=visible,
            with_facets=True,
            is_forgiving=True,
            **jump_to(self.after or None, (self.page - 1) * PAGE_SIZE),
        )

    def address(self, **changes: str | int | tuple[str, ...]) -> str:
        """Return the URL of this search with changes; a changed search starts at page 1."""
        new = msgspec.structs.replace(self, **({"page": 1, "after": ""} | changes))
        sort = "" if new.sort is SkillSort.RELEVANCE else new.sort
        page = new.page if new.page > 1 else ""
        return with_query(LIST, q=new.text, **new.filters, sort=sort, page=page, after=new.after)

    def without_filters(self) -> str:
        cleared = dict.fromkeys(FILTERS, "")
        return self.address(**cleared, **dict.fromkeys(CAPABILITY_FILTERS, ()))

    def toggled(self, name: str, value: str) -> str:
        """Return the URL with a capability added to a filter, or removed from it."""
        now: tuple[str, ...] = getattr(self, name)
        kept = tuple(one for one in now if one != value)
        return self.address(**{name: kept if value in now else (*now, value)})


class Option(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    #: For screen readers, before the label; not visible.
    prefix: str = ""
    count: int
    #: The URL that toggles the option.
    address: str
    is_chosen: bool


class SkillFilter(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    label: str
    options: tuple[Option, ...]


def read_search(asked: Mapping[str, str]) -> Search:
    """Parse the query; invalid values are ignored, so that old links still work."""
    try:
        sort = SkillSort(asked.get("sort", ""))
    except ValueError:
        sort = SkillSort.RELEVANCE
    page = asked.get("page", "")
    number = (
        int(page) if page.isascii() and page.isdigit() and len(page) < len(str(_MAX_PAGE)) else 1
    )
    chosen = {name: asked.get(name, "").strip()[:_MAX_TEXT] for name in FILTERS}
    text = asked.get("q", "").strip()[:_MAX_TEXT]
    return Search(
        text=text,
        sort=sort,
        page=max(number, 1),
        after=asked.get("after", "") if number > 1 else "",
        can=_known_capabilities(asked.get("can", "")),
        cannot=_known_capabilities(asked.get("cannot", "")),
        **chosen,
    )


def _known_capabilities(text: str) -> tuple[str, ...]:
    named = set(text.split(","))
    return tuple(name for name in CAPABILITY_KINDS if name in named)


def offered_filters(
    search: Search, facets: dict[str, list[tuple[str, int]]]
) -> tuple[SkillFilter, ...]:
    """Return the filters that have several options or are active."""
    offered = []
    for name, label in FILTERS.items():
        values = facets.get(name, [])
        chosen = search.filters.get(name)
        if name == "tier":
            values = sorted(values, reverse=True)
        elif chosen not in dict(values[:_MAX_OPTIONS]):
            values = [(value, n) for value, n in values if value == chosen] + values
        options = tuple(
            Option(
                label=value_label(name, value),
                count=count,
                address=search.address(**{name: "" if value == chosen else value}),
                is_chosen=value == chosen,
            )
            for value, count in values[:_MAX_OPTIONS]
        )
        if chosen or len(options) > 1:
            offered.append(SkillFilter(name=name, label=label, options=options))
    by_capability = [_capability_filter(name, search, facets) for name in CAPABILITY_FILTERS]
    return (*(one for one in by_capability if one.options), *offered)


def _capability_filter(
    name: str, search: Search, facets: dict[str, list[tuple[str, int]]]
) -> SkillFilter:
    counts = dict(facets.get("capability", []))
    chosen: tuple[str, ...] = getattr(search, name)
    options = []
    for value, label in CAPABILITY_WORDS.items():
        count = counts.get(f"{WITHOUT}{value}" if name == "cannot" else value, 0)
        if count or value in chosen:
            option = Option(
                label=label,
                prefix=CAPABILITY_FILTERS[name],
                count=count,
                address=search.toggled(name, value),
                is_chosen=value in chosen,
            )
            options.append(option)
    return SkillFilter(name=name, label=CAPABILITY_FILTERS[name], options=tuple(options))


def chosen_filters(search: Search) -> list[tuple[str, str]]:
    """Return each active filter in words, with the URL that removes it."""
    chosen = [
        (value_label(name, value), search.address(**{name: ""}))
        for name, value in search.filters.items()
        if name in FILTERS
    ]
    capable = [
        (f"{label} {CAPABILITY_WORDS[value]}", search.toggled(name, value))
        for name, label in CAPABILITY_FILTERS.items()
        for value in getattr(search, name)
    ]
    return capable + chosen


def value_label(name: str, value: str) -> str:
    if name == "tier" and value in set(TrustTier):
        return tier_name(value)
    return value


def _page_address(search: Search, results: SkillResults, page: int) -> str:
    """Return the URL of a page in the order of this one; the first page is the current list."""
    after = (next_cursor(results) or search.after) if page > 1 else ""
    return search.address(page=page, after=after)


async def skill_list(request: WebRequest) -> Response[Any]:
    search = read_search(request.query_params)
    catalogue = catalogue_of(request)
    visible = await visible_to(visitor_of(request))
    try:
        results = await catalogue.search_skills(search.query(visible))
    except InvalidInput:  # an old link: the page by its number shows nearly the same
        search = msgspec.structs.replace(search, after="")
        results = await catalogue.search_skills(search.query(visible))
    pages = max(-(-results.total // PAGE_SIZE), 1)
    if search.page > pages:
        return Redirect(search.address(page=pages), status_code=HTTP_302_FOUND)
    unlisted = Unlisted()
    if search.text and (results.searched_for or not results.hits):
        unlisted = await find_unlisted(catalogue, search.text, visible=visible)
    return Template(
        "pages/marketplace.html",
        context={
            "section": "skills",
            "search": search,
            "results": results,
            "unlisted": unlisted,
            "pages": pages,
            "page_address": partial(_page_address, search, results),
            "filters": offered_filters(search, results.facets or {}),
            "chips": chosen_filters(search),
            "words": query_words(results.searched_for or search.text),
            "freshness": catalogue.freshness,
        },
    )
