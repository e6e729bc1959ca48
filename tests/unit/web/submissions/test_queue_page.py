"""The public queue page: correct counts, filters in the URL, and paging."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape

import pytest
from httpx import Response

from tests.clocks import ManualClock
from tests.unit.web.api_cast import Registry, browser_of, open_registry
from tests.unit.web.pages_cast import put_submission
from vskill_platform.access.namespaces import add_owner
from vskill_platform.intake.pause_queue import pause_queue
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv

HTML = {"Accept": "text/html"}
_S = SubmissionState
_CARDS = re.compile(r'<ul class="stats">.*?</ul>', re.DOTALL)
_CARD = re.compile(r'href="(/queue[^"]*)".*?<b>([\d,]+)</b>', re.DOTALL)
_ROW = re.compile(r'<tr id="row-(sub_\w+)"')


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


def cards_of(page: Response) -> list[tuple[str, int]]:
    """Return where each card leads, and how many it says there are."""
    found = _CARDS.search(page.text)
    assert found, page.text
    return [(unescape(href), int(figure)) for href, figure in _CARD.findall(found.group())]


async def rows_at(registry: Registry, address: str) -> list[str]:
    page = await registry.get(address, headers=HTML)
    assert page.status_code == 200, page.text
    return _ROW.findall(page.text)


async def test_an_empty_queue_says_how_to_begin(registry: Registry) -> None:
    page = await registry.get("/queue", headers=HTML)
    nothing = await registry.get("/queue?q=zebra", headers=HTML)

    assert "No submissions yet" in page.text
    assert "No submission matches" in nothing.text


async def test_every_card_leads_to_as_many_as_it_says(registry: Registry) -> None:
    for state in SubmissionState:
        await put_submission(registry.env, state)
    await submit(folder_source("/srv/den/x"), submitter="ada")

    page = await registry.get("/queue?q=tidy", headers=HTML)
    cards = cards_of(page)

    assert len(cards) == 7
    for href, figure in cards:
        assert len(await rows_at(registry, href)) == figure, href
    assert "/srv/den" not in page.text
    assert "local files" in (await registry.get("/queue", headers=HTML)).text


async def test_filters_sorting_and_pages_are_in_the_address(
    registry: Registry, clock: ManualClock
) -> None:
    ids = []
    for number in range(30):
        clock.advance(minutes=1)
        # Of letters that no id has: a search looks at ids and addresses too.
        name = f"skill-{chr(ord('g') + number // 10)}{chr(ord('g') + number % 10)}"
        submission = await put_submission(
            registry.env, _S.REJECTED, name=name, updated_at=clock.now()
        )
        ids.append(submission.id)

    first = await rows_at(registry, "/queue?sort=name")
    second = await rows_at(registry, "/queue?sort=name&page=2")
    found = await rows_at(registry, "/queue?q=skill-gn&show=rejected")
    latest = await rows_at(registry, "/queue?show=rejected&size=50")
    marked = await registry.get(f"/queue?highlight={ids[29]}", headers=HTML)
    beyond = await registry.get("/queue?sort=name&page=9", headers=HTML)

    assert first + second == ids
    assert found == [ids[7]]
    assert latest == ids[::-1]
    assert f'<tr id="row-{ids[29]}" class="mine">' in marked.text
    assert (beyond.status_code, beyond.headers["location"]) == (302, "/queue?sort=name&page=2")


async def test_an_invalid_query_is_an_error(registry: Registry) -> None:
    for query in ("show=x", "sort=x", "size=7", "page=0", "page=x", "page=99999999"):
        page = await registry.get(f"/queue?{query}", headers=HTML)

        assert page.status_code == 400, query
        assert "text/html" in page.headers["content-type"]


async def test_a_pause_stalled_work_and_queue_positions_are_shown(
    registry: Registry, clock: ManualClock
) -> None:
    await submit(folder_source("/srv/den/x"), submitter="ada")
    clock.advance(seconds=registry.env.settings.stuck_threshold.total_seconds() + 1)
    waiting = await registry.get("/queue", headers=HTML)
    await pause_queue(timedelta(hours=1), actor="rae")
    paused = await registry.get("/queue", headers=HTML)

    assert "Work has been waiting for 301 s and no worker is alive." in waiting.text
    assert "The queue is paused and resumes" in paused.text
    assert "position 1" in paused.text


async def test_private_ones_are_neither_listed_nor_counted(registry: Registry) -> None:
    ada = await browser_of(Role.PUBLISHER)
    await add_owner("ada", "ada", actor="test")
    hidden = await put_submission(registry.env, _S.REJECTED, name="hushed", is_private=True)

    stranger = await registry.get("/queue", headers=HTML)
    named = await registry.get(f"/queue?q={hidden.id}&highlight={hidden.id}", headers=HTML)
    owner = await registry.get("/queue", headers=ada)

    assert "No submissions yet" in stranger.text
    assert {figure for _, figure in cards_of(stranger)} == {0}
    assert _ROW.findall(named.text) == []
    assert _ROW.findall(owner.text) == [hidden.id]


async def test_without_scripts_a_typed_query_is_kept(registry: Registry) -> None:
    page = (await registry.get("/queue", headers=HTML)).text

    assert "http-equiv" not in page
    assert '<noscript><a class="button small" href="">Refresh</a></noscript>' in page
    assert "data-scripted hidden>Live updates" in page
