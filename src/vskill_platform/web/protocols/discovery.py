"""Agent-skills discovery 0.2, and 0.1 for older clients: what can be installed from a URL.

Clients download everything in an index before the user chooses. So the index of the whole registry
is short, and every namespace and every skill has its own index.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from litestar import Response
from litestar.params import FromPath

from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.base.settle import settle
from vskill_platform.catalogue.query import ListedSkill, SkillHit, SkillQuery, SkillSort
from vskill_platform.errors import NotFound
from vskill_platform.model.skill import SkillVersion, parse_version
from vskill_platform.publish.versions.artifact_digests import complete_versions
from vskill_platform.publish.versions.find_version import FoundVersion, find_version
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.skill_store import get_latest_version
from vskill_platform.web.http.middleware import IS_HEAD
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.protocols.artifacts import artifact_url
from vskill_platform.web.protocols.listings import (
    Listings,
    body_response,
    first_of_each_name,
    list_response,
    listed_version,
    make_body,
    scope_of,
)
from vskill_platform.web.protocols.signed_urls import Signer, find_signer
from vskill_platform.web.skills.client_names import is_discoverable
from vskill_platform.web.skills.downloads import skill_raw_file
from vskill_platform.web.skills.installs import count_download
from vskill_platform.web.skills.open_skill import OpenSkill
from vskill_platform.web.skills.pull_through import find_or_mirror

INDEX = ".well-known/agent-skills/index.json"
LEGACY = ".well-known/skills/"
LEGACY_INDEX = f"{LEGACY}index.json"
_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
#: In UTF-16 code units, which clients count.
_MAX_DESCRIPTION = 1024
#: An index of 0.1 lists every file, and clients download them one by one.
_MAX_LEGACY = 200
_READS_AT_ONCE = 20
#: How many skills with the same name are considered.
_MAX_NAMESAKES = 200


class Reference(msgspec.Struct, frozen=True):
    """A skill in a URL: `@acme/demo`, `@acme/demo@1.0.0`, or `@acme/demo@demo`."""

    slug: str
    version: str | None = None


def parse_reference(text: str) -> Reference:
    """Parse a skill with an optional version.

    `skills find` prints the URL of a skill with its name after an @, which must also work.
    """
    namespace, _, name = text.rpartition("/")
    name, _, detail = name.partition("@")
    slug = f"{namespace}/{name}"
    if not detail or detail == name:
        return Reference(slug)
    if parse_version(detail) is None:
        raise NotFound(f"there is no published skill {text!r}")
    return Reference(slug, detail)


async def root_index(request: WebRequest) -> Response[Any]:
    """List the most installed skills of the registry."""
    chosen = await _most_installed(request)
    return body_response(request, make_body(_index(chosen, await find_signer())))


async def namespace_index(request: WebRequest, below: str) -> Response[Any]:
    async def encode(skills: list[ListedSkill]) -> Any:
        return await in_few_threads(_index, _listable(skills), await find_signer())

    return await list_response(request, "discovery", await scope_of(request, below), encode)


async def skill_index(request: WebRequest, text: str) -> Response[Any]:
    """List one skill, at its latest version or at the version in the URL."""
    found = await _find(request, text)
    digest = found.version.zip_sha256 or await _complete(found.version)
    version = msgspec.structs.replace(found.version, zip_sha256=digest)
    listed = listed_version(found.skill, version)
    return body_response(request, make_body(_index([listed], await find_signer())))


async def legacy_root_index(request: WebRequest) -> Response[Any]:
    entries = await _legacy_entries(await _most_installed(request))
    return body_response(request, make_body({"skills": entries}))


async def legacy_namespace_index(request: WebRequest, below: str) -> Response[Any]:
    async def encode(skills: list[ListedSkill]) -> Any:
        return {"skills": await _legacy_entries(_listable(skills)[:_MAX_LEGACY])}

    return await list_response(request, "legacy", await scope_of(request, below), encode)


async def legacy_skill_index(request: WebRequest, text: str) -> Response[Any]:
    found = await _find(request, text)
    entry = _legacy_entry(found.skill.name, found.skill.description, found.version)
    return body_response(request, make_body({"skills": [entry] if entry else []}))


async def legacy_root_file(request: WebRequest, address: FromPath[str]) -> Response[Any]:
    name, path = _file_of(LEGACY + address.lstrip("/"))
    slugs = [hit.slug for hit in await _most_installed(request) if hit.name == name]
    return await _send_file(request, slugs[0] if slugs else "", path)


async def legacy_namespace_file(request: WebRequest, below: str, file: str) -> Response[Any]:
    name, path = _file_of(file)
    query = SkillQuery(
        text=name, limit=_MAX_NAMESAKES, visible=await visible_to(visitor_of(request))
    )
    hits = (await catalogue_of(request).search_skills(query)).hits
    slugs = [
        hit.slug for hit in hits if hit.name == name and hit.slug.startswith(f"{below}/")
    ]  # fmt: skip
    return await _send_file(request, min(slugs, default=""), path)


async def legacy_skill_file(request: WebRequest, text: str, file: str) -> Response[Any]:
    name, path = _file_of(file)
    found = await _find(request, text)
    if found.skill.name != name:
        raise NotFound(f"there is no skill {name!r} here")
    return await _send_file(request, text, path)


def _file_of(file: str) -> tuple[str, str]:
    """Return the skill's name and the path of the file."""
    name, _, path = file.removeprefix(LEGACY).partition("/")
    return name, path


