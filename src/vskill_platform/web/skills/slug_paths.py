"""Slugs in the API's addresses: as many parts as they have, made one for the routing.

`/api/v1/skills/ada/notes/tidy/versions` is about the skill `ada/notes/tidy`. Slugs have one to
four parts and anybody may call a skill `versions`, so the longest slug that exists is meant.
"""

from urllib.parse import quote, unquote

from litestar.types import ASGIApp, Receive, Scope, Send

from vskill_platform.access.visibility import sees_skill
from vskill_platform.model.rights import Visitor
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.web.http.visitor import visitor_in

_PREFIX = "/api/v1/skills/"
#: What may follow a slug.
PARTS = frozenset(
    {
        "badge", "download", "files", "installs", "repo-health", "security", "unyank", "versions",
        "visibility", "yank",
    }
)  # fmt: skip
#: What stands where a slug could, and is none.
_NO_SLUGS = frozenset({"check-updates", "installs", "search", "suggest"})
_LONGEST = 4
_MAX_LENGTH = 400


class SlugPaths:
    """Stands before the routing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if path.startswith(_PREFIX):
            rest = path.removeprefix(_PREFIX)
            if rest and rest not in _NO_SLUGS and len(rest) <= _MAX_LENGTH:
                joined = _PREFIX + await _join(rest.strip("/").split("/"), visitor_in(scope))
                scope["path"] = joined
                scope["raw_path"] = quote(joined).encode()
        await self._app(scope, receive, send)


def slug_of(segment: str) -> str:
    """Return the slug that a handler got as one part of its address."""
    return unquote(segment)


async def _join(words: list[str], visitor: Visitor) -> str:
    """Join the parts of the slug; one that this visitor may not see does not exist."""
    ways = [
        (words[:length], words[length:])
        for length in range(min(_LONGEST, len(words)), 0, -1)
        if not words[length:] or words[length] in PARTS
    ]
    for slug, rest in ways[:-1]:  # the last needs no look: it is what remains
        stored = await get_skill(await resolve_slug("/".join(slug)))
        if stored and await sees_skill(visitor, stored.record):
            return _as_path(slug, rest)
    return _as_path(*ways[-1]) if ways else "/".join(words)


def _as_path(slug: list[str], rest: list[str]) -> str:
    return "/".join([quote("/".join(slug), safe="@"), *rest])
