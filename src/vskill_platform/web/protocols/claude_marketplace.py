"""Marketplaces of plugins for Claude Code: each skill is a plugin, fetched by its git commit."""

from typing import Any
from urllib.parse import urlsplit

from litestar import Response

from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.catalogue.query import ListedSkill
from vskill_platform.errors import NotFound
from vskill_platform.publish.versions.artifact_digests import PLUGIN_FOLDER, complete_versions
from vskill_platform.publish.versions.find_version import find_version
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.protocols.discovery import describe, parse_reference
from vskill_platform.web.protocols.git.http import git_url
from vskill_platform.web.protocols.listings import (
    base_url,
    body_response,
    list_response,
    listed_version,
    make_body,
    scope_of,
)
from vskill_platform.web.protocols.signed_urls import Signer, find_signer
from vskill_platform.web.skills.client_names import MARKETPLACE, market_name, plugin_name
from vskill_platform.web.skills.pull_through import find_or_mirror

FILE = MARKETPLACE
#: Folder names have at most 255 characters.
_MAX_NAME = 200


async def whole_marketplace(request: WebRequest) -> Response[Any]:
    return await _response(request, below="")


async def namespace_marketplace(request: WebRequest, below: str) -> Response[Any]:
    return await _response(request, below=below)


async def skill_marketplace(request: WebRequest, text: str) -> Response[Any]:
    """A marketplace of one skill."""
    reference = parse_reference(text)
    skill = (await find_or_mirror(request, reference.slug, reference.version)).record
    version = (await find_version(skill.slug, reference.version)).version
    completed = {item.number: item for item in await complete_versions(skill.slug)}
    if version.number not in completed:
        raise NotFound(f"the archive of {skill.slug} {version.version} is no longer stored")
    listed = listed_version(skill, completed[version.number])
    base = base_url(request)
    name = f"{market_name(base)}-skill__{plugin_name(skill.slug)}"
    content = _marketplace(name, base, [listed], await find_signer())
    return body_response(request, make_body(content))


async def _response(request: WebRequest, *, below: str) -> Response[Any]:
    scope = await scope_of(request, below)

    async def encode(skills: list[ListedSkill]) -> Any:
        name, signer = market_name(scope.base, below), await find_signer()
        return await in_few_threads(_marketplace, name, scope.base, skills, signer)

    return await list_response(request, "marketplace", scope, encode)


def _marketplace(name: str, base: str, skills: list[ListedSkill], signer: Signer) -> dict[str, Any]:
    host = urlsplit(base).netloc
    named = [skill for skill in skills if len(plugin_name(skill.slug)) <= _MAX_NAME]
    return {
        "name": name,
        "owner": {"name": host, "url": base},
        "metadata": {"description": f"Verified agent skills of {host}"},
        "plugins": [_plugin(skill, base, signer if skill.is_private else None) for skill in named],
    }


def _plugin(skill: ListedSkill, base: str, signer: Signer | None) -> dict[str, Any]:
    return {
        "name": plugin_name(skill.slug),
        "displayName": skill.name,
        "description": describe(skill),
        "version": skill.version,
        "author": {"name": skill.namespace},
        "homepage": base + skill_url(skill.slug),
        "source": {
            "source": "url",
            "url": base + git_url(skill.slug, signer),
            "sha": skill.plugin_commit or skill.git_commit,
        },
        # The repository is a skill, not a plugin with its own manifest.
        "strict": False,
        "skills": [f"./{PLUGIN_FOLDER}" if skill.plugin_commit else "./"],
    }
