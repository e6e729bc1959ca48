"""The page of one submission: state, findings, and available actions."""

from collections.abc import AsyncIterator
from datetime import timedelta

import msgspec
import pytest

from tests.clocks import NOON, ManualClock
from tests.unit.web.api_cast import (
    Registry,
    anonymous_browser,
    audited,
    browser_of,
    open_registry,
)
from tests.unit.web.pages_cast import a_finding, put_submission
from vskill_platform.access.namespaces import add_owner
from vskill_platform.engines.operations import ABSENT
from vskill_platform.intake.pause_queue import pause_queue
from vskill_platform.intake.requeue import retry
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import folder_source, git_source, upload_source
from vskill_platform.model.submission import Cause, StateEvent, SubmissionState, move
from vskill_platform.model.user import Role
from vskill_platform.model.verdict import FindingKind, Severity
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.submission_set_store import SubmissionSet, put_submission_set
from vskill_platform.stores.submission_store import get_submission, write_submission
from vskill_platform.web.submissions.submission_view import _NEXT_STEPS

HTML = {"Accept": "text/html"}
REPO = "https://github.com/ada/notes"
_S = SubmissionState


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def test_a_queued_submission_shows_its_position_and_follows_changes(
    registry: Registry,
) -> None:
    await submit(git_source(REPO, "first"), submitter="ada")
    submission = (await submit(git_source(REPO, "second"), submitter="ada")).submission
    local = (await submit(folder_source("/srv/den"), submitter="ada")).submission

    page = await registry.get(f"/submissions/{submission.id}", headers=HTML)
    hidden = await registry.get(f"/submissions/{local.id}", headers=HTML)

    assert "Position <b>2</b> in the queue" in page.text
    assert f'data-live="/live/submissions/{submission.id}"' in page.text
    assert f'href="{REPO}"' in page.text
    assert ">Retry<" not in page.text
    assert "Withdraw" not in page.text
    assert "local files" in hidden.text
    assert "/srv/den" not in hidden.text


async def test_a_failed_submission_shows_what_was_found_and_what_to_do(registry: Registry) -> None:
    finding = a_finding(message="<img src=x> AKIAQ3EGRIFGTPLANTZO", file="run.sh", line=7)
    failed = await put_submission(
        registry.env, _S.TIER1_FAILED, name="<b>evil</b>", findings=(finding,)
    )

    page = await registry.get(f"/submissions/{failed.id}", headers=HTML)

    assert "&lt;b&gt;evil&lt;/b&gt;" in page.text
    assert "<img src=x>" not in page.text
    assert "AKIAQ3EGRIFGTPLANTZO" not in page.text
    assert "run.sh" in page.text
    assert "Fix the findings below" in page.text
    assert "Retry" in page.text
    assert "data-live" not in page.text


async def test_a_failure_has_its_own_box_and_no_score(registry: Registry) -> None:
    gone = a_finding(
        rule="RUN-SOURCE", severity=Severity.HIGH, kind=FindingKind.UNVERIFIED,
        message="the repo is gone", fix="Correct the source.", file=None, line=None,
    )  # fmt: skip
    broken = a_finding(
        rule="MAN-002", severity=Severity.HIGH, kind=FindingKind.QUALITY, file="SKILL.md", line=4,
        message="The frontmatter cannot be read.", fix="Start SKILL.md with `---`.",
    )  # fmt: skip
    unfetched = await put_submission(registry.env, _S.REJECTED, findings=(gone,), scanner="none")
    invalid = await put_submission(registry.env, _S.TIER1_FAILED, findings=(broken, a_finding()))

    first = await registry.get(f"/submissions/{unfetched.id}", headers=HTML)
    second = await registry.get(f"/submissions/{invalid.id}", headers=HTML)
    answer = await registry.json(f"/submissions/{unfetched.id}")
    listed = await registry.json("/submissions")

    assert "The source could not be fetched" in first.text
    assert "Correct the source." in first.text
    assert "SKILL.md is not valid" in second.text
    assert "the check did not finish" in second.text
    assert second.text.count('<article class="finding') == 1
    for page in (first, second):
        assert "0 is clean" not in page.text
        assert "No findings" not in page.text
        assert 'class="badge good">Passed' not in page.text
    assert '<article class="finding' not in first.text
    scan = answer["scanResult"]
    assert scan["score"] is None
    assert scan["failures"] == [
        {
            "code": "RUN-SOURCE", "title": "The source could not be fetched",
            "message": "the repo is gone", "fix": "Correct the source.", "file": None, "line": None,
        }
    ]  # fmt: skip
    assert [finding["rule"] for finding in scan["findings"]] == ["RUN-SOURCE"]
    scores = {one["id"]: one["score"] for one in listed["submissions"]}
    assert scores[unfetched.id] is None


