"""Distinguish requests of ClawHub clients from those for our own API.

ClawHub clients send their requests to the origin. Some of their paths are also paths of our API,
with other fields: `/api/v1/skills`, `/api/v1/skills/NAME` and the versions below it. Only this
module distinguishes them. Requests of ClawHub clients get the prefix `/clawhub`, which all of its
routes have. For a client that uses `https://HOST/clawhub` as its registry, this is unnecessary. See
docs/decisions/0026-clawhub-shares-our-paths.md.
"""

import re
from urllib.parse import parse_qs, quote

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from vskill_platform.web.http.requests import CLAWHUB
from vskill_platform.web.skills.slugs import NOT_SLUGS

#: One segment that can be a name; our slugs start with @ or have more segments.
_NAME = rf"(?!@)(?!(?:{'|'.join(sorted(NOT_SLUGS))})(?:/|$))[^/]+"
_VERSION = r"\d+\.\d+\.\d+"
#: Requests that our API does not have.
_OWN = re.compile(
    rf"""
    GET \ /api/v1/ (?: search | resolve | download | trending | whoami )
    | (?: GET | POST ) \ /api/v1/ (?: publish | transfers )/ .*
    | (?: POST | DELETE ) \ /api/v1/ (?: publishers | stars ) (?: /.* )?
    | (?: GET | POST | DELETE ) \ /api/v1/
      (?! packages/ .+ / (?: history | latest ) $ )
      (?: packages | code-plugins | bundle-plugins | promotions | skills-sh ) (?: /.* )?
    | POST \ /api/cli/telemetry/install
    | POST \ /api/v1/skills
    | (?: GET | POST ) \ /api/v1/skills/-/ .*
    | GET \ /api/v1/skills/{_NAME}/ (?: card | file | install | moderation | verify )
    | POST \ /api/v1/skills/{_NAME}/ (?: merge | rename | report | transfer | undelete )
    | POST \ /api/v1/skills/{_NAME}/ (?: tags | transfer )/ [^/]+
    | DELETE \ /api/v1/skills/{_NAME} (?: /versions/{_VERSION} )?
    | POST \ /api/v1/skills/{_NAME}/versions/{_VERSION}/restore
    """,
    re.VERBOSE,
)
#: Requests that both APIs have, with different responses.
_SHARED = re.compile(rf"GET /api/v1/skills(/{_NAME}(/versions(/{_VERSION})?)?)?")
#: ClawHub clients run on Node.js and send its default User-Agent; the vskill client sends its own.
_NODE = re.compile(r"(node|undici|bun|deno)\b", re.IGNORECASE)
#: Parameters of lists that only our API has.
_OUR_FILTERS = frozenset({"agent", "facets", "namespace", "page", "q", "tag", "tier"})


class ClawHubPaths:
    """Middleware that moves ClawHub's requests to its routes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP and is_clawhub(scope):
            path = CLAWHUB + scope["path"].removeprefix("/")
            scope["path"], scope["raw_path"] = path, quote(path).encode()
        await self._app(scope, receive, send)


def is_clawhub(scope: Scope) -> bool:
    """Return whether a request comes from a ClawHub client."""
    method = str(scope.get("method", ""))
    line = f"{'GET' if method == 'HEAD' else method} {scope['path']}"
    if _OWN.fullmatch(line):
        return True
    shared = _SHARED.fullmatch(line)
    if shared is None:
        return False
    asked = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    is_list = shared[1] is None
    if is_list and not _OUR_FILTERS.isdisjoint(asked):
        return False
    # Only ClawHub clients send these parameters; without them, the User-Agent decides.
    return ("prefix" if is_list else "ownerHandle") in asked or _runs_on_node(scope)


def _runs_on_node(scope: Scope) -> bool:
    agent = next((value for name, value in scope["headers"] if name.lower() == b"user-agent"), b"")
    return _NODE.match(agent.decode("latin-1")) is not None
