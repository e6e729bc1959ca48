"""Blocked, taken down or rejected skills: a page with the reason and what to do."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.clocks import NOON
from tests.unit.web.pages_cast import (
    Site,
    a_finding,
    change_skill,
    open_site,
    put_skill,
    put_submission,
)
from vskill_platform.model.block import publisher_subject
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.verdict import FindingKind, Severity
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env

PAGE = "/skills/ada/notes/tidy"
S = SubmissionState


@pytest.fixture
async def site(env: WorkerEnv) -> AsyncIterator[Site]:
    async with open_site(env) as opened:
        yield opened


async def test_a_blocked_skill_says_why(site: Site, env: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(env, tmp_path)
    subject = publisher_subject("github.com/ada")
    await run_with_worker_env(env, lambda: block(subject, reason="It <b>stole</b>.", actor="cyd"))

    parts = ("", "/files", "/versions", "/security", "/download", "/raw/SKILL.md", "/diff")
    pages = [await site.get(PAGE + part) for part in parts]

    assert {page.status_code for page in pages} == {410}
    assert "tidy</span> is blocked" in pages[0].text
    assert "It &lt;b&gt;stole&lt;/b&gt;." in pages[0].text
    assert "On the blocklist" in pages[0].text
    assert "remove it and rotate every credential" in pages[0].text
    assert "/submissions/sub_ada-notes-tidy" in pages[0].text


async def test_a_skill_that_was_taken_down_says_why(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    down = TakenDown(reason="a rescan found worse", by="cron", at=NOON)
    await change_skill(env, "ada/notes/tidy", down=down)

    page = await site.get(PAGE)

    assert page.status_code == 410
    assert "tidy</span> was taken down" in page.text
    assert "A rescan found worse" in page.text


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (S.TIER1_FAILED, ("failed checks", "Rejected by the scanner", "submit it again.</li>")),
        (S.REJECTED, ("was rejected", "Rejected, ")),
        (S.BLOCKED, ("is blocked", "On the blocklist", "appeal on the page of the submission")),
        (S.DEQUEUED, ("was withdrawn", "Withdrawn, ", "submit it again")),
        (S.NEEDS_REVIEW, ("needs review", "Waiting for review since", "can take days")),
        (S.RECEIVED, ("is still being checked", "Reload this page in a moment")),
        (S.TIER2_SCANNING, ("is still being checked", "Reload this page in a moment")),
    ],
    ids=lambda value: value if isinstance(value, S) else "",
)
async def test_a_name_that_was_only_submitted_has_an_honest_page(
    site: Site, env: WorkerEnv, state: SubmissionState, words: tuple[str, ...]
) -> None:
    grave = a_finding(
        severity=Severity.CRITICAL,
        kind=FindingKind.MALICIOUS,
        message="Sends credentials to a third party.",
    )
    sent = await put_submission(env, state, findings=(grave,), reason="leaks <i>secrets</i>")

    page = await site.get(PAGE)

    assert page.status_code == 404
    for word in words:
        assert word in page.text
    assert "Leaks &lt;i&gt;secrets&lt;/i&gt;" in page.text
    assert "Sends credentials to a third party</h3>" in page.text
    assert f"/submissions/{sent.id}" in page.text


async def test_of_several_submissions_the_latest_counts(site: Site, env: WorkerEnv) -> None:
    await put_submission(env, S.REJECTED, reason="the first")
    later = NOON.replace(hour=NOON.hour + 1)
    await put_submission(env, S.TIER1_FAILED, reason="the second", updated_at=later)

    page = await site.get(PAGE)

    assert "The second" in page.text
    assert "The first" not in page.text


async def test_the_same_name_of_somebody_else_is_another_one(site: Site, env: WorkerEnv) -> None:
    await put_submission(env, S.REJECTED, url="https://github.com/ben/notes")
    await put_submission(env, S.REJECTED, url="https://git.example/ada/notes")

    ours = await site.get(PAGE)
    theirs = await site.get("/skills/git.example/ada/notes/tidy")

    assert "It is what it is." not in ours.text
    assert ours.status_code == 404
    assert "It is what it is." in theirs.text


async def test_a_private_submission_is_nobody_elses_business(site: Site, env: WorkerEnv) -> None:
    await put_submission(env, S.REJECTED, is_private=True, reason="hush")

    page = await site.get(PAGE)
    unknown = await site.get("/skills/ada/notes/nothing")

    assert (page.status_code, unknown.status_code) == (404, 404)
    assert "ush" not in page.text


async def test_an_unknown_skill_is_not_found(site: Site) -> None:
    page = await site.get("/skills/ada/notes/<script>alert(1)")

    assert page.status_code == 404
    assert "<script>alert" not in page.text


async def test_a_submission_that_needs_review_was_not_rejected_by_anybody(
    site: Site, env: WorkerEnv
) -> None:
    await put_submission(env, S.NEEDS_REVIEW)

    page = (await site.get(PAGE)).text

    assert "Rejected" not in page
    assert "in a moment" not in page
    assert "A reviewer decides" in page


@pytest.mark.parametrize("address", ["ada/notes/zebra", "ada/notes/zebra/files", "zebra"])
async def test_an_unknown_name_can_be_searched_for(site: Site, address: str) -> None:
    page = await site.get(f"/skills/{address}")
    elsewhere = await site.get("/nowhere")

    assert page.status_code == 404
    assert 'name="q" type="search" value="zebra"' in page.text
    assert 'type="search" value=' not in elsewhere.text
