"""The page of a set of submissions: progress, and only submissions that the visitor may see."""

from collections.abc import AsyncIterator

import pytest

from tests.clocks import NOON
from tests.unit.web.api_cast import Registry, browser_of, open_registry
from tests.unit.web.pages_cast import put_submission
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.submission_set_store import SubmissionSet, put_submission_set

HTML = {"Accept": "text/html"}
SOURCE = git_source("https://github.com/ada/notes").key
_S = SubmissionState


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def _put_set(*members: Submission, source: str = SOURCE) -> None:
    ids = tuple(one.id for one in members)
    await put_submission_set(
        SubmissionSet(
            id="set_1", source=source, submission_ids=ids, submitter="ada", updated_at=NOON
        )
    )


async def test_a_set_shows_how_many_of_its_skills_are_checked(registry: Registry) -> None:
    members = [
        await put_submission(registry.env, state, name=name, set_id="set_1")
        for name, state in (
            ("a-note", _S.PUBLISHED), ("b-note", _S.TIER1_FAILED), ("<b>c", _S.RECEIVED),
        )
    ]  # fmt: skip
    await _put_set(*members)

    page = await registry.get("/sets/set_1", headers=HTML)

    assert "2 of 3 checked" in page.text
    assert '<progress max="3" value="2"' in page.text
    assert "3 skills of one source" in page.text
    assert "<h1>github.com/ada/notes</h1>" in page.text
    assert ">1 published</span>" in page.text
    assert ">1 rejected</span>" in page.text
    assert all(f'href="/submissions/{one.id}"' in page.text for one in members)
    assert "<b>c" not in page.text
    assert 'data-live="/live/queue"' in page.text


async def test_a_set_that_is_done_says_so(registry: Registry) -> None:
    one = await put_submission(registry.env, _S.PUBLISHED, name="a-note", set_id="set_1")
    await _put_set(one, source="/srv/den")

    page = await registry.get("/sets/set_1", headers=HTML)

    assert "All checked" in page.text
    assert "1 skill of one source" in page.text
    assert "/srv/den" not in page.text


async def test_a_set_hides_members_that_a_visitor_may_not_see(registry: Registry) -> None:
    shown = await put_submission(registry.env, _S.PUBLISHED, name="shown", set_id="set_1")
    hidden = await put_submission(
        registry.env, _S.PUBLISHED, name="hushed", set_id="set_1", is_private=True
    )
    await _put_set(shown, hidden)
    rae = await browser_of(Role.REVIEWER)

    to_stranger = await registry.get("/sets/set_1", headers=HTML)
    to_reviewer = await registry.get("/sets/set_1", headers=rae)

    assert "hushed" not in to_stranger.text
    assert "1 skill of one source" in to_stranger.text
    assert "2 skills of one source" in to_reviewer.text


async def test_a_set_without_visible_members_does_not_exist(registry: Registry) -> None:
    hidden = await put_submission(
        registry.env, _S.PUBLISHED, name="hushed", set_id="set_1", is_private=True
    )
    await _put_set(hidden)

    answers = [
        await registry.get(f"/sets/{set_id}", headers=HTML) for set_id in ("set_1", "set_2", "%00")
    ]

    assert {answer.status_code for answer in answers} <= {400, 404}
    assert not any("hushed" in answer.text for answer in answers)
