"""Find the skill that a path names.

`/skills/ada/notes/tidy/files/a.py` and `/api/v1/skills/ada/notes/tidy/versions` are about the skill
`ada/notes/tidy`. Slugs have up to four segments and a skill may be called `files`, so the path
alone does not show where the slug ends. The slug is the longest one that exists and that the
visitor may see.
"""

from collections.abc import Container, Iterator
from urllib.parse import quote, unquote

import msgspec
from litestar.types import ASGIApp, Receive, Scope, Send

from vskill_platform.access.visibility import can_see_skill, find_visible_skill
from vskill_platform.base.show_text import show
from vskill_platform.catalogue.query import SkillHit, SkillQuery
from vskill_platform.errors import InvalidInput, NotFound, SkillTakenDown
from vskill_platform.model.mirror import is_mirrored
from vskill_platform.model.rights import Visitor
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.web.http.requests import WebConnection, WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_in, visitor_of
from vskill_platform.web.skills.pull_through import find_or_mirror

#: Parts of a skill's page, and whether the path of a file follows.
_PAGE_PARTS = {
    "files": True,
    "raw": True,
    "versions": False,
    "diff": False,
    "download": False,
    "security": False,
    "badge.svg": False,
}
_API_PREFIX = "/api/v1/skills/"
#: The prefix of the id of a skill in requests of the original client, before the slug.
SKILL_ID = "sk_published_"
#: What may follow a slug in the API.
API_PARTS = frozenset(
    {
        "badge", "delete", "deletion", "deprecate", "download", "files", "installs", "move",
        "register-tracking", "repo-health", "rescan", "security", "undeprecate", "unyank",
        "versions", "visibility", "yank",
    }
)  # fmt: skip
#: API paths that are not slugs.
NOT_SLUGS = frozenset(
    {
        "check-source",
        "check-updates",
        "installs",
        "lookup-by-name",
        "search",
        "stream",
        "stream/subscribe",
        "suggest",
    }
)
_LONGEST, _SHORTEST = 4, 2
#: Longest slug.
_MAX_SLUG = 400
#: Three numbers of up to thirty digits.
_MAX_VERSION = 100
#: How many skills with the same name are considered.
_MAX_NAMESAKES = 30
#: How many of these an error names.
_MAX_NAMED = 10


class SkillPath(msgspec.Struct, frozen=True, kw_only=True):
    slug: str
    #: One of the parts of a skill's page; empty for the page itself.
    part: str = ""
    #: The path of a file; empty for none.
    path: str = ""


class SlugPaths:
    """Middleware that joins the segments of a slug in API paths to one, for the router."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if path.startswith(_API_PREFIX):
            rest = path.removeprefix(_API_PREFIX)
            if rest and rest not in NOT_SLUGS and len(rest) <= _MAX_SLUG:
                joined = _API_PREFIX + await _join(rest.strip("/").split("/"), visitor_in(scope))
                scope["path"] = joined
                scope["raw_path"] = quote(joined).encode()
        await self._app(scope, receive, send)


def slug_of(segment: str) -> str:
    """Return the slug from the path segment that `SlugPaths` made."""
    return unquote(segment)


def possible_paths(address: str) -> list[SkillPath]:
    """Return the possible meanings of a page's path, longest slug first."""
    words = address.strip("/").split("/")
    return [
        SkillPath(slug="/".join(slug), part=rest[0] if rest else "", path="/".join(rest[1:]))
        for slug, rest in _splits(words, _PAGE_PARTS, shortest=_SHORTEST)
        if all(slug) and _can_be_a_slug("/".join(slug)) and (not rest[1:] or _PAGE_PARTS[rest[0]])
    ]


async def find_path(request: WebRequest, address: str) -> tuple[SkillPath, PublishedSkill | None]:
    """Return the meaning of a page's path, with the skill if this visitor may see one."""
    paths = possible_paths(address)
    for path in paths:
        if skill := await _find_visible(visitor_of(request), path.slug):
            return path, skill
    if not paths:
        asked = show(address.strip("/"), limit=100)
        raise NotFound(f"there is no skill {asked}", look_for=asked.rsplit("/", 1)[-1])
    return paths[-1], None


