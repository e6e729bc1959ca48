"""robots.txt, the sitemap, RSS feeds and what other sites show of a page: public skills only."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from tests.clocks import NOON
from tests.unit.web.pages_cast import Site, change_skill, open_site, put_skill
from vskill_platform.model.skill import TakenDown
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.marketplace import feeds

BASE = "https://skills.example"
LOC = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"
DOWN = TakenDown(reason="it steals <b>\u202e & more", by="cyd", at=NOON)


@pytest.fixture
async def site(env: WorkerEnv) -> AsyncIterator[Site]:
    settings = msgspec.structs.replace(env.settings, public_url=BASE, allowed_hosts="registry")
    async with open_site(replace(env, settings=settings)) as opened:
        yield opened


async def read(site: Site, path: str) -> ET.Element:
    answer = await site.get(path)
    assert answer.status_code == 200
    return ET.fromstring(answer.text)  # noqa: S314 - our own


async def test_robots_txt_names_the_sitemap(site: Site) -> None:
    answer = await site.get("/robots.txt")

    assert answer.headers["content-type"].startswith("text/plain")
    assert f"Sitemap: {BASE}/sitemap.xml\n" in answer.text
    assert "Disallow: /admin\n" in answer.text
    assert "Disallow: /\n" not in answer.text


async def test_the_sitemap_lists_public_skills(site: Site, env: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(env, tmp_path)
    await put_skill(env, tmp_path, "ada/notes/hidden", is_private=True)
    await put_skill(env, tmp_path, "ada/notes/gone")
    await change_skill(env, "ada/notes/gone", down=DOWN)

    addresses = [found.text for found in (await read(site, "/sitemap.xml")).iter(LOC)]

    assert f"{BASE}/skills/ada/notes/tidy" in addresses
    assert not any("hidden" in str(one) or "gone" in str(one) for one in addresses)


async def test_a_long_sitemap_has_pages(
    site: Site, env: WorkerEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "_PER_PAGE", 2)
    for name in ("a", "b", "c"):
        await put_skill(env, tmp_path, f"ada/notes/{name}")

    index = [found.text for found in (await read(site, "/sitemap.xml")).iter(LOC)]
    pages = [await read(site, str(address).removeprefix(BASE)) for address in index]
    beyond = await site.get("/sitemap.xml?page=3")

    assert index == [f"{BASE}/sitemap.xml?page=1", f"{BASE}/sitemap.xml?page=2"]
    skills = [str(found.text) for page in pages for found in page.iter(LOC)]
    assert [one.rpartition("/")[2] for one in skills if "/notes/" in one] == ["a", "b", "c"]
    assert beyond.status_code == 404


async def test_feeds_tell_of_new_and_of_blocked_skills(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path, description="Tidies <notes>\x07.")
    await put_skill(env, tmp_path, "ada/notes/hidden", is_private=True)
    await put_skill(env, tmp_path, "ada/notes/gone")
    await put_skill(env, tmp_path, "ada/notes/secretly-gone", is_private=True)
    for name in ("gone", "secretly-gone"):
        await change_skill(env, f"ada/notes/{name}", down=DOWN)

    new = await read(site, "/feeds/new.xml")
    blocked = await read(site, "/feeds/blocked.xml")

    assert [found.findtext("link") for found in new.iter("item")] == [
        f"{BASE}/skills/ada/notes/tidy"
    ]
    assert next(new.iter("item")).findtext("description") == "Tidies <notes>⟨U+0007⟩."
    (item,) = blocked.iter("item")
    assert item.findtext("title") == "ada/notes/gone"
    assert item.findtext("description") == "It steals <b>⟨U+202E⟩ & more"


async def test_pages_name_their_feeds_and_what_other_sites_show(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path, description='Says "hi" <now>.')

    page = await site.get("/skills/ada/notes/tidy")
    home = await site.get("/")
    picture = await site.get("/static/preview.png")

    assert f'<meta property="og:image" content="{BASE}/static/preview.png">' in page.text
    assert picture.headers["content-type"] == "image/png"
    assert '<meta property="og:title" content="tidy">' in page.text
    escaped = "Says &#34;hi&#34; &lt;now&gt;."
    assert f'<meta property="og:description" content="{escaped}">' in page.text
    assert f'<meta property="og:url" content="{BASE}/skills/ada/notes/tidy">' in page.text
    assert 'type="application/rss+xml" title="New skills" href="/feeds/new.xml"' in home.text
