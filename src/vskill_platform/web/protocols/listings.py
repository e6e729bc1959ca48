"""Lists of skills for other clients, served from memory with an ETag.

A list of ten thousand skills is built and compressed once after each change of the search index.
Private skills are only in the lists of visitors who may see them.
"""

import asyncio
import gzip
import hashlib
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Any, TypeVar

import msgspec
from litestar import Response
from litestar.status_codes import HTTP_304_NOT_MODIFIED

from vskill_platform.base.lru_cache import LruCache
from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.base.telemetry import get_logger
from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.catalogue.query import ListedSkill, SkillHit, Visible
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.publish.versions.artifact_digests import complete_versions
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.web.http.conditional import is_known
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.protocols.signed_urls import current_window

log = get_logger(__name__)

_ROOM_BYTES = 64 * 1024 * 1024
#: Smaller lists are sent uncompressed.
_COMPRESSED_FROM = 1024
#: Twice as fast as the default level, for an eighth more bytes.
_LEVEL = 3
#: How many skills from an older release get their digests before a list is sent; others are left
#: out.
_COMPLETED_AT_ONCE = 100
#: A block must reach clients at once, so they must revalidate a list before each use.
_ASK_AGAIN = "no-cache"


class Body(msgspec.Struct, frozen=True):
    plain: bytes
    #: Empty if compression is not worth it.
    compressed: bytes
    tag: str

    @property
    def weight(self) -> int:
        return len(self.plain) + len(self.compressed)


class ListScope(msgspec.Struct, frozen=True, kw_only=True):
    """The skills of a list, and the visitor who requests it."""

    #: A namespace or a repo; empty for the whole registry.
    below: str = ""
    visible: Visible
    #: The URL of this registry as the client knows it.
    base: str


Listed = TypeVar("Listed", ListedSkill, SkillHit)
Encode = Callable[[list[ListedSkill]], Awaitable[Any]]


class Listings:
    """The lists of one application."""

    def __init__(self) -> None:
        self._bodies: LruCache[Hashable, Body] = LruCache(
            capacity=_ROOM_BYTES, size_of=lambda body: body.weight
        )
        self._building = asyncio.Lock()
        #: Versions whose digests cannot be computed, because their archive is missing.
        self._hopeless: set[tuple[str, str]] = set()

    async def get(self, catalogue: Catalogue, kind: str, scope: ListScope, encode: Encode) -> Body:
        """Return a list; *encode* converts the skills to the value that is sent as JSON."""
        key = self._key(catalogue, kind, scope)
        if known := self._bodies.get(key):
            return known
        async with self._building:
            # Checked again, because meanwhile the list may have been built or the index may have
            # changed.
            key = self._key(catalogue, kind, scope)
            if known := self._bodies.get(key):
                return known
            skills = await catalogue.list_skills(below=scope.below, visible=scope.visible)
            content = await encode(await self.with_digests(skills))
            body = await in_few_threads(make_body, content)
            self._bodies.keep(key, body)
            return body

    def _key(self, catalogue: Catalogue, kind: str, scope: ListScope) -> Hashable:
        is_public = not (scope.visible.is_all or scope.visible.namespaces)
        # Only lists with private skills contain signed URLs, which expire.
        window = 0 if is_public else current_window(get_now())
        return catalogue.listing_version, window, kind, scope

    async def with_digests(self, skills: list[Listed]) -> list[Listed]:
        """Leave out skills that cannot be installed, and complete some from an older release."""
        installable = [skill for skill in skills if skill.version]
        missing = [skill for skill in installable if self._is_incomplete(skill)]
        completed = {
            skill.slug: await self._complete(skill) for skill in missing[:_COMPLETED_AT_ONCE]
        }
        found = [completed.get(skill.slug, skill) for skill in installable]
        return [skill for skill in found if skill.zip_sha256 and skill.git_commit]

    def _is_incomplete(self, skill: ListedSkill | SkillHit) -> bool:
        has_all = skill.zip_sha256 and skill.git_commit
        return not has_all and (skill.slug, skill.version) not in self._hopeless

    async def _complete(self, skill: Listed) -> Listed:
        for version in await complete_versions(skill.slug):
            if version.version == skill.version:
                return msgspec.structs.replace(
                    skill,
                    zip_sha256=version.zip_sha256 or "",
                    git_commit=version.git_commit or "",
                    plugin_commit=version.plugin_commit,
                )
        self._hopeless.add((skill.slug, skill.version))
        return skill


def make_body(content: Any) -> Body:
    plain = msgspec.json.encode(content)
    tag = f'W/"{hashlib.sha256(plain).hexdigest()[:32]}"'
    compressed = gzip.compress(plain, _LEVEL, mtime=0) if len(plain) > _COMPRESSED_FROM else b""
    return Body(plain, compressed, tag)


async def scope_of(request: WebRequest, below: str = "") -> ListScope:
    visible = await visible_to(visitor_of(request))
    return ListScope(below=below, visible=visible, base=base_url(request))


async def list_response(
    request: WebRequest, kind: str, scope: ListScope, encode: Encode
) -> Response[Any]:
    listings: Listings = request.app.state.listings
    return body_response(request, await listings.get(catalogue_of(request), kind, scope, encode))


def body_response(request: WebRequest, body: Body) -> Response[Any]:
    """Send a list, compressed if the client accepts that; send a 304 if the client has it."""
    headers = {"ETag": body.tag, "Cache-Control": _ASK_AGAIN, "Vary": "Accept-Encoding"}
    if is_known(request.headers.get("if-none-match", ""), body.tag):
        return Response(b"", status_code=HTTP_304_NOT_MODIFIED, headers=headers)
    content = body.plain
    if body.compressed and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        content = body.compressed
    return Response(content, media_type="application/json", headers=headers)


def first_of_each_name(skills: Iterable[ListedSkill]) -> list[ListedSkill]:
    """Return one skill of each name: clients install by name, so another would replace it."""
    found: dict[str, ListedSkill] = {}
    for skill in skills:
        found.setdefault(skill.name, skill)
    return list(found.values())


def listed_version(skill: PublishedSkill, version: SkillVersion) -> ListedSkill:
    """Return the data of lists about one version of a skill."""
    return ListedSkill(
        slug=skill.slug,
        name=skill.name,
        description=skill.description,
        namespace=namespace_of_skill(skill),
        version=version.version,
        license=skill.license,
        tags=skill.tags,
        is_private=skill.is_private,
        zip_sha256=version.zip_sha256 or "",
        git_commit=version.git_commit or "",
        plugin_commit=version.plugin_commit,
    )


def base_url(request: WebRequest) -> str:
    """Return the URL of this registry without a trailing slash."""
    return (get_settings().public_url or str(request.base_url)).rstrip("/")
