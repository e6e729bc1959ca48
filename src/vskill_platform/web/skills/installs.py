"""Installed skills over the API: available updates, and install counts."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence

from litestar.params import FromPath, JSONBody

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.batcher import Batcher
from vskill_platform.errors import NotFound, VskillError
from vskill_platform.model.skill import PublishedSkill, parse_version
from vskill_platform.publish.versions.trust_of_skill import trust_of_skill
from vskill_platform.stores.install_store import add_installs
from vskill_platform.stores.skill_store import get_latest_version
from vskill_platform.web.http.api_types import Ok
from vskill_platform.web.http.rate_limits import quota_key
from vskill_platform.web.http.requests import WebConnection, WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.change_shapes import InstallReport, InstallReports
from vskill_platform.web.skills.shapes import (
    CheckUpdates,
    InstalledSkill,
    UpdateItem,
    UpdatesResponse,
    cert_tier,
)
from vskill_platform.web.skills.slugs import find_skill, slug_of

log = get_logger(__name__)

#: How many installs are counted at once.
_A_BATCH = 200
_PARTS = ("major", "minor", "patch")


class InstallCounter:
    """Counts installs in batches: many downloads of a popular skill are one commit."""

    def __init__(self) -> None:
        self._batches: Batcher[tuple[str, str], None] | None = None

    async def count(self, who: str, slugs: Iterable[str]) -> None:
        # Created later, because it needs an event loop.
        self._batches = self._batches or Batcher(_count_batch, max_batch=_A_BATCH, at_once=1)
        await asyncio.gather(*[self._batches.submit((slug, who)) for slug in dict.fromkeys(slugs)])


async def _count_batch(installs: Sequence[tuple[str, str]]) -> list[Exception | None]:
    visits: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for slug, who in installs:
        visits[slug][who] = None
    await add_installs(visits)
    return [None] * len(installs)


async def count_installs(connection: WebConnection, slugs: Iterable[str]) -> None:
    """Count one install of each skill, at most once a day for each visitor."""
    counter: InstallCounter = connection.app.state.install_counter
    await counter.count(quota_key(visitor_of(connection)), slugs)


async def count_download(connection: WebConnection, slug: str) -> None:
    """Count a completed download; a failure to count it does not affect the download."""
    try:
        await count_installs(connection, [slug])
    except VskillError as error:
        log.warning("install not counted", slug=slug, error=str(error))


@operation(changes=False, is_listed=True)
async def check_updates(request: WebRequest, data: JSONBody[CheckUpdates]) -> UpdatesResponse:
    """Check up to 100 installed skills for newer versions."""
    return UpdatesResponse(results=[await _update(request, item) for item in data.skills])


@operation(is_listed=True)
async def report_install(
    request: WebRequest,
    slug: FromPath[str],
    data: JSONBody[InstallReport],  # noqa: ARG001 - it is checked; who installs what is not kept
) -> Ok:
    """Report one install; counted once a day for each skill and visitor."""
    skill = await find_skill(request, slug_of(slug))
    await _count(request, [skill])
    return Ok()


@operation(is_listed=True)
async def report_installs(request: WebRequest, data: JSONBody[InstallReports]) -> Ok:
    """Report up to 100 installs, counted once a day for each skill and visitor.

    Unknown skills are ignored.
    """
    found = [await _find(request, item.skill_name) for item in data.skills]
    await _count(request, [skill for skill in found if skill])
    return Ok()


async def _count(request: WebRequest, skills: list[PublishedSkill]) -> None:
    await count_installs(request, [skill.slug for skill in skills])


async def _update(request: WebRequest, item: InstalledSkill) -> UpdateItem:
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


async def _find(request: WebRequest, name: str) -> PublishedSkill | None:
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
