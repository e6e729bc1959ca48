"""Files below a scope: `/s/{slug}` for a skill, `/n/{namespace}` for a namespace or a repo, a zip.

Clients append the path of a well-known file to a given URL. A scope contains slashes, so such a
path is split where the well-known file begins.
"""

import re
from typing import Any

from litestar import Response
from litestar.params import FromPath, FromQuery
from litestar.response import Redirect

from vskill_platform.errors import NotFound
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.protocols import artifacts, claude_marketplace, discovery

_FILE = re.compile(r"/(?=\.well-known/|\.claude-plugin/)")
#: Longest slug or namespace.
_MAX_SCOPE = 500


async def skill_scope(request: WebRequest, address: FromPath[str]) -> Response[Any]:
    """Respond to requests of clients below the URL of a skill; redirect a browser to its page."""
    scope, file = _split(address)
    if not file:
        return Redirect(skill_url(discovery.parse_reference(scope).slug))
    if file == discovery.INDEX:
        return await discovery.skill_index(request, scope)
    if file == discovery.LEGACY_INDEX:
        return await discovery.legacy_skill_index(request, scope)
    if file.startswith(discovery.LEGACY):
        return await discovery.legacy_skill_file(request, scope, file)
    if file == claude_marketplace.FILE:
        return await claude_marketplace.skill_marketplace(request, scope)
    raise NotFound("there is no page at this address")


async def namespace_scope(request: WebRequest, address: FromPath[str]) -> Response[Any]:
    """Respond to requests of clients below the URL of a namespace or a repo."""
    scope, file = _split(address)
    if file == discovery.INDEX:
        return await discovery.namespace_index(request, scope)
    if file == discovery.LEGACY_INDEX:
        return await discovery.legacy_namespace_index(request, scope)
    if file.startswith(discovery.LEGACY):
        return await discovery.legacy_namespace_file(request, scope, file)
    if file == claude_marketplace.FILE:
        return await claude_marketplace.namespace_marketplace(request, scope)
    raise NotFound("there is no page at this address")


async def artifact_scope(
    request: WebRequest, address: FromPath[str], signature: FromQuery[str] = ""
) -> Response[Any]:
    """Send a zip. Clients with its URL first look for an index below it."""
    scope, file = _split(address)
    if not file:
        return await artifacts.send_artifact(request, scope, signature)
    if file == discovery.INDEX:
        slug, version = artifacts.parse_artifact(scope)
        return await discovery.skill_index(request, f"{slug}@{version}")
    raise NotFound("there is no page at this address")


def _split(address: str) -> tuple[str, str]:
    """Return the scope, and the file below it; an empty string if there is none."""
    scope, *file = _FILE.split(address, maxsplit=1)
    scope = scope.strip("/")
    if not scope or len(scope) > _MAX_SCOPE or not scope.isprintable():
        raise NotFound("there is no page at this address")
    return scope, file[0] if file else ""
