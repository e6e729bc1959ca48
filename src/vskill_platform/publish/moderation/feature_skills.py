"""Choose the skills that the home page shows first, and their order."""

from collections.abc import Callable, Sequence

from vskill_platform.base.show_text import count_of
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.settings import MAX_FEATURED, featured_slugs
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.featured_store import FeaturedSkills, get_featured, put_featured
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import find_skill, resolve_slugs

Slugs = tuple[str, ...]


async def list_featured() -> Slugs:
    """Return the slugs in order: those that staff chose, or else those in the settings."""
    return (await _stored())[1]


async def _stored() -> tuple[Stored[FeaturedSkills] | None, Slugs]:
    stored = await get_featured()
    slugs = stored.record.slugs if stored else featured_slugs(get_settings())
    return stored, await resolve_slugs(slugs)  # a skill may have been renamed


async def feature(slug: str, *, actor: str) -> Slugs:
    """Add a skill at the end; a skill that is already featured keeps its position."""
    slug = await _listed(slug)
    return await _change(
        "feature add", slug, lambda now: now if slug in now else (*now, slug), actor=actor
    )


async def unfeature(slug: str, *, actor: str) -> Slugs:
    """Remove a skill, even one that is no longer listed."""

    def without(now: Slugs) -> Slugs:
        if slug not in now:
            raise NotFound(f"{slug} is not featured")
        return tuple(one for one in now if one != slug)

    return await _change("feature remove", slug, without, actor=actor)


async def move_featured(slug: str, by: int, *, actor: str) -> Slugs:
    """Move a skill up (-1) or down (1)."""

    def moved(now: Slugs) -> Slugs:
        if slug not in now:
            raise NotFound(f"{slug} is not featured")
        others = [one for one in now if one != slug]
        others.insert(max(now.index(slug) + by, 0), slug)
        return tuple(others)

    return await _change("feature move", slug, moved, actor=actor)


async def set_featured(slugs: Sequence[str], *, actor: str) -> Slugs:
    """Replace the whole list; new skills must be listed."""
    present = await list_featured()
    found = [one if one in present else await _listed(one) for one in slugs]
    wanted = tuple(dict.fromkeys(found))
    return await _change(
        "feature set", count_of(len(wanted), "skill"), lambda _: wanted, actor=actor
    )


async def _listed(slug: str) -> str:
    slug, stored = await find_skill(slug.strip().strip("/"))
    if stored is None or stored.record.down or stored.record.is_private:
        raise NotFound(f"no listed public skill is called {slug}")
    return slug


async def _change(
    action: str, subject: str, plan: Callable[[Slugs], Slugs], *, actor: str
) -> Slugs:
    async def planned() -> PlannedChange[Slugs]:
        stored, now = await _stored()
        slugs = plan(now)
        if len(slugs) > MAX_FEATURED:
            raise InvalidInput(f"at most {MAX_FEATURED} skills can be featured; remove one first")
        if slugs == now:
            return PlannedChange(result=now)
        record = FeaturedSkills(slugs=slugs, by=actor, at=get_now())
        audit = write_audit(action, subject, actor=actor, reason="", outcome=", ".join(slugs))
        return PlannedChange(
            operations=[put_featured(record, replaces=stored), audit], result=slugs
        )

    return await change("the featured skills", planned)
