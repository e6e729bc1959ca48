"""The first page: search, filters, and what is published."""

from typing import Any

from litestar import Response
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_302_FOUND

from vskill_platform.catalogue.query import Counts
from vskill_platform.model.submission import SubmissionState
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.marketplace_view import (
    PAGE_SIZE,
    SORTS,
    offered_filters,
    read_search,
    value_label,
)
from vskill_platform.web.skills.slugs import PageRequest

_S = SubmissionState
_STOPPED = (_S.TIER1_FAILED, _S.REJECTED, _S.BLOCKED)
#: Nothing of these was checked to its end: on their way, or withdrawn.
_UNCHECKED = (_S.RECEIVED, _S.TIER1_SCANNING, _S.TIER2_SCANNING, _S.DEQUEUED)


async def marketplace(request: PageRequest) -> Response[Any]:
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
