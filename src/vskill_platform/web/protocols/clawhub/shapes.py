"""Skills and versions in ClawHub's JSON."""

from typing import Any

from vskill_platform.catalogue.query import SkillHit
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.model.submission import Submission
from vskill_platform.stores.install_store import get_installs
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.protocols.clawhub.find import owner_json, page_url, reference
from vskill_platform.web.protocols.clawhub.trust import assess_refused, millis, moderation_json
from vskill_platform.web.skills.clawhub_names import split_slug

Object = dict[str, Any]
LATEST = "latest"
#: The only license that clients know; other licenses are sent as null.
_KNOWN_LICENSE = "MIT-0"


def result_json(request: WebRequest, place: int, hit: SkillHit) -> Object:
    """Return a search result; clients ignore results without source and owner."""
    owned = split_slug(hit.slug)
    publisher = {"kind": "user", "official": False, **owner_json(owned)}
    updated = millis(hit.updated_at)
    return {
        "id": hit.slug,
        "source": "clawhub",
        "slug": owned.name,
        "ownerHandle": owned.owner,
        "displayName": hit.name,
        "summary": hit.description,
        "version": hit.version or None,
        # Clients require a number; the order is that of the registry.
        "score": 1 / (1 + place),
        "downloads": hit.installs,
        "updatedAt": updated,
        "owner": owner_json(owned),
        "publisher": publisher,
        "canonicalUrl": page_url(request, hit.slug),
        "install": {"kind": "clawhub", "reference": reference(owned), "sourceUrl": None},
        "metrics": {"rolling60DayInstalls": None, "bookmarks": None, "updatedAt": updated},
    }


def listed_json(hit: SkillHit) -> Object:
    owned = split_slug(hit.slug)
    version = {
        "version": hit.version,
        "createdAt": millis(hit.updated_at),
        "changelog": "",
        "license": _license(hit.license),
    }
    return {
        "slug": owned.name,
        "ownerHandle": owned.owner,
        "displayName": hit.name,
        "summary": hit.description,
        "topics": list(hit.tags),
        "tags": {LATEST: hit.version} if hit.version else {},
        "stats": {"downloads": hit.installs, "installs": hit.installs},
        "createdAt": millis(hit.published_at),
        "updatedAt": millis(hit.updated_at),
        **({"latestVersion": version} if hit.version else {}),
    }


async def skill_json(skill: PublishedSkill, latest: SkillVersion | None) -> Object:
    installs = (await get_installs(skill.slug)).total
    return {
        "slug": split_slug(skill.slug).name,
        "displayName": skill.name,
        "summary": skill.description,
        "topics": list(skill.tags),
        "tags": {LATEST: latest.version} if latest else {},
        "stats": {"downloads": installs, "installs": installs, "versions": skill.versions},
        "createdAt": millis(skill.published_at),
        "updatedAt": millis(latest.published_at if latest else skill.checked_at),
    }


async def refused_json(submission: Submission) -> Object:
    owned = split_slug(submission.source.slug_of(submission.skill_name))
    moment = millis(submission.updated_at)
    return {
        "skill": {
            "slug": owned.name,
            "displayName": owned.name,
            "summary": None,
            "tags": {},
            "stats": {},
            "createdAt": millis(submission.created_at),
            "updatedAt": moment,
        },
        "latestVersion": None,
        "metadata": None,
        "owner": owner_json(owned),
        "moderation": moderation_json(await assess_refused(submission)),
    }


def version_json(skill: PublishedSkill, version: SkillVersion) -> Object:
    return {
        "version": version.version,
        "createdAt": millis(version.published_at),
        "changelog": "",
        "changelogSource": None,
        "license": _license(skill.license),
    }


def _license(name: str | None) -> str | None:
    return name if name == _KNOWN_LICENSE else None