def requested_version(request: WebRequest, name: str = "version") -> str | None:
    """Return the version in the query; None if there is none."""
    text = request.query_params.get(name) or None
    if text and (len(text) > _MAX_VERSION or not text.isprintable()):
        raise NotFound(f"there is no version {show(text, limit=_MAX_VERSION)}")
    return text


async def find_skill(connection: WebConnection, name: str) -> PublishedSkill:
    """Return the skill with this slug, or with this name if there is only one."""
    visitor = visitor_of(connection)
    if "/" in name:
        return (await find_visible_skill(visitor, name)).record
    same = await find_namesakes(connection, name)
    if not same:
        raise NotFound(f"there is no skill {name!r}")
    if len(same) > 1:
        some = ", ".join(hit.slug for hit in same[:_MAX_NAMED])
        more = f" and {len(same) - _MAX_NAMED} more" if len(same) > _MAX_NAMED else ""
        raise NotFound(f"several skills are called {name!r}: {some}{more}; use the full slug")
    return (await find_visible_skill(visitor, same[0].slug)).record


async def find_successor(visitor: Visitor, skill: PublishedSkill, slug: str) -> str:
    """Return the current slug of the skill to use instead of *skill*; empty for none.

    A link from a public skill to a private one would reveal the private one.
    """
    if not slug.strip():
        return ""
    found = (await find_visible_skill(visitor, slug.strip())).record
    if found.slug == skill.slug:
        raise InvalidInput("a deprecated skill cannot point to itself; name another skill")
    if found.is_private and not skill.is_private:
        raise InvalidInput(f"{found.slug} is private, so a public skill cannot point to it")
    return found.slug


async def find_namesakes(connection: WebConnection, name: str) -> list[SkillHit]:
    """Return the skills with this name that the visitor sees."""
    visible = await visible_to(visitor_of(connection))
    query = SkillQuery(text=name, limit=_MAX_NAMESAKES, visible=visible)
    hits = (await catalogue_of(connection).search_skills(query)).hits
    return [hit for hit in hits if hit.name == name]


async def find_listed(
    connection: WebConnection, segment: str, version: str | None = None
) -> PublishedSkill:
    """Return the skill of a path segment; raise NotFound with the reason if it was taken down.

    A skill of a mirror, or a *version* of it, is fetched if it is not here.
    """
    slug = slug_of(segment)
    if is_mirrored(slug):
        skill = (await find_or_mirror(connection, slug, version)).record
    else:
        skill = await find_skill(connection, slug)
    if skill.down:
        raise SkillTakenDown(f"{skill.slug} was taken down: {skill.down.reason}")
    return skill


def _splits(
    words: list[str], parts: Container[str], *, shortest: int
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the ways to read a path as slug and rest, the longest slug first."""
    for length in range(min(_LONGEST, len(words)), shortest - 1, -1):
        if not words[length:] or words[length] in parts:
            yield words[:length], words[length:]


async def _find_visible(visitor: Visitor, slug: str) -> PublishedSkill | None:
    stored = await get_skill(await resolve_slug(slug))
    return stored.record if stored and await can_see_skill(visitor, stored.record) else None


async def _join(words: list[str], visitor: Visitor) -> str:
    ways = list(_splits(words, API_PARTS, shortest=1))
    for slug, rest in ways[:-1]:  # the shortest is the remaining possibility
        if await _find_visible(visitor, "/".join(slug)):
            return _as_path(slug, rest)
    return _as_path(*ways[-1]) if ways else "/".join(words)


def _as_path(slug: list[str], rest: list[str]) -> str:
    return "/".join([quote("/".join(slug), safe="@"), *rest])


def _can_be_a_slug(text: str) -> bool:
    return len(text) <= _MAX_SLUG and text.isprintable()
