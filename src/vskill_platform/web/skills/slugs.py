"""Which skill an address is about, and which part of it.

Slugs have two to four parts and anybody may call a skill `files`, so the address alone does not
say where the slug ends: the longest one that exists is meant.
"""

from typing import Any

import msgspec
from litestar import Request

from vskill_platform.access.visibility import sees_skill
from vskill_platform.base.show_text import show
from vskill_platform.errors import NotFound
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.web.http.visitor import visitor_of

PageRequest = Request[Any, Any, Any]

#: Parts of a skill's page, and whether the path of a file follows.
PARTS = {
    "files": True,
    "raw": True,
    "versions": False,
    "diff": False,
    "download": False,
    "security": False,
    "badge.svg": False,
}
_LONGEST, _SHORTEST = 4, 2
#: No slug is longer, so what is asks for nothing.
_MAX_SLUG = 400
#: Three numbers of up to thirty digits.
_MAX_VERSION = 100


class Place(msgspec.Struct, frozen=True, kw_only=True):
    slug: str
    #: One of PARTS; empty for the page itself.
    part: str = ""
    #: The path of a file; empty for none.
    path: str = ""


def possible_places(address: str) -> list[Place]:
    """Return what an address can mean, the longest slug first."""
    words = address.strip("/").split("/")
    places = []
    for length in range(_LONGEST, _SHORTEST - 1, -1):
        slug, rest = "/".join(words[:length]), words[length:]
        if len(words) < length or not all(words[:length]) or not _can_be_a_slug(slug):
            continue
        if not rest:
            places.append(Place(slug=slug))
        elif rest[0] in PARTS and (len(rest) == 1 or PARTS[rest[0]]):
            places.append(Place(slug=slug, part=rest[0], path="/".join(rest[1:])))
    return places


def _can_be_a_slug(text: str) -> bool:
    return len(text) <= _MAX_SLUG and text.isprintable()


def asked_version(request: PageRequest, name: str = "version") -> str | None:
    """Return the version that an address names; None if it names none."""
    text = request.query_params.get(name) or None
    if text and (len(text) > _MAX_VERSION or not text.isprintable()):
        raise NotFound(f"there is no version {show(text, limit=_MAX_VERSION)}")
    return text


async def find_place(request: PageRequest, address: str) -> tuple[Place, PublishedSkill | None]:
    """Return what is meant, with the skill if there is one that this visitor may see."""
    places = possible_places(address)
    for place in places:
        stored = await get_skill(await resolve_slug(place.slug))
        if stored and await sees_skill(visitor_of(request), stored.record):
            return place, stored.record
    if not places:
        asked = show(address.strip("/"), limit=100)
        raise NotFound(f"there is no skill {asked}", look_for=asked.rsplit("/", 1)[-1])
    return places[-1], None
