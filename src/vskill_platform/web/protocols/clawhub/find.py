"""Find the skill that a ClawHub client requests, by owner and name or by a unique name."""

from typing import Any
from urllib.parse import urlencode

import msgspec

from vskill_platform.access.visibility import find_visible_skill
from vskill_platform.base.show_text import show
from vskill_platform.catalogue.query import SubmissionQuery
from vskill_platform.errors import MirrorRefused, NotFound, NotPublished
from vskill_platform.model.mirror import is_mirrored
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.clawhub_names import join_slug, split_slug
from vskill_platform.web.skills.client_names import OwnedName
from vskill_platform.web.skills.gone_page import find_submission
from vskill_platform.web.skills.pull_through import find_or_mirror
from vskill_platform.web.skills.readme_page import public_address
from vskill_platform.web.skills.slugs import find_namesakes

#: Clients recognize this text, which is the same for skills that the visitor may not see.
SKILL_NOT_FOUND = "Skill not found"
_MAX_NAME = 300
_MAX_NAMESAKES = 50
#: Unpublished submissions in these states are shown as refused skills.
_REFUSED = frozenset(
    {
        SubmissionState.TIER1_FAILED,
        SubmissionState.REJECTED,
        SubmissionState.BLOCKED,
        SubmissionState.NEEDS_REVIEW,
    }
)


class AmbiguousName(NotFound):
    """Several skills have this name; the message is JSON, which clients show as a list."""

    def __init__(self, name: str, matches: list[dict[str, str]]) -> None:
        refs = ", ".join(match["ref"] for match in matches)
        self.message = f"Several skills are called {name!r}: {refs}. Also give the owner."
        error = {"code": "AMBIGUOUS_SKILL_SLUG", "message": self.message, "matches": matches}
        super().__init__(msgspec.json.encode(error).decode())


class NoSkill(NotFound):
    def __init__(self) -> None:
        super().__init__(SKILL_NOT_FOUND)


async def find_owned_skill(
    request: WebRequest, name: str, owner: str = "", version: str | None = None
) -> PublishedSkill:
    """Return a skill, even one that was taken down; raise NoSkill or AmbiguousName.

    A *version* of a mirrored skill is fetched if it is not here; if that fails, the error says why.
    """
    name = _checked(name)
    if owner:
        slug = join_slug(_checked(owner), name)
    else:
        slug = await _only_slug(request, name)
    if version and is_mirrored(slug):
        return (await find_or_mirror(request, slug, version)).record
    try:
        return (await find_or_mirror(request, slug)).record
    except (NotFound, NotPublished) as error:
        raise NoSkill from error
    except MirrorRefused as error:
        if error.submission_id:  # clients show the findings of a refused skill
            raise NoSkill from error
        raise


async def _only_slug(request: WebRequest, name: str) -> str:
    """Return the slug of the only skill with this name."""
    same = [hit.slug for hit in await find_namesakes(request, name)]
    # Users who installed it by this name learn that it was taken down.
    same = same or await _taken_down(request, name)
    if len(same) > 1:
        raise AmbiguousName(name, [_match(request, split_slug(slug)) for slug in same])
    if not same:
        raise NoSkill
    return same[0]


async def _taken_down(request: WebRequest, name: str) -> list[str]:
    """Return the taken-down skills with this name, which searches do not list."""
    visible = await visible_to(visitor_of(request))
    query = SubmissionQuery(text=name, limit=_MAX_NAMESAKES, visible=visible)
    rows = (await catalogue_of(request).list_submissions(query)).rows
    slugs = sorted({row.slug for row in rows if row.slug and split_slug(row.slug).name == name})
    return [slug for slug in slugs if await _is_visible(request, slug)]


async def _is_visible(request: WebRequest, slug: str) -> bool:
    try:
        await find_visible_skill(visitor_of(request), slug)
    except NotFound:
        return False
    return True


async def find_refused(request: WebRequest, name: str, owner: str) -> Submission:
    """Return the visible submission of an unpublished skill; raise NoSkill if there is none."""
    if not owner:
        raise NoSkill
    slug = join_slug(_checked(owner), _checked(name))
    found = await find_submission(request, slug)
    if found is None or found.state not in _REFUSED:
        raise NoSkill
    return found


def reference(owned: OwnedName) -> str:
    """Return the argument of `clawhub install`."""
    return f"@{owned.owner}/{owned.name}"


def owner_json(owned: OwnedName) -> dict[str, Any]:
    return {"handle": owned.owner, "displayName": owned.owner, "image": None}


def page_url(request: WebRequest, slug: str, *parts: str, **query: str) -> str:
    return public_address(request) + skill_url(slug, *parts, **query)


def download_url(request: WebRequest, owned: OwnedName, version: str) -> str:
    query = urlencode({"slug": owned.name, "ownerHandle": owned.owner, "version": version})
    return f"{public_address(request)}/api/v1/download?{query}"


def _match(request: WebRequest, owned: OwnedName) -> dict[str, str]:
    return {
        "ownerHandle": owned.owner,
        "slug": owned.name,
        "ref": reference(owned),
        "url": page_url(request, join_slug(owned.owner, owned.name)),
    }


def _checked(text: str) -> str:
    """Refuse text that is not a name, because it would be another part of a slug."""
    text = text.strip().removeprefix("@")
    if not text or "/" in text or len(text) > _MAX_NAME or show(text) != text:
        raise NoSkill
    return text
