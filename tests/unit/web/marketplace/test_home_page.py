"""The home page: what the registry is and ways into it, with nothing private among them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import pytest

from tests.casts import add_installs
from tests.clocks import NOON
from tests.unit.web.pages_cast import Site, change_skill, open_site, put_skill, put_submission
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.submission import SubmissionState
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env


@pytest.fixture
async def site(env: WorkerEnv) -> AsyncIterator[Site]:
    featured = "ada/notes/tidy, ada/notes/covert, no/such/skill"
    settings = msgspec.structs.replace(env.settings, featured_skills=featured)
    async with open_site(replace(env, settings=settings)) as opened:
        yield opened


async def test_an_empty_registry_says_how_to_begin(site: Site) -> None:
    page = await site.get("/")

    assert page.status_code == 200
    assert "No skills published yet" in page.text
    assert 'href="/submit"' in page.text
    assert "How skills are checked" in page.text
    assert "Recently blocked" not in page.text


async def test_each_way_in_is_there(site: Site, env: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(env, tmp_path, tags=("office",))
    await put_skill(env, tmp_path, "ben/tools/plot")
    await put_skill(env, tmp_path, "ben/tools/gone")
    await change_skill(env, "ben/tools/gone", down=TakenDown(reason="it steals", by="c", at=NOON))
    await put_submission(env, SubmissionState.TIER1_FAILED, name="other")
    await run_with_worker_env(env, partial(add_installs, {"ben/tools/plot": 3}))

    page = await site.get("/")

    headings = ("Featured", "Most installed", "New", "Categories", "How skills are checked")
    places = [page.text.index(f">{heading}</h2>") for heading in (*headings, "Recently blocked")]
    assert places == sorted(places)
    featured = page.text[places[0] : places[1]]
    assert 'href="/skills/ada/notes/tidy"' in featured
    assert "ben/tools/plot" not in featured
    below = page.text[places[1] : places[3]]
    assert below.count('href="/skills/ben/tools/plot"') == 2
    assert 'href="/skills/ada/notes/tidy"' not in below
    assert 'href="/skills?tag=office"' in page.text
    assert "It steals" in page.text[places[-1] :]
    assert "<b>2</b> skills published" in page.text
    assert "<b>1</b> rejected" in page.text


async def test_private_skills_are_on_no_part_of_it(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path, "ada/notes/covert", is_private=True, tags=("hush",))
    await put_skill(env, tmp_path, "ada/notes/gone", is_private=True)
    await change_skill(env, "ada/notes/gone", down=TakenDown(reason="x", by="cyd", at=NOON))

    page = await site.get("/")

    assert "No skills published yet" in page.text
    assert not any(word in page.text for word in ("covert", "hush", "notes/gone"))


async def test_strangers_words_do_nothing(site: Site, env: WorkerEnv, tmp_path: Path) -> None:
    evil = '"><script>alert(1)</script>\u202e'
    await put_skill(env, tmp_path, name=evil, description=evil, tags=(evil,))

    page = await site.get("/")

    assert "<script>alert" not in page.text
    assert "\u202e" not in page.text
