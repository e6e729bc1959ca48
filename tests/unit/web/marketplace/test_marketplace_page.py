"""The list of skills: complete, with correct counts."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient

from tests.apps import an_app
from tests.casts import add_installs
from tests.clocks import NOON
from tests.unit.web.pages_cast import Site, change_skill, open_site, put_skill, put_submission
from vskill_platform.model.skill import TakenDown, Yank
from vskill_platform.model.submission import SubmissionState
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.web.marketplace.marketplace_page import PAGE_SIZE


@pytest.fixture
async def site(env: WorkerEnv) -> AsyncIterator[Site]:
    async with open_site(env) as opened:
        yield opened


async def test_an_empty_registry_says_how_to_begin(site: Site) -> None:
    page = await site.get("/skills")

    assert page.status_code == 200
    assert "No skills published yet" in page.text
    assert 'href="/submit"' in page.text


async def test_a_published_skill_is_listed_with_what_matters(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)

    page = await site.get("/skills")

    assert 'href="/skills/ada/notes/tidy"' in page.text
    assert "Tidies notes." in page.text
    assert "</svg>Scanned</span>" in page.text
    assert "1.0.0" in page.text
    assert "1 install" not in page.text


async def test_a_search_finds_and_says_what_to_do_if_it_does_not(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    await put_skill(
        env, tmp_path, "ben/tools/plot", description="Draws bars.", publisher="github.com/ben"
    )

    found = await site.get("/skills?q=bars")
    nothing = await site.get("/skills?q=zebra<script>")
    narrow = await site.get("/skills?q=bars&namespace=ada")
    old_link = await site.get("/?q=bars")

    assert "ben/tools/plot" in found.text
    assert "ben/tools/plot" in old_link.text
    assert "ada/notes/tidy" not in found.text
    assert "No skills found for “zebra&lt;script&gt;”" in nothing.text
    assert "<script>alert" not in nothing.text
    assert "Search without filters" in narrow.text
    assert 'href="/skills?q=bars"' in narrow.text


async def test_filters_have_true_counts_and_keep_the_rest_of_the_address(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    for slug in ("ada/notes/tidy", "ada/notes/neat", "ben/tools/plot"):
        publisher = f"github.com/{slug.split('/', maxsplit=1)[0]}"
        await put_skill(env, tmp_path, slug, publisher=publisher)

    page = await site.get("/skills?sort=name")
    chosen = await site.get("/skills?sort=name&namespace=ada")

    assert 'href="/skills?namespace=ada&amp;sort=name"' in page.text
    assert "<span>ada</span><span>2</span>" in page.text
    assert "2 skills" in chosen.text
    assert "ben/tools/plot" not in chosen.text
    assert '<input type="hidden" name="namespace" value="ada">' in chosen.text


async def test_long_lists_have_pages_with_numbers_and_a_true_total(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    for number in range(27):
        await put_skill(env, tmp_path, f"ada/notes/skill-{number:02}")

    first = await site.get("/skills?sort=name")
    second = await site.get("/skills?sort=name&page=2")
    beyond = await site.get("/skills?sort=name&page=9")

    assert "27 skills" in first.text
    assert "skill-24" in first.text
    assert "skill-25" not in first.text
    assert 'href="/skills?sort=name&amp;page=2&amp;after=' in first.text
    assert "skill-26" in second.text
    assert (beyond.status_code, beyond.headers["location"]) == (302, "/skills?sort=name&page=2")


async def test_links_to_pages_keep_the_order_while_installs_are_counted(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    slugs = [f"ada/notes/skill-{number:02}" for number in range(PAGE_SIZE * 3)]
    for slug in slugs:
        await put_skill(env, tmp_path, slug)
    counts = {slug: 90 - number for number, slug in enumerate(slugs)}
    await run_with_worker_env(env, partial(add_installs, counts))

    first = await site.get("/skills")
    links = dict(re.findall(r'<li><a href="([^"]*)">(\d)</a>', first.text))
    by_number = {number: address.replace("&amp;", "&") for address, number in links.items()}
    counts = {slugs[-1]: 5_000, slugs[PAGE_SIZE]: 4_000}
    await run_with_worker_env(env, partial(add_installs, counts))
    seen = []
    for number in ("3", "2"):
        page = await site.get(by_number[number])
        seen += re.findall(r'href="/skills/(ada/notes/skill-\d\d)"', page.text)

    assert sorted(set(seen)) == slugs[PAGE_SIZE:]


async def test_blocked_and_private_skills_are_neither_listed_nor_counted(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    await put_skill(env, tmp_path, "ben/tools/hidden", is_private=True)
    await put_skill(env, tmp_path, "ben/tools/gone")
    before = await site.get("/skills")
    await change_skill(env, "ben/tools/gone", down=TakenDown(reason="x", by="cyd", at=NOON))

    after = await site.get("/skills")

    assert "ben/tools/gone" in before.text
    assert "ben/tools/hidden" not in before.text
    assert "ben/tools/gone" not in after.text
    assert "1 skill<" in after.text


async def test_a_search_for_a_blocked_skill_says_why_it_is_not_listed(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    down = TakenDown(reason="It steals keys.", by="cyd", at=NOON)
    await put_skill(env, tmp_path, "ada/notes/neat-notes")
    await put_skill(env, tmp_path, "sketchy/wallets/neat-wallet")
    await change_skill(env, "sketchy/wallets/neat-wallet", down=down)

    by_name = await site.get("/skills?q=neat-wallet")
    by_slug = await site.get("/skills?q=sketchy/wallets/neat-wallet")
    other = await site.get("/skills?q=neat")
    hostile = await site.get("/skills?q=%ED%A0%80'neat")

    for page in (by_name, by_slug):
        assert "was taken down" in page.text
        assert down.reason in page.text
        assert 'href="/skills/sketchy/wallets/neat-wallet"' in page.text
    assert "was taken down" not in other.text
    assert hostile.status_code == 200


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (SubmissionState.TIER1_FAILED, "failed the checks"),
        (SubmissionState.REJECTED, "was rejected"),
        (SubmissionState.NEEDS_REVIEW, "is waiting for review"),
    ],
)
async def test_a_search_for_a_skill_that_is_not_published_says_why(
    site: Site, env: WorkerEnv, state: SubmissionState, words: str
) -> None:
    reason = "Sends credentials to <a third party>."
    put = await put_submission(env, state, name="quick-start", reason=reason)
    await put_submission(env, state, name="quick-starter", reason="Another one.")

    page = await site.get("/skills?q=Quick-Start")

    assert f'href="/submissions/{put.id}">quick-start</a> {words}</b>' in page.text
    assert "Sends credentials to &lt;a third party&gt;." in page.text
    assert "Another one." not in page.text


async def test_a_search_does_not_name_private_or_published_submissions(
    site: Site, env: WorkerEnv
) -> None:
    await put_submission(env, SubmissionState.REJECTED, name="quick-start", is_private=True)
    await put_submission(env, SubmissionState.PUBLISHED, name="quick-start")

    page = await site.get("/skills?q=quick-start")

    assert "No skills found" in page.text
    assert 'role="status"' not in page.text


async def test_a_skill_whose_versions_are_all_yanked_is_not_called_unverified(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    yank = Yank(number=1, reason="It lost notes.", by="ada", at=NOON)
    await put_skill(env, tmp_path)
    await change_skill(env, "ada/notes/tidy", version="", yanked=(yank,))

    page = await site.get("/skills")

    assert '<span class="badge warn">Yanked</span>' in page.text
    assert "Unverified</span>" not in page.text


async def test_hostile_text_is_shown_and_does_nothing(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    evil = '"><script>alert(1)</script>\u202e'
    await put_skill(env, tmp_path, description=evil, name=evil, license=evil)

    page = await site.get("/skills")
    asked = await site.get(f"/skills?q={quote(evil)}")

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

    assert (await site.get(f"/skills?{query}")).status_code == 200


async def test_while_nothing_is_known_it_is_a_503_and_never_an_empty_page(env: WorkerEnv) -> None:
    transport = ASGITransport(cast("Any", an_app(env)))
    async with AsyncClient(transport=transport, base_url="http://registry") as browser:
        pages = [
            await browser.get(address, headers={"Accept": "text/html"})
            for address in ("/skills", "/", "/trust", "/skills/ada/notes/nothing")
        ]

    assert {page.status_code for page in pages} == {503}
    assert all(int(page.headers["retry-after"]) >= 1 for page in pages)
    assert "No skills published" not in pages[0].text


async def test_an_old_answer_says_that_it_may_be(
    site: Site, env: WorkerEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_skill(env, tmp_path)
    fresh = await site.get("/skills")
    behind = msgspec.structs.replace(
        site.catalogue.freshness, is_degraded=True, age=timedelta(minutes=5)
    )
    monkeypatch.setattr(type(site.catalogue), "freshness", property(lambda _: behind))

    old = await site.get("/skills")

    assert "may be out of date" not in fresh.text
    assert "may be out of date" in old.text
    assert "ada/notes/tidy" in old.text


async def test_a_typo_is_corrected_and_the_page_says_so(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path, description="Deploys to <b>Kubernetes</b>.")

    page = await site.get("/skills?q=kubernets")
    some = await site.get("/skills?q=kubernetes+zebras")

    assert "No exact match for “kubernets”." in page.text
    assert "Showing results for “<b>kubernetes</b>”" in page.text
    assert 'Deploys to &lt;b&gt;<mark class="hit">Kubernetes</mark>&lt;/b&gt;.' in page.text
    assert "Showing results for “<b>kubernetes</b>”" in some.text


async def test_skills_are_found_by_what_they_cannot_do(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path, "ada/notes/offline")
    await put_skill(env, tmp_path, "ada/notes/online", can={"hosts": ("api.example.com",)})

    page = await site.get("/skills")
    offline = await site.get("/skills?cannot=network&can=magic")

    assert 'href="/skills?cannot=network"' in page.text
    assert 'href="/skills?can=network"' in page.text
    assert "ada/notes/offline" in offline.text
    assert "ada/notes/online" not in offline.text
    assert "Cannot reach the network" in offline.text


async def test_a_list_without_words_has_the_most_installed_skill_first(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path, "ada/notes/rare")
    await put_skill(env, tmp_path, "ada/notes/common")
    await run_with_worker_env(env, partial(add_installs, {"ada/notes/common": 3}))

    page = await site.get("/skills")

    assert page.text.index("ada/notes/common") < page.text.index("ada/notes/rare")
    assert '<option value="" selected>Most installed</option>' in page.text
    assert "Best match" not in page.text
