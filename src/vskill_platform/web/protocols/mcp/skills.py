"""Skills over MCP (extension io.modelcontextprotocol/skills): entries, files and folders.

This serves the latest version of each skill, except skills that exceed the limits of the extension.
"""

import base64
import mimetypes
import posixpath
from typing import Any, NamedTuple

import msgspec

from vskill_platform.base.lru_cache import LruCache
from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.base.settle import settle
from vskill_platform.base.show_text import show
from vskill_platform.catalogue.query import SkillHit, SkillQuery, SkillSort
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.publish.versions.find_version import find_version
from vskill_platform.publish.versions.version_files import read_file
from vskill_platform.scan.read.frontmatter import FrontmatterError, frontmatter_as_json
from vskill_platform.scan.read.manifest import MANIFEST
from vskill_platform.web.http.list_cursors import next_cursor, start_at
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.protocols.mcp.results import LIST_TTL_MS, complete
from vskill_platform.web.skills.client_names import path_of_uri, skill_uri
from vskill_platform.web.skills.installs import count_download
from vskill_platform.web.skills.pull_through import find_or_mirror

#: The limits of the extension.
MAX_FILES = 512
MAX_BYTES = 16 * 1024 * 1024
#: How many entries one page of a list has.
PAGE_SIZE = 100
_AT_ONCE = 8
_MAX_URI = 2_000
_ROOM_BYTES = 32 * 1024 * 1024
_DIRECTORY = "inode/directory"
_MARKDOWN, _TEXT, _BYTES = "text/markdown", "text/plain", "application/octet-stream"

#: Encoded entries by slug and digest.
_recent: LruCache[tuple[str, str], bytes] = LruCache(capacity=_ROOM_BYTES, size_of=len)


class _Found(NamedTuple):
    skill: PublishedSkill
    version: SkillVersion
    #: The rest of the URI: a file, a folder, or empty.
    path: str


class _Page(NamedTuple):
    hits: list[SkillHit]
    entries: list[msgspec.Raw]
    cursor: str | None


async def list_skills(request: WebRequest, params: dict[str, Any]) -> dict[str, Any]:
    page = await _read_page(request, params)
    return complete({"skills": page.entries, **_next(page)}, request=request)


async def get_skill(request: WebRequest, params: dict[str, Any]) -> dict[str, Any]:
    found = await _find(request, params)
    if found.path != MANIFEST:
        raise NotFound(f"no skill is served at {_shown(params)}")
    entry = await _entry(found.skill.slug, found.version)
    return complete({"skill": entry}, request=request)


async def list_resources(request: WebRequest, params: dict[str, Any]) -> dict[str, Any]:
    """List the SKILL.md of every skill; other files are listed in the entries of skills."""
    page = await _read_page(request, params)
    resources = [
        {
            "uri": skill_uri(hit.slug),
            "name": hit.name,
            "description": hit.description,
            "mimeType": _MARKDOWN,
        }
        for hit in page.hits
    ]
    return complete({"resources": resources, **_next(page)}, request=request)


async def list_templates(request: WebRequest, _: dict[str, Any]) -> dict[str, Any]:
    return complete({"resourceTemplates": []}, ttl_ms=LIST_TTL_MS, request=request)


async def read_resource(request: WebRequest, params: dict[str, Any]) -> dict[str, Any]:
    """Read a file; loading a SKILL.md counts as an install."""
    found = await _find(request, params)
    uri = skill_uri(found.skill.slug, found.path)
    if all(file.path != found.path for file in found.version.files):
        raise NotFound(f"{uri} is not a file of this skill")
    raw = await read_file(found.version, found.path)
    if found.path == MANIFEST:
        await count_download(request, found.skill.slug)
    return complete({"contents": [{"uri": params["uri"], **_content(found.path, raw)}]},
                    request=request)  # fmt: skip


async def read_directory(request: WebRequest, params: dict[str, Any]) -> dict[str, Any]:
    found = await _find(request, params)
    prefix = f"{found.path}/" if found.path else ""
    below = [
        file.path.removeprefix(prefix)
        for file in found.version.files
        if file.path.startswith(prefix)
    ]
    if not below:
        raise NotFound(f"{_shown(params)} is not a folder of this skill")
    names = {rest.partition("/")[0]: "/" in rest for rest in below}
    children = [
        {
            "uri": skill_uri(found.skill.slug, prefix + name),
            "name": name,
            "mimeType": _DIRECTORY if is_folder else _media_type(name, is_text=True),
        }
        for name, is_folder in sorted(names.items())
    ]
    return complete({"resources": children}, request=request)