async def _send_file(request: WebRequest, reference: str, path: str) -> Response[Any]:
    if not reference:
        raise NotFound("there is no such skill here")
    found = await _find(request, reference)
    response = await skill_raw_file(request, OpenSkill(found=found, path=path))
    if path == "SKILL.md" and IS_HEAD not in request.scope:
        await count_download(request, found.skill.slug)
    return response


async def _find(request: WebRequest, text: str) -> FoundVersion:
    """Return the version in a URL, if this visitor may see it."""
    reference = parse_reference(text)
    skill = (await find_or_mirror(request, reference.slug, reference.version)).record
    if not is_discoverable(skill.name):
        raise NotFound(f"{skill.slug} has a name that this protocol does not allow")
    return await find_version(skill.slug, reference.version)


async def _complete(version: SkillVersion) -> str:
    """Return the digest of a version from an older release."""
    for completed in await complete_versions(version.slug):
        if completed.number == version.number:
            return completed.zip_sha256 or ""
    raise NotFound(f"the archive of {version.slug} {version.version} is no longer stored")


async def _most_installed(request: WebRequest) -> list[SkillHit]:
    most = get_settings().discovery_skills
    if not most:
        raise NotFound("this registry has no list of all skills: use /s/SLUG or /n/NAMESPACE")
    query = SkillQuery(
        sort=SkillSort.INSTALLS, limit=2 * most, visible=await visible_to(visitor_of(request))
    )
    hits = (await catalogue_of(request).search_skills(query)).hits
    listings: Listings = request.app.state.listings
    return _listable(await listings.with_digests(hits))[:most]


def _listable(skills: Iterable[Any]) -> list[Any]:
    return first_of_each_name(skill for skill in skills if is_discoverable(skill.name))


def _index(skills: Sequence[ListedSkill | SkillHit], signer: Signer) -> dict[str, Any]:
    entries = [
        {
            "name": skill.name,
            "type": "archive",
            "description": describe(skill),
            "url": artifact_url(skill.slug, skill.version, signer if skill.is_private else None),
            "digest": f"sha256:{skill.zip_sha256}",
        }
        for skill in skills
    ]
    return {"$schema": _SCHEMA, "skills": entries}


def describe(skill: ListedSkill | SkillHit) -> str:
    """Return the description, cut to the length that clients accept."""
    text = skill.description.strip() or skill.name
    wide = text.encode("utf-16-le", "replace")[: 2 * _MAX_DESCRIPTION]
    return wide.decode("utf-16-le", "ignore")


async def _legacy_entries(skills: Iterable[Any]) -> list[dict[str, Any]]:
    listed = list(skills)
    versions = await settle(
        get_latest_version, [skill.slug for skill in listed], at_once=_READS_AT_ONCE
    )
    entries = []
    for skill, version in zip(listed, versions, strict=True):
        if isinstance(version, Exception):
            raise version
        entry = _legacy_entry(skill.name, describe(skill), version) if version else None
        if entry:
            entries.append(entry)
    return entries


def _legacy_entry(name: str, description: str, version: SkillVersion) -> dict[str, Any] | None:
    """Return an entry of 0.1; None if clients would refuse the whole index because of it."""
    paths = [file.path for file in version.files]
    if any(".." in path for path in paths) or "SKILL.md" not in paths:
        return None
    return {"name": name, "description": description or name, "files": paths}
