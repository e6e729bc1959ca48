"""The page of a set: the submissions of one source, and the progress of their checks."""

import asyncio
from collections import Counter

from litestar.params import FromPath
from litestar.response import Template

from vskill_platform.catalogue.query import SubmissionQuery, SubmissionSort
from vskill_platform.engines.ports import MAX_POSITION
from vskill_platform.errors import NotFound
from vskill_platform.intake.discover import MAX_SKILLS
from vskill_platform.model.submission import IN_PROGRESS_STATES
from vskill_platform.stores.submission_set_store import get_submission_set
from vskill_platform.web.html.flash import read_flash
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.submissions.queue_page import GROUPS
from vskill_platform.web.submissions.submission_view import of_set, positions_of

SETS = "/sets"
#: How many positions are shown: each is a query to the queue.
_MAX_POSITIONS = 100


async def set_page(request: WebRequest, set_id: FromPath[str]) -> Template:
    """Show the submissions of a set that the visitor may see."""
    catalogue, visible = catalogue_of(request), await visible_to(visitor_of(request))
    members, known = await asyncio.gather(of_set(set_id), get_submission_set(set_id))
    query = SubmissionQuery(sort=SubmissionSort.NAME, limit=MAX_SKILLS, visible=visible, **members)
    rows = (await catalogue.list_submissions(query)).rows
    if not rows:  # even if there are others, because their number is private
        raise NotFound("there is no such set of submissions")
    states = Counter(row.state for row in rows)
    checked = sum(count for state, count in states.items() if state not in IN_PROGRESS_STATES)
    messages, cookies = read_flash(request, on=SETS)
    context = messages | {
        "source": known.source if known else rows[0].repo_url,
        "rows": rows,
        "checked": checked,
        "groups": [
            (sum(states[state] for state in wanted), words, tone)
            for name, (words, wanted, _, tone) in GROUPS.items()
            if name != "all"
        ],
        "positions": await positions_of(rows[:_MAX_POSITIONS]),
        "max_position": MAX_POSITION,
        "freshness": catalogue.freshness,
    }
    return Template("pages/set.html", context=context, cookies=cookies)
