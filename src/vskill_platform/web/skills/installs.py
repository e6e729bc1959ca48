"""What clients have installed: is there something newer, and a count of what they took."""

from typing import Any

from litestar import Request
from litestar.params import FromPath, JSONBody

from vskill_platform.errors import NotFound
from vskill_platform.model.skill import PublishedSkill, parse_version
from vskill_platform.publish.versions.trust_of_skill import trust_of_skill
from vskill_platform.stores.skill_store import get_latest_version
from vskill_platform.web.http.route import operation
from vskill_platform.web.skills.certificates import cert_tier
from vskill_platform.web.skills.counted_installs import count_installs
from vskill_platform.web.skills.search_api import find_skill
from vskill_platform.web.skills.shapes import (
    CheckUpdates,
    InstalledSkill,
    InstallReport,
    InstallReports,
    Ok,
    UpdateItem,
    UpdatesAnswer,
)
from vskill_platform.web.skills.slug_paths import slug_of

ApiRequest = Request[Any, Any, Any]
_PARTS = ("major", "minor", "patch")


@operation(changes=False, is_listed=True)
async def check_updates(request: ApiRequest, data: JSONBody[CheckUpdates]) -> UpdatesAnswer:
    """Say for up to 100 installed skills whether there is a newer version."""
    return UpdatesAnswer(results=[await _update(request, item) for item in data.skills])


@operation(is_listed=True)
async def report_install(
    request: ApiRequest,
    slug: FromPath[str],
    data: JSONBody[InstallReport],  # noqa: ARG001 - it is checked; who installs what is not kept
) -> Ok:
    """Count one install; the same skill counts once a day for each visitor."""
    skill = await find_skill(request, slug_of(slug))
    await _count(request, [skill])
    return Ok()


@operation(is_listed=True)
async def report_installs(request: ApiRequest, data: JSONBody[InstallReports]) -> Ok:
    """Count up to 100 installs, each skill once a day for each visitor.

    Those that nobody publishes here are left out.
    """
    found = [await _find(request, item.skill_name) for item in data.skills]
    await _count(request, [skill for skill in found if skill])
    return Ok()


async def _count(request: ApiRequest, skills: list[PublishedSkill]) -> None:
    await count_installs(request, [skill.slug for skill in skills])


async def _update(request: ApiRequest, item: InstalledSkill) -> UpdateItem:
    skill = await _find(request, item.name)
    if skill is None or not skill.version or skill.down:
        return UpdateItem(
            name=item.name, installed=item.current_version, latest=None, update_available=False
        )
    trust, latest = await trust_of_skill(skill), await get_latest_version(skill.slug)
    return UpdateItem(
        name=item.name,
        installed=item.current_version,
        latest=skill.version,
        update_available=_is_newer(skill, item),
        version_bump=_bump(item.current_version, skill.version),
        cert_tier=cert_tier(trust.tier),
        cert_score=trust.score,
        tracked_for_updates=True,
        slug=skill.slug,
        published_at=latest.published_at if latest else None,
    )


async def _find(request: ApiRequest, name: str) -> PublishedSkill | None:
    try:
        return await find_skill(request, name)
    except NotFound:
        return None


def _is_newer(skill: PublishedSkill, item: InstalledSkill) -> bool:
    installed, latest = parse_version(item.current_version), parse_version(skill.version)
    if item.sha and item.sha == skill.digest:
        return False
    return installed is None or latest is None or latest > installed


def _bump(installed: str, latest: str) -> str | None:
    old, new = parse_version(installed), parse_version(latest)
    if old is None or new is None or new <= old:
        return None
    return next(name for name, a, b in zip(_PARTS, old, new, strict=True) if a != b)
