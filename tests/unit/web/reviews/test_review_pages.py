"""The review pages: one review after the other, with everything needed for a decision."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient

from tests.apps import an_app
from tests.clocks import NOON
from tests.unit.web.admin_cast import Operator, an_operator
from tests.unit.web.api_cast import Registry, browser_of, open_registry, put_review
from tests.unit.web.pages_cast import change_skill, put_skill
from vskill_platform.model.block import Block, digest_subject
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.submission import Submission
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.block_store import write_block
from vskill_platform.stores.db import commit
from vskill_platform.stores.scan_store import get_report, write_report

pytestmark = pytest.mark.usefixtures("one_loop")


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


def _page(submission: Submission) -> str:
    return f"/admin/reviews/{submission.id}"


async def _approve(who: Operator, submission: Submission) -> tuple[str, str]:
    path = f"{_page(submission)}/approve"
    return await who.act(path, reason="fine", digest=submission.digest or "")


async def test_the_queue_is_gone_through_by_links_from_one_review_to_the_next(
    registry: Registry, tmp_path: Path
) -> None:
    for name in ("one-note", "two-notes", "three-notes"):
        await put_review(tmp_path, name)
    rae = await an_operator(registry, Role.REVIEWER)

    page = await rae.see("/admin/reviews")
    start = re.search(r'href="(/admin/reviews/[^"]+)">Start with the oldest', page)
    assert start
    steps = [start.group(1)]
    pages = [await rae.see(steps[0])]
    while following := re.search(r'rel="next" href="([^"]+)"', pages[-1]):
        steps.append(following.group(1))
        pages.append(await rae.see(steps[-1]))

    assert steps == re.findall(r'<h2><a href="(/admin/reviews/[^"]+)"', page)
    assert [re.findall(r"(\d) of 3<", one) for one in pages] == [["1"], ["2"], ["3"]]
    assert f'rel="prev" href="{steps[1]}"' in pages[2]
    assert 'rel="prev"' not in pages[0]


async def test_a_decision_leads_to_the_next_review_and_at_last_to_the_list(
    registry: Registry, tmp_path: Path
) -> None:
    waiting = {
        one.id: one for one in [await put_review(tmp_path, name) for name in ("aa-note", "bb-note")]
    }
    rae = await an_operator(registry, Role.REVIEWER)
    listed = re.findall(r'<h2><a href="/admin/reviews/([^"]+)"', await rae.see("/admin/reviews"))
    last, first = waiting[listed[1]], waiting[listed[0]]

    decided = await rae.post(f"{_page(last)}/reject", reason="no", digest=last.digest)
    done = await rae.post(f"{_page(first)}/reject", reason="no", digest=first.digest)

    assert decided.headers["location"] == _page(first)
    assert done.headers["location"] == "/admin/reviews"


async def test_a_new_version_is_shown_by_its_difference_to_the_published_one(
    registry: Registry, tmp_path: Path
) -> None:
    rae = await an_operator(registry, Role.REVIEWER)
    first = await put_review(tmp_path / "1", files={"notes.txt": "same\nold line\n"})
    assert await _approve(rae, first) == ("done", "tidy-notes is published.")
    second = await put_review(tmp_path / "2", files={"notes.txt": "same\n<new> line\n"})

    page = await rae.see(_page(second))

    diff = page.partition('id="versus"')[2].partition('<div class="split">')[0]
    text = re.sub(r"</?span[^>]*>", "", diff)
    assert "Compared with @local/tidy-notes" in page
    assert page.index('id="versus"') < page.index('id="findings"')
    assert "notes.txt" in diff
    assert "\N{MINUS SIGN}old line" in text
    assert "+&lt;new&gt; line" in text


async def test_a_reviewer_sees_before_typing_that_another_must_approve(
    registry: Registry, tmp_path: Path
) -> None:
    own = await put_review(tmp_path)
    ada = Operator(registry, await browser_of(Role.REVIEWER, name="ada"))
    cyd = await an_operator(registry, Role.ADMIN)

    to_ada, to_cyd = await ada.see(_page(own)), await cyd.see(_page(own))
    refused = await _approve(ada, own)

    assert "The submission is by ada, so another reviewer must approve it" in to_ada
    assert '<button class="button primary" disabled>Approve' in to_ada
    assert "You cannot approve this" not in to_cyd
    assert '<button class="button primary">Approve' in to_cyd
    assert refused[0] == "problem"


async def test_a_reviewer_sees_before_typing_that_it_is_blocked(
    registry: Registry, tmp_path: Path
) -> None:
    waiting = await put_review(tmp_path)
    rae = await an_operator(registry, Role.REVIEWER)
    # It still waits, as after a crash in the middle of a large block.
    subject = digest_subject(waiting.digest or "")
    entry = Block(subject=subject, reason="known malware", by="cyd", at=NOON)
    await commit([write_block(entry)])

    page = await rae.see(_page(waiting))

    notice = page.partition("You cannot approve this")[2].partition("</p>")[0]
    assert "known malware" in notice
    assert '<button class="button primary" disabled>Approve' in page


async def test_a_review_names_the_skills_that_were_taken_down_and_resemble_it(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await change_skill(
        registry.env, "ada/notes/tidy", down=TakenDown(reason="it <b>steals</b>", by="x", at=NOON)
    )
    same_name = await put_review(tmp_path / "a", "tidy")
    other = await put_review(tmp_path / "b", "spreadsheets")
    rae = await an_operator(registry, Role.REVIEWER)

    page, clean = await rae.see(_page(same_name)), await rae.see(_page(other))

    warning = page.partition('id="known-bad"')[2].partition("</section>")[0]
    assert "Resembles 1 skill that was taken down" in warning
    assert 'href="/skills/ada/notes/tidy"' in warning
    assert "same name" in warning
    assert "it &lt;b&gt;steals&lt;/b&gt;" in warning
    assert "known-bad" not in clean


async def test_reviews_go_on_while_the_search_index_is_not_ready(
    registry: Registry, tmp_path: Path
) -> None:
    waiting = await put_review(tmp_path)
    headers = await browser_of(Role.REVIEWER)
    transport = ASGITransport(cast("Any", an_app(registry.env)))

    async with AsyncClient(transport=transport, base_url="http://registry") as client:
        page = await client.get(_page(waiting), headers=headers)

    assert page.status_code == 200
    assert "Not compared with all skills that were taken down: this node has no" in page.text
    assert "Approve and publish" in page.text


async def test_a_refused_decision_keeps_what_was_typed(registry: Registry, tmp_path: Path) -> None:
    waiting = await put_review(tmp_path)
    rae = await an_operator(registry, Role.REVIEWER)

    stale = await rae.post(f"{_page(waiting)}/approve", reason='read "all" & fine', digest="0" * 64)
    page = await rae.see(stale.headers["location"])

    assert 'value="read &#34;all&#34; &amp; fine"' in page


async def test_the_reason_of_a_reviewer_who_comes_second_is_shown(
    registry: Registry, tmp_path: Path
) -> None:
    waiting = await put_review(tmp_path)
    rae = await an_operator(registry, Role.REVIEWER)
    await _approve(rae, waiting)

    late = await rae.post(f"{_page(waiting)}/reject", reason="mine & late", digest=waiting.digest)
    page = await rae.see(late.headers["location"])

    assert "The reason that you wrote was not saved" in page
    assert "mine &amp; late" in page


async def test_what_was_typed_is_kept_while_somebody_signs_in_again(
    registry: Registry, tmp_path: Path
) -> None:
    waiting = await put_review(tmp_path)
    referer = {"Accept": "text/html", "Referer": f"http://registry{_page(waiting)}?file=run.sh"}

    expired = await registry.post(
        f"{_page(waiting)}/approve", data={"reason": "read & fine"}, headers=referer
    )
    elsewhere = await registry.post(
        f"{_page(waiting)}/approve",
        data={"reason": "x"},
        headers={"Accept": "text/html", "Referer": "http://evil.example/admin"},
    )
    after = parse_qs(urlsplit(expired.headers["location"]).query)["next"][0]
    rae = await registry.get(after, headers=await browser_of(Role.REVIEWER))

    assert expired.status_code == 303
    assert after == f"{_page(waiting)}?reason=read+%26+fine"
    assert 'value="read &amp; fine"' in rae.text
    assert elsewhere.headers["location"] == "/sign-in"


async def test_findings_at_one_line_are_one_card_that_leads_to_the_line(
    registry: Registry, tmp_path: Path
) -> None:
    waiting = await put_review(tmp_path, line=2_000)
    stored = await get_report(waiting.id)
    assert stored
    other = msgspec.structs.replace(stored.findings[0], rule="SKR-RUN-002", message="Another one.")
    await commit(
        [write_report(msgspec.structs.replace(stored, findings=(*stored.findings, other)))]
    )
    rae = await an_operator(registry, Role.REVIEWER)

    page = await rae.see(_page(waiting))

    assert page.count('<article class="finding') == 1
    assert "1 more rule matches this line" in page
    assert 'href="?file=run.sh&amp;from=1980#L2000"' in page