async def test_a_block_has_its_own_box_above_the_report_of_the_check(registry: Registry) -> None:
    note = a_finding(
        rule="RUN-BLOCKED", severity=Severity.CRITICAL, kind=FindingKind.UNVERIFIED, file=None,
        message="It is blocked (content): steals keys.", fix="Ask the operator.",
    )  # fmt: skip
    doubt = a_finding(message="Runs code from an untrusted host.", severity=Severity.MEDIUM)
    blocked = await put_submission(
        registry.env, _S.BLOCKED, findings=(note, doubt), reason="blocked (content): steals keys"
    )
    unread = await put_submission(
        registry.env, _S.BLOCKED, findings=(note,), scanner="none", reason="blocked: a publisher"
    )

    page = await registry.get(f"/submissions/{blocked.id}", headers=HTML)
    other = await registry.get(f"/submissions/{unread.id}", headers=HTML)
    answer = await registry.json(f"/submissions/{blocked.id}")

    assert "Blocked by an operator" in page.text
    assert "The findings of the last check are below" in page.text
    assert "40 of 100" not in page.text
    assert page.text.count('<article class="finding') == 1
    assert "It was not checked." in other.text
    assert '<article class="finding' not in other.text
    assert "0 is clean" not in other.text
    assert answer["blockInfo"]["reason"] == "blocked (content): steals keys"
    assert [finding["rule"] for finding in answer["scanResult"]["findings"]] == [doubt.rule]


async def test_every_state_has_a_page_and_a_next_step(registry: Registry) -> None:
    for state in SubmissionState:
        submission = await put_submission(registry.env, state)

        page = await registry.get(f"/submissions/{submission.id}", headers=HTML)

        assert page.status_code == 200
        assert _NEXT_STEPS[state] in page.text


async def test_it_is_withdrawn_and_retried_by_users_with_the_right(registry: Registry) -> None:
    submission = (await submit(git_source(REPO, "tidy"), submitter="ada")).submission
    ada, ben = await browser_of(Role.PUBLISHER), await browser_of(Role.READER)
    path = f"/submissions/{submission.id}"

    offered = await registry.get(path, headers=ada)
    not_theirs = await registry.post(f"{path}/withdraw", data={"reason": "x"}, headers=ben)
    unsaid = await registry.post(f"{path}/withdraw", data={"reason": ""}, headers=ada)
    done = await registry.post(f"{path}/withdraw", data={"reason": "wrong"}, headers=ada)
    retried = await registry.post(f"{path}/retry", headers=anonymous_browser())
    again = await registry.post(f"{path}/retry", headers=ben)

    assert "Withdraw" in offered.text
    assert (not_theirs.status_code, unsaid.status_code) == (403, 400)
    assert (done.status_code, done.headers["location"]) == (303, path)
    assert retried.status_code == 303
    assert again.status_code == 409
    assert await audited() == [("ada", "withdraw", submission.id)]
    stored = await get_submission(submission.id)
    assert stored
    assert stored.record.state is _S.RECEIVED


async def test_a_private_one_is_not_there_for_others(registry: Registry) -> None:
    ada, ben = await browser_of(Role.PUBLISHER), await browser_of(Role.READER)
    await add_owner("ada", "ada", actor="test")
    hidden = await put_submission(registry.env, _S.REJECTED, name="hushed", is_private=True)
    path = f"/submissions/{hidden.id}"

    own = await registry.get(path, headers=ada)
    others = [
        await registry.get(path, headers=ben),
        await registry.get(path, headers=HTML),
        await registry.post(f"{path}/retry", headers=ben),
        await registry.post(f"{path}/withdraw", data={"reason": "x"}, headers=ben),
    ]

    assert "private (namespace members)" in own.text
    assert {answer.status_code for answer in others} == {404}
    assert not any("hushed" in answer.text for answer in others)


async def test_a_single_submission_has_no_set(registry: Registry) -> None:
    one = await put_submission(registry.env, _S.TIER1_FAILED, name="one", set_id="set_1")
    two = await put_submission(registry.env, _S.TIER1_FAILED, name="two", set_id="set_1")

    async def page_of(*ids: str) -> str:
        together = SubmissionSet(
            id="set_1", source=REPO, submission_ids=ids, submitter="ada",
            updated_at=one.updated_at,
        )  # fmt: skip
        await put_submission_set(together)
        return (await registry.get(f"/submissions/{one.id}", headers=HTML)).text

    assert "Submitted with" not in await page_of(one.id)
    assert "Submitted with" in await page_of(one.id, two.id)


