"""The home page: search, filters and the list of published skills."""

from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import Response
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_302_FOUND

from vskill_platform.catalogue.query import Counts, SkillQuery, SkillSort, Visible
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.trust import TrustTier
from vskill_platform.web.html.templating import tier_name
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.urls import with_query
from vskill_platform.web.http.visitor import visitor_of

PAGE_SIZE = 25
#: A bound, because offsets must fit into the database.
_MAX_PAGE = 1_000_000
_MAX_TEXT = 200
#: Options shown for each filter.
_MAX_OPTIONS = 10
SORTS = {
    SkillSort.RELEVANCE: "Best match",
    SkillSort.UPDATED: "Recently updated",
    SkillSort.NEWEST: "Newest",
    SkillSort.TRUST: "Most trusted",
    SkillSort.NAME: "Name",
}
#: In the order in which they are shown.
FILTERS = {"tier": "Trust", "namespace": "Publisher", "tag": "Tag", "agent": "Works with"}
_S = SubmissionState
_STOPPED = (_S.TIER1_FAILED, _S.REJECTED, _S.BLOCKED)
#: States without a completed check: in progress or withdrawn.
_UNCHECKED = (_S.RECEIVED, _S.TIER1_SCANNING, _S.TIER2_SCANNING, _S.DEQUEUED)


class Search(msgspec.Struct, frozen=True, kw_only=True):
    text: str = ""
    namespace: str = ""
    tier: str = ""
    tag: str = ""
    agent: str = ""
    sort: SkillSort = SkillSort.RELEVANCE
    page: int = 1

    @property
    def filters(self) -> dict[str, str]:
        """The active filters."""
        return {name: value for name in FILTERS if (value := str(getattr(self, name)))}

    @property
    def is_plain(self) -> bool:
        """Tell whether there is neither a search text nor a filter."""
        return not self.text and not self.filters

    def query(self, visible: Visible) -> SkillQuery:
        return SkillQuery(
            text=self.text,
            namespace=self.namespace,
            tier=self.tier,
            tag=self.tag,
            agent=self.agent,
            sort=self.sort,
            offset=(self.page - 1) * PAGE_SIZE,
            limit=PAGE_SIZE,
            visible=visible,
            with_facets=True,
        )

    def address(self, **changes: str | int) -> str:
        """Return the URL of this search with changes; a changed search starts at page 1."""
        new = msgspec.structs.replace(self, **({"page": 1} | changes))
        sort = "" if new.sort is SkillSort.RELEVANCE else new.sort
        page = new.page if new.page > 1 else ""
        return with_query("/", q=new.text, **new.filters, sort=sort, page=page)

    def page_address(self, page: int) -> str:
        return self.address(page=page)


class Option(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    count: int
    #: Toggles the option.
    address: str
    is_chosen: bool


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    label: str
    options: tuple[Option, ...]


def read_search(asked: Mapping[str, str]) -> Search:
    """Read the query; invalid values are ignored, so that old links still work."""
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
    return Search(text=text, sort=sort, page=max(number, 1), **chosen)


def offered_filters(search: Search, facets: dict[str, list[tuple[str, int]]]) -> tuple[Filter, ...]:
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
            offered.append(Filter(name=name, label=label, options=options))
    return tuple(offered)


def value_label(name: str, value: str) -> str:
    if name == "tier" and value in set(TrustTier):
        return tier_name(value)
    return value


async def marketplace(request: WebRequest) -> Response[Any]:
    search = read_search(request.query_params)
    catalogue = catalogue_of(request)
    visible = await visible_to(visitor_of(request))
    results = await catalogue.search_skills(search.query(visible))
    pages = max(-(-results.total // PAGE_SIZE), 1)
    if search.page > pages:
        return Redirect(search.address(page=pages), status_code=HTTP_302_FOUND)
    counts = await catalogue.count_all(visible=visible)
    return Template(
        "pages/marketplace.html",
        context={
            "section": "skills",
            "search": search,
            "results": results,
            "pages": pages,
            "filters": offered_filters(search, results.facets or {}),
            "chips": [
                (value_label(name, value), search.address(**{name: ""}))
                for name, value in search.filters.items()
            ],
            "sorts": SORTS,
            "published": counts.published,
            "checked": _checked(counts),
            "stopped": sum(counts.by_state[state] for state in _STOPPED),
            "freshness": catalogue.freshness,
        },
    )


def _checked(counts: Counts) -> int:
    return sum(n for state, n in counts.by_state.items() if state not in _UNCHECKED)