async def _read_page(request: WebRequest, params: dict[str, Any]) -> _Page:
    cursor = params.get("cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise InvalidInput("invalid cursor; use nextCursor of the previous response")
    query = SkillQuery(
        sort=SkillSort.NAME,
        limit=PAGE_SIZE,
        visible=await visible_to(visitor_of(request)),
        **start_at(cursor),
    )
    found = await catalogue_of(request).search_skills(query)
    entries = await settle(_listed_entry, found.hits, at_once=_AT_ONCE)
    served = [
        (hit, entry) for hit, entry in zip(found.hits, entries, strict=True) if _is_served(entry)
    ]
    return _Page(
        [hit for hit, _ in served],
        [entry for _, entry in served if isinstance(entry, msgspec.Raw)],
        next_cursor(found),
    )


def _is_served(entry: msgspec.Raw | Exception) -> bool:
    """Return whether a skill is part of the list; an outage is an error, never a shorter list."""
    if isinstance(entry, Exception) and not isinstance(entry, NotFound | NotAllowed):
        raise entry
    return isinstance(entry, msgspec.Raw)


async def _listed_entry(hit: SkillHit) -> msgspec.Raw:
    return await _entry(hit.slug, (await find_version(hit.slug)).version)


def _next(page: _Page) -> dict[str, str]:
    return {"nextCursor": page.cursor} if page.cursor else {}


async def _find(request: WebRequest, params: dict[str, Any]) -> _Found:
    """Return the skill of a URI, which is the longest visible slug in it, and the path after it."""
    uri = params.get("uri")
    path = path_of_uri(uri) if isinstance(uri, str) and len(uri) <= _MAX_URI else None
    if path is None:
        raise InvalidInput(
            f"{_shown(params)} is not a URI such as skill://owner/repo/skill/SKILL.md"
        )
    parts = path.split("/")
    for length in (2,) if path.startswith("@") else (4, 3):
        slug = "/".join(parts[:length])
        try:
            skill = (await find_or_mirror(request, slug)).record
        except NotFound:
            continue
        if skill.slug != slug:
            raise NotFound(f"{slug} has moved to {skill_uri(skill.slug)}")
        version = (await find_version(slug)).version
        check_limits(version)
        return _Found(skill, version, "/".join(parts[length:]))
    raise NotFound(f"no skill is served at {_shown(params)}")


def check_limits(version: SkillVersion) -> None:
    size = sum(file.size for file in version.files)
    if len(version.files) > MAX_FILES or size > MAX_BYTES:
        raise NotFound(
            f"{version.slug} has {len(version.files):,} files and {size:,} bytes; over MCP a skill "
            f"has at most {MAX_FILES:,} files and {MAX_BYTES:,} bytes"
        )


async def _entry(slug: str, version: SkillVersion) -> msgspec.Raw:
    """Return the entry of a version; raise NotFound if it cannot be served over MCP."""
    kept = _recent.get((slug, version.digest))
    if kept is None:
        check_limits(version)
        raw = await read_file(version, MANIFEST)
        kept = await in_few_threads(_encode_entry, slug, version, raw)
        _recent.keep((slug, version.digest), kept)
    return msgspec.Raw(kept)


def _encode_entry(slug: str, version: SkillVersion, raw: bytes) -> bytes:
    try:
        frontmatter = frontmatter_as_json(raw.decode())
    except (FrontmatterError, UnicodeDecodeError) as error:
        raise NotFound(f"the SKILL.md of {slug} cannot be read: {error}") from error
    if frontmatter.get("name") != posixpath.basename(slug):
        raise NotFound(f"the SKILL.md of {slug} has another name")
    resources = [
        {"uri": skill_uri(slug, file.path), "digest": f"sha256:{file.sha256}", "size": file.size}
        for file in version.files
    ]
    entry = {"uri": skill_uri(slug), "frontmatter": frontmatter, "resources": resources}
    return msgspec.json.encode(entry)


def _content(path: str, raw: bytes) -> dict[str, str]:
    """Return the content so that the client gets exactly these bytes."""
    try:
        return {"mimeType": _media_type(path, is_text=True), "text": raw.decode()}
    except UnicodeDecodeError:
        kind = _media_type(path, is_text=False)
        return {"mimeType": kind, "blob": base64.b64encode(raw).decode()}


def _media_type(path: str, *, is_text: bool) -> str:
    if path.endswith(".md"):
        return _MARKDOWN
    return mimetypes.guess_type(path)[0] or (_TEXT if is_text else _BYTES)


def _shown(params: dict[str, Any]) -> str:
    return show(str(params.get("uri", "(no uri)")), limit=200)
