"""The search that `skills find` uses: `GET /api/search`."""

from typing import Any

from litestar import Response

from vskill_platform.catalogue.query import SkillHit, SkillQuery
from vskill_platform.web.http.api_types import Limit, SearchText, clamp
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.marketplace.search_api import MAX_RESULTS
from vskill_platform.web.protocols.listings import base_url
from vskill_platform.web.skills.client_names import is_discoverable


async def find_skills(
    request: WebRequest, q: SearchText = "", limit: Limit = 10, owner: SearchText = ""
) -> Response[dict[str, Any]]:
    """Search skills by text; *owner* is a namespace, with or without its @."""
    size, headers = clamp(limit, MAX_RESULTS)
    hits: list[SkillHit] = []
    for namespace in _namespaces(owner):
        query = SkillQuery(
            text=q,
            namespace=namespace,
            limit=size,
            visible=await visible_to(visitor_of(request)),
        )
        hits += (await catalogue_of(request).search_skills(query)).hits
    found = [hit for hit in hits if hit.version and is_discoverable(hit.name)][:size]
    base = base_url(request)
    skills = [
        {
            "id": hit.slug,
            "skillId": hit.name,
            "name": hit.name,
            # The client appends the name to this after an @; see discovery.parse_reference.
            "source": base + skill_url(hit.slug).replace("/skills/", "/s/", 1),
            "installs": hit.installs,
        }
        for hit in found
    ]
    return Response({"query": q, "skills": skills, "count": len(skills)}, headers=headers)


def _namespaces(owner: str) -> list[str]:
    if not owner:
        return [""]
    return [owner] if owner.startswith("@") or "/" in owner else [f"@{owner}", owner]
