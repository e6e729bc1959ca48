"""The menu of the admin panel: what each role finds there, and which page is marked."""

import re
from collections.abc import AsyncIterator
from html import unescape

import pytest

from tests.unit.web.admin_cast import an_operator
from tests.unit.web.api_cast import Registry, open_registry
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.routes import PAGES

_MENU = re.compile(r'<nav class="side".*?</nav>', re.DOTALL)
_LINK = re.compile(r'<a href="([^"]+)"( aria-current="page")?>([^<]+)</a>')


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


def links_in(page: str) -> dict[str, bool]:
    """Return the addresses in the menu, and whether each is marked as the current page."""
    found = _MENU.search(page)
    assert found, "the page has no menu"
    return {unescape(href): bool(current) for href, current, _ in _LINK.findall(found[0])}


async def test_an_admin_finds_every_page_of_the_panel_in_the_menu(registry: Registry) -> None:
    cyd = await an_operator(registry, Role.ADMIN)
    pages = {
        row.path
        for row in PAGES
        if row.method == "GET"
        and row.path.startswith("/admin")
        and row.path != "/admin/audit/export"
        and "{" not in row.path  # a page of one thing, which others link to
    }

    links = links_in(await cyd.see("/admin"))

    assert set(links) == pages


async def test_each_page_of_the_panel_is_marked_in_the_menu(registry: Registry) -> None:
    cyd = await an_operator(registry, Role.ADMIN)

    for href in links_in(await cyd.see("/admin")):
        marked = [link for link, is_current in links_in(await cyd.see(href)).items() if is_current]
        assert marked == [href]


async def test_a_reviewer_finds_only_pages_that_open(registry: Registry) -> None:
    rae = await an_operator(registry, Role.REVIEWER)

    links = links_in(await rae.see("/admin"))

    assert "/admin/reviews" in links
    assert not {"/admin/people", "/admin/policy", "/admin/rescan"} & set(links)
    for href in links:
        await rae.see(href)


async def test_the_webhooks_of_a_publisher_are_part_of_the_account(registry: Registry) -> None:
    ada = await an_operator(registry, Role.PUBLISHER)

    page = await ada.see("/admin/webhooks")

    assert _MENU.search(page) is None
    assert '<a href="/account">Account</a> / Webhooks' in page
