"""The user's skills, submissions and notifications, and the first steps after sign-in."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.clocks import NOON
from tests.people import a_user, let_in
from tests.unit.web.pages_cast import Site, change_skill, open_site, put_skill, put_submission
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv

UPLOAD: dict[str, Any] = {"publisher": "@ada", "repo_url": "upload:@ada/plot"}


@pytest.fixture
async def site(bound: WorkerEnv) -> AsyncIterator[Site]:
    """Sign Ada in to the browser."""
    async with open_site(bound) as opened:
        await let_in(opened.browser, await a_user(name="ada"))
        yield opened


async def test_the_first_sign_in_leads_to_three_next_steps(site: Site) -> None:
    page = await site.get("/account?done=welcome")

    assert "Three next steps" in page.text
    assert page.text.count('<li class="card">') == 3
    assert "vskill-platform login http" in page.text
    assert "Your submissions" not in page.text
    assert "<summary>Change your password</summary>" in page.text


async def test_the_first_admin_is_led_to_invitations(site: Site) -> None:
    await let_in(site.browser, await a_user(Role.ADMIN, name="cyd"))

    page = await site.get("/account?done=welcome")

    assert 'href="/admin/people">Invite users</a>' in page.text
    assert page.text.count('<li class="card">') == 3


async def test_ones_skills_and_submissions_are_listed(
    site: Site, bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path, "@ada/plot", is_private=True, **UPLOAD)
    await put_skill(bound, tmp_path, "ben/tools/other", publisher="github.com/ben")
    await put_submission(bound, SubmissionState.TIER1_FAILED, name="bad")

    page = await site.get("/account")

    assert 'href="/skills/@ada/plot"' in page.text
    assert 'href="/@ada"' in page.text
    assert 'href="/admin/skills/@ada/plot"' in page.text
    assert ">bad</a>" in page.text
    assert "Notifications" in page.text
    assert "ben/tools/other" not in page.text
    assert "Three next steps" not in page.text


async def test_a_skill_that_was_taken_down_is_a_notification(
    site: Site, bound: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(bound, tmp_path, "@ada/plot", **UPLOAD)
    await put_submission(bound, SubmissionState.PUBLISHED, name="plot")
    await change_skill(bound, "@ada/plot", down=TakenDown(reason="it steals", by="c", at=NOON))

    page = await site.get("/account")

    assert "was taken down" in page.text
    assert "it steals" in page.text


async def test_more_submissions_than_fit_are_in_the_queue_of_ones_own(
    site: Site, bound: WorkerEnv
) -> None:
    for number in range(8):
        await put_submission(bound, SubmissionState.PUBLISHED, name=f"own-{number}")
    await put_submission(bound, SubmissionState.PUBLISHED, name="of-ben", submitter="ben")

    page = await site.get("/account")
    own = await site.get("/queue?mine=1")
    without = await site.get("/queue")

    assert 'href="/queue?mine=1">Show all (8)</a>' in page.text
    assert "8 submissions<" in own.text
    assert "of-ben" not in own.text
    assert 'href="/queue"><span class="unseen">Remove filter </span>Your submissions' in own.text
    assert "of-ben" in without.text


async def test_others_have_no_part_in_it(site: Site, bound: WorkerEnv) -> None:
    await put_submission(bound, SubmissionState.TIER1_FAILED, name="bad")
    await let_in(site.browser, await a_user(name="ben"))

    page = await site.get("/account")

    assert "/submissions/" not in page.text
    assert "Three next steps" in page.text
