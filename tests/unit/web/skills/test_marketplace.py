"""The first page: what is published is found, counted truly, and never missing by an outage."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient

from tests.apps import an_app
from tests.clocks import NOON
from tests.unit.web.pages_cast import Site, change_skill, open_site, put_skill, put_submission
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.submission import SubmissionState
from vskill_platform.runtime.env import WorkerEnv


@pytest.fixture
async def site(env: WorkerEnv) -> AsyncIterator[Site]:
    async with open_site(env) as opened:
        yield opened


async def test_an_empty_registry_says_how_to_begin(site: Site) -> None:
    page = await site.get("/")

    assert page.status_code == 200
    assert "No skills published yet" in page.text
    assert 'href="/submit"' in page.text


async def test_a_published_skill_is_listed_with_what_matters(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    await put_submission(env, SubmissionState.TIER1_FAILED, name="other")

    page = await site.get("/")

    assert 'href="/skills/ada/notes/tidy"' in page.text
    assert "Tidies notes." in page.text
    assert "</svg>Scanned</span>" in page.text
    assert "1.0.0" in page.text
    assert (
        "<b>1</b> skill published · <b>2</b> submissions checked · <b>1</b> rejected" in page.text
    )
    assert "installs" not in page.text


async def test_a_search_finds_and_says_what_to_do_if_it_does_not(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    await put_skill(
        env, tmp_path, "ben/tools/plot", description="Draws bars.", publisher="github.com/ben"
    )

    found = await site.get("/?q=bars")
    nothing = await site.get("/?q=zebra<script>")
    narrow = await site.get("/?q=bars&namespace=ada")

    assert "ben/tools/plot" in found.text
    assert "ada/notes/tidy" not in found.text
    assert "No skills found for “zebra&lt;script&gt;”" in nothing.text
    assert "<script>alert" not in nothing.text
    assert "Search without filters" in narrow.text
    assert 'href="/?q=bars"' in narrow.text


async def test_filters_have_true_counts_and_keep_the_rest_of_the_address(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    for slug in ("ada/notes/tidy", "ada/notes/neat", "ben/tools/plot"):
        publisher = f"github.com/{slug.split('/', maxsplit=1)[0]}"
        await put_skill(env, tmp_path, slug, publisher=publisher)

    page = await site.get("/?sort=name")
    chosen = await site.get("/?sort=name&namespace=ada")

    assert 'href="/?namespace=ada&amp;sort=name"' in page.text
    assert "<span>ada</span><span>2</span>" in page.text
    assert "2 skills" in chosen.text
    assert "ben/tools/plot" not in chosen.text
    assert '<input type="hidden" name="namespace" value="ada">' in chosen.text


async def test_long_lists_have_pages_with_numbers_and_a_true_total(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    for number in range(27):
        await put_skill(env, tmp_path, f"ada/notes/skill-{number:02}")

    first = await site.get("/?sort=name")
    second = await site.get("/?sort=name&page=2")
    beyond = await site.get("/?sort=name&page=9")

    assert "27 skills" in first.text
    assert "skill-24" in first.text
    assert "skill-25" not in first.text
    assert 'href="/?sort=name&amp;page=2"' in first.text
    assert "skill-26" in second.text
    assert (beyond.status_code, beyond.headers["location"]) == (302, "/?sort=name&page=2")


async def test_blocked_and_private_skills_are_neither_listed_nor_counted(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    await put_skill(env, tmp_path, "ben/tools/hidden", is_private=True)
    await put_skill(env, tmp_path, "ben/tools/gone")
    before = await site.get("/")
    await change_skill(env, "ben/tools/gone", down=TakenDown(reason="x", by="cyd", at=NOON))

    after = await site.get("/")

    assert "ben/tools/gone" in before.text
    assert "ben/tools/hidden" not in before.text
    assert "ben/tools/gone" not in after.text
    assert "<b>1</b> skill published" in after.text


async def test_hostile_text_is_shown_and_does_nothing(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    evil = '"><script>alert(1)</script>\u202e'
    await put_skill(env, tmp_path, description=evil, name=evil, license=evil)

    page = await site.get("/")
    asked = await site.get(f"/?q={quote(evil)}")

    assert "<script>alert" not in page.text + asked.text
    assert "\u202e" not in page.text
    assert "<mark>U+202E</mark>" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


@pytest.mark.parametrize(
    "query",
    ["q=%00", "q=%ff", "q=%22*()", "q=AND OR NOT", "tier=T9", "tag=%F0%9F%98%80", "sort=x&page=-1"],
)
async def test_no_address_is_an_error(
    site: Site, env: WorkerEnv, tmp_path: Path, query: str
) -> None:
    await put_skill(env, tmp_path)

    assert (await site.get(f"/?{query}")).status_code == 200


async def test_while_nothing_is_known_it_is_a_503_and_never_an_empty_page(env: WorkerEnv) -> None:
    transport = ASGITransport(cast("Any", an_app(env)))
    async with AsyncClient(transport=transport, base_url="http://registry") as browser:
        pages = [
            await browser.get(address, headers={"Accept": "text/html"})
            for address in ("/", "/trust", "/skills/ada/notes/nothing")
        ]

    assert {page.status_code for page in pages} == {503}
    assert all(int(page.headers["retry-after"]) >= 1 for page in pages)
    assert "No skills published" not in pages[0].text


async def test_an_old_answer_says_that_it_may_be(
    site: Site, env: WorkerEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_skill(env, tmp_path)
    fresh = await site.get("/")
    behind = msgspec.structs.replace(
        site.catalogue.freshness, is_degraded=True, age=timedelta(minutes=5)
    )
    monkeypatch.setattr(type(site.catalogue), "freshness", property(lambda _: behind))

    old = await site.get("/")

    assert "may be out of date" not in fresh.text
    assert "may be out of date" in old.text
    assert "ada/notes/tidy" in old.text
