"""A user's skills and submissions, and those that need an action."""

from collections.abc import Sequence

import msgspec

from vskill_platform.catalogue.query import (
    SkillHit,
    SkillQuery,
    SkillSort,
    SubmissionQuery,
    SubmissionRow,
    SubmissionSort,
    TakenDownSkill,
)
from vskill_platform.errors import NotReady
from vskill_platform.model.submission import SubmissionState
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of

#: How many skills and submissions the page shows, and how many namespaces it reads.
_MAX_ROWS, _MAX_NAMESPACES = 6, 10
_S = SubmissionState
#: States that may need an action of the user.
_NEEDS_ACTION = (_S.NEEDS_REVIEW, _S.TIER1_FAILED, _S.REJECTED, _S.BLOCKED)


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    #: The namespaces with skills, and the number of skills in each.
    counts: dict[str, int]
    #: The most recently updated skills.
    skills: list[SkillHit]
    #: Skills that were taken down.
    down: list[TakenDownSkill]
    submissions: list[SubmissionRow]
    total: int
    #: Submissions that wait for review or were refused, newest first.
    notices: list[SubmissionRow]


async def read_overview(request: WebRequest, namespaces: Sequence[str]) -> Overview | None:
    """Return the overview of the signed-in user; None while the search index is being built."""
    try:
        return await _read(request, namespaces)
    except NotReady:
        return None


async def _read(request: WebRequest, namespaces: Sequence[str]) -> Overview:
    catalogue, visitor = catalogue_of(request), visitor_of(request)
    visible = await visible_to(visitor)
    skills: list[SkillHit] = []
    down: list[TakenDownSkill] = []
    counts = {}
    for namespace in namespaces[:_MAX_NAMESPACES]:
        query = SkillQuery(
            namespace=namespace, sort=SkillSort.UPDATED, limit=_MAX_ROWS, visible=visible
        )
        found = await catalogue.search_skills(query)
        if found.total:
            counts[namespace] = found.total
        skills += found.hits
        down += (await catalogue.about_namespace(namespace, visible=visible)).down
    own = SubmissionQuery(
        submitter=visitor.name, sort=SubmissionSort.UPDATED, limit=_MAX_ROWS, visible=visible
    )
    submitted = await catalogue.list_submissions(own)
    notices = await catalogue.list_submissions(msgspec.structs.replace(own, states=_NEEDS_ACTION))
    return Overview(
        counts=counts,
        skills=sorted(skills, key=lambda hit: hit.updated_at, reverse=True)[:_MAX_ROWS],
        down=down,
        submissions=submitted.rows,
        total=submitted.total,
        notices=notices.rows,
    )
