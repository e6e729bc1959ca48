"""Featured skills: chosen and ordered by staff, in the panel and over the API."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.clocks import NOON
from tests.unit.web.admin_cast import Operator, an_operator
from tests.unit.web.api_cast import API, Registry, audited, browser_of, open_registry, token_of
from tests.unit.web.pages_cast import change_skill, put_skill
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.user import Role
from vskill_platform.publish.moderation.feature_skills import (
    feature,
    list_featured,
    move_featured,
    set_featured,
    unfeature,
)
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.skill_store import migrate_skill_slugs

ONE, TWO, THREE = "ada/notes/one", "ada/notes/two", "ada/notes/three"

pytestmark = pytest.mark.usefixtures("one_loop")


@pytest.fixture
async def registry(bound: WorkerEnv, tmp_path: Path) -> AsyncIterator[Registry]:
    """A registry with three skills, one of which is featured by the settings."""
    settings = msgspec.structs.replace(bound.settings, featured_skills=ONE)
    env = replace(bound, settings=settings)
    worker_env_storage.set(env)
    async with open_registry(env) as opened:
        for slug in (ONE, TWO, THREE):
            await put_skill(env, tmp_path, slug)
        yield opened


@pytest.fixture
async def rae(registry: Registry) -> Operator:
    return await an_operator(registry, Role.REVIEWER)


def featured_on(page: str) -> list[str]:
    """Return the featured skills of the home page, in their order."""
    part = page.partition(">Featured</h2>")[2].partition("</section>")[0]
    found = [slug for slug in (ONE, TWO, THREE) if f'href="/skills/{slug}"' in part]
    return sorted(found, key=part.index)


async def test_staff_feature_a_skill_from_its_page_and_change_the_order(
    registry: Registry, rae: Operator
) -> None:
    before = featured_on(await rae.see("/"))
    manage = await rae.see(f"/admin/skills/{TWO}")
    added = await rae.act("/admin/featured/add", slug=TWO, back="skill")
    moved = await rae.act("/admin/featured/up", slug=TWO)
    after = featured_on(await rae.see("/"))
    managed = await rae.see(f"/admin/skills/{TWO}")
    removed = await rae.act("/admin/featured/remove", slug=ONE)
    alone = featured_on(await rae.see("/"))

    assert before == [ONE]
    assert "Feature it" in manage
    assert added == ("done", f"{TWO} is featured on the home page.")
    assert moved == ("done", "The order is saved.")
    assert after == [TWO, ONE]
    assert "Stop featuring it" in managed
    assert removed[0] == "done"
    assert alone == [TWO]
    assert [entry[1:] for entry in await audited()] == [
        ("feature add", TWO),
        ("feature move", TWO),
        ("feature remove", ONE),
    ]


async def test_a_skill_that_is_not_public_and_listed_cannot_be_featured(
    registry: Registry, rae: Operator
) -> None:
    await change_skill(registry.env, TWO, is_private=True)
    await change_skill(registry.env, THREE, down=TakenDown(reason="bad", by="c", at=NOON))

    for slug in (TWO, THREE, "no/such/skill", "", "<b>"):
        kind, words = await rae.act("/admin/featured/add", slug=slug)
        assert kind == "problem", words
    strange = await rae.act("/admin/featured/sideways", slug=ONE)

    assert strange[0] == "problem"
    assert await list_featured() == (ONE,)


async def test_one_that_is_taken_down_later_is_marked_and_can_be_removed(
    registry: Registry, rae: Operator
) -> None:
    await change_skill(registry.env, ONE, down=TakenDown(reason="bad", by="c", at=NOON))

    page = await rae.see("/admin/featured")
    home = featured_on(await rae.see("/"))
    removed = await rae.act("/admin/featured/remove", slug=ONE)
    empty = await rae.see("/admin/featured")

    assert "Not listed" in page
    assert home == []
    assert removed[0] == "done"
    assert "No featured skills" in empty


async def test_the_api_lists_and_replaces_them(registry: Registry) -> None:
    token = await token_of(Role.REVIEWER)
    before = await registry.json("/featured")

    done = await registry.ask(
        "PUT", f"{API}/featured", json={"slugs": [THREE, ONE, THREE]}, headers=token
    )
    after = await registry.json("/featured")
    many = await registry.ask(
        "PUT", f"{API}/featured", json={"slugs": [f"a/b/{n}" for n in range(13)]}, headers=token
    )
    ada = await token_of(Role.PUBLISHER, name="dot")
    refused = await registry.ask("PUT", f"{API}/featured", json={"slugs": []}, headers=ada)

    assert before == {"slugs": [ONE]}
    assert done.json() == after == {"slugs": [THREE, ONE]}
    assert many.status_code == 400
    assert refused.status_code == 403


async def test_publishers_see_no_button_and_no_page(registry: Registry) -> None:
    ada = await browser_of(Role.PUBLISHER)

    assert (await registry.get("/admin/featured", headers=ada)).status_code == 403


async def test_the_list_has_a_limit_and_repeating_changes_nothing(
    registry: Registry, tmp_path: Path
) -> None:
    slugs = [f"ada/notes/n{number}" for number in range(12)]
    for slug in slugs:
        await put_skill(registry.env, tmp_path, slug)

    full = await set_featured(slugs, actor="rae")
    same = await feature(slugs[3], actor="rae")
    last = await move_featured(slugs[0], -1, actor="rae")
    with pytest.raises(InvalidInput, match="at most 12"):
        await feature(TWO, actor="rae")
    with pytest.raises(NotFound):
        await unfeature(TWO, actor="rae")
    with pytest.raises(NotFound):
        await move_featured(TWO, 1, actor="rae")

    assert full == same == last == tuple(slugs)
    assert len(await audited()) == 1


async def test_a_renamed_skill_stays_featured(registry: Registry) -> None:
    new = "ada/notes/renamed"
    await migrate_skill_slugs(lambda skill: new if skill.slug == ONE else skill.slug)

    listed = await registry.json("/featured")

    assert listed == {"slugs": [new]}