async def test_others_that_a_visitor_may_not_see_are_not_mentioned(registry: Registry) -> None:
    one = await put_submission(registry.env, _S.TIER1_FAILED, name="one", set_id="set_1")
    hidden = await put_submission(
        registry.env, _S.TIER1_FAILED, name="hidden", set_id="set_1", is_private=True
    )
    ids = (one.id, hidden.id)
    await put_submission_set(
        SubmissionSet(
            id="set_1", source=REPO, submission_ids=ids, submitter="ada", updated_at=one.updated_at
        )
    )
    rae = await browser_of(Role.REVIEWER)

    by_stranger = await registry.get(f"/submissions/{one.id}", headers=HTML)
    by_reviewer = await registry.get(f"/submissions/{one.id}", headers=rae)

    assert "Submitted with" not in by_stranger.text
    assert "Submitted with" in by_reviewer.text


async def test_only_operators_see_the_name_of_a_node(registry: Registry) -> None:
    submission = (await submit(git_source(REPO, "tidy"), submitter="ada")).submission
    steps = [
        (_S.TIER1_SCANNING, "claim", "build-7.internal-4242"),
        (_S.RECEIVED, "retry", "build-7.internal-4242"),
        (_S.TIER1_SCANNING, "claim", "build-7.internal-4242"),
        (_S.REJECTED, "fail", "build-7.internal-4242"),
        (_S.RECEIVED, "retry", "ben"),
        (_S.TIER1_SCANNING, "claim", "build-7.internal-4242"),
        (_S.NEEDS_REVIEW, "check", "build-7.internal-4242"),
        (_S.PUBLISHED, "review", "rae"),
    ]
    for state, trigger, actor in steps:
        stored = await get_submission(submission.id)
        assert stored
        cause = Cause(trigger=trigger, actor=actor, reason="so")
        moved, event = move(stored.record, state, cause, now=stored.record.updated_at)
        await registry.env.engine.commit(write_submission(moved, [event], expected=stored.revision))
    path, api = f"/submissions/{submission.id}", f"/api/v1/submissions/{submission.id}"

    by_stranger = await registry.get(path, headers=HTML)
    told = (await registry.get(api)).json()["stateHistory"]
    by_reviewer = await registry.get(path, headers=await browser_of(Role.REVIEWER))

    assert "build-7" not in by_stranger.text
    assert [event["actor"] for event in told] == [
        "ada", "worker", "worker", "worker", "worker", "ben", "worker", "worker", "rae", "rae",
    ]  # fmt: skip
    assert by_reviewer.text.count("build-7.internal-4242") == 6


@pytest.mark.parametrize("state", [_S.PUBLISHED, _S.AUTO_APPROVED], ids=["now", "older release"])
async def test_an_approval_is_shown_with_the_name_of_its_reviewer(
    registry: Registry, state: SubmissionState
) -> None:
    submission = (await submit(git_source(REPO, "tidy"), submitter="ada")).submission
    stored = await get_submission(submission.id)
    assert stored
    event = StateEvent(
        submission_id=submission.id, number=1, from_state=_S.NEEDS_REVIEW, to_state=state,
        trigger="review", actor="rae", reason="I know that host", at=NOON,
    )  # fmt: skip
    published = msgspec.structs.replace(stored.record, state=_S.PUBLISHED, events=2)
    await registry.env.engine.commit(write_submission(published, [event], expected=stored.revision))

    page = await registry.get(f"/submissions/{submission.id}", headers=HTML)

    assert "<b>Approved by rae</b>" in page.text


async def test_a_line_is_shown_once_though_a_finding_rests_on_it_twice(registry: Registry) -> None:
    finding = a_finding(
        message="`name: <b>` differs", file="run.sh", line=7,
        evidence=("curl evil", "run.sh:7 curl evil", "run.sh:9 sh"),
    )  # fmt: skip
    failed = await put_submission(registry.env, _S.TIER1_FAILED, findings=(finding,))

    page = (await registry.get(f"/submissions/{failed.id}", headers=HTML)).text

    assert page.count("curl evil") == 1
    assert "run.sh:9 sh" in page
    assert "<code>name: &lt;b&gt;</code> differs" in page


async def test_without_a_script_it_reloads_only_where_nothing_can_be_typed(
    registry: Registry,
) -> None:
    submission = (await submit(git_source(REPO, "tidy"), submitter="ada")).submission
    doubtful = await put_submission(registry.env, _S.NEEDS_REVIEW)
    ended = await put_submission(registry.env, _S.PUBLISHED)
    ada = await browser_of(Role.PUBLISHER)

    visitor = (await registry.get(f"/submissions/{submission.id}", headers=HTML)).text
    owner = (await registry.get(f"/submissions/{submission.id}", headers=ada)).text
    days = (await registry.get(f"/submissions/{doubtful.id}", headers=HTML)).text
    done = (await registry.get(f"/submissions/{ended.id}", headers=HTML)).text
    await pause_queue(timedelta(hours=1), actor="cyd", reason="a new disk")
    paused = (await registry.get(f"/submissions/{submission.id}", headers=HTML)).text

    reloads, link = 'http-equiv="refresh"', '<noscript><a class="button small" href="">Refresh'
    assert (reloads in visitor, link in visitor) == (True, False)
    assert 'action="/skills" method="get" data-scripted hidden>' in visitor  # not even a search
    assert 'name="reason"' in owner
    for page in (owner, days, paused):
        assert (reloads in page, link in page) == (False, True)
        assert 'action="/skills" method="get">' in page
    assert (reloads in done, link in done) == (False, False)


async def test_while_the_queue_is_paused_it_says_when_it_goes_on(registry: Registry) -> None:
    submission = (await submit(git_source(REPO, "tidy"), submitter="ada")).submission
    in_work = await put_submission(registry.env, _S.TIER1_SCANNING)
    await pause_queue(timedelta(hours=2), actor="cyd", reason="a new disk")

    waiting = (await registry.get(f"/submissions/{submission.id}", headers=HTML)).text
    other = (await registry.get(f"/submissions/{in_work.id}", headers=HTML)).text

    assert "The queue is paused and resumes <time" in waiting
    assert ">in 2 h</time>" in waiting
    assert "paused" not in other


async def test_old_findings_are_not_shown_for_a_resubmission(
    registry: Registry, clock: ManualClock
) -> None:
    failed = await put_submission(
        registry.env, _S.TIER1_FAILED, findings=(a_finding(message="It fetches."),),
        digest="d1" * 9, events=1,
    )  # fmt: skip
    path = f"/submissions/{failed.id}"
    ended = (await registry.get(path, headers=HTML)).text
    clock.advance(days=3)

    await retry(failed.id, actor="ada")
    again = (await registry.get(path, headers=HTML)).text

    before = again[again.index('<details class="card" id="before">') : again.index('id="story"')]
    assert 'id="before"' not in ended
    assert "Findings of the previous check, <time" in before
    assert ">3 days ago</time></summary>" in before
    assert "has not been checked yet" in before
    assert before.index("has not been checked yet") < before.index("It fetches</h3>")
    assert again.count("It fetches</h3>") == 1
    assert ("<dt>Content</dt>" in ended, "<dt>Content</dt>" in again) == (True, False)


async def test_files_that_failed_checks_are_fixed_and_uploaded_again(registry: Registry) -> None:
    stopped = await put_submission(registry.env, _S.TIER1_FAILED)
    upload = msgspec.structs.replace(
        stopped, id="sub_upload", source=upload_source("tidy", "0" * 64), repo_url="upload:@local/t"
    )
    assert await registry.env.engine.commit(write_submission(upload, [], expected=ABSENT))

    of_git = (await registry.get(f"/submissions/{stopped.id}", headers=anonymous_browser())).text
    of_files = (await registry.get("/submissions/sub_upload", headers=anonymous_browser())).text

    assert "Fix the findings below and retry" in of_git
    assert "Upload new files" not in of_git
    assert "upload the files again" in of_files
    assert 'href="/submit">Upload new files</a>' in of_files
    assert "Check the same files again" in of_files
    assert ">Retry<" not in of_files


async def test_reviewers_get_a_link_to_the_review(registry: Registry) -> None:
    waiting = await put_submission(registry.env, _S.NEEDS_REVIEW)
    rae = await browser_of(Role.REVIEWER)
    link = f'href="/admin/reviews/{waiting.id}"'

    assert link in (await registry.get(f"/submissions/{waiting.id}", headers=rae)).text
    assert link not in (await registry.get(f"/submissions/{waiting.id}", headers=HTML)).text
