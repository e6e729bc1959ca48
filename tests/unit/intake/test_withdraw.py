"""Withdrawing: a submission in progress ends with a reason."""

import msgspec
import pytest

from vskill_platform.errors import InvalidInput, InvalidTransition, NotFound
from vskill_platform.intake.submit import SubmitKind, submit
from vskill_platform.intake.withdraw import withdraw
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.queue.claim_submission import find_submission
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.scan_store import get_report, write_report
from vskill_platform.stores.submission_store import get_history, get_submission

SOURCE = folder_source("/skills/tidy-notes")


async def test_a_withdrawn_submission_ends_with_its_reason(bound: WorkerEnv) -> None:
    submission = (await submit(SOURCE, submitter="ada")).submission

    withdrawn = await withdraw(submission.id, actor="ada", reason="wrong repo")

    assert (withdrawn.state, withdrawn.reason) == (SubmissionState.DEQUEUED, "wrong repo")
    report = await get_report(submission.id)
    assert report
    assert [finding.rule for finding in report.findings] == ["RUN-WITHDRAWN"]
    assert (await get_history(submission.id))[-1].actor == "ada"
    (record,) = (await list_audit()).records
    assert (record.action, record.actor, record.reason) == ("withdraw", "ada", "wrong repo")


async def test_a_reason_of_any_length_leaves_no_long_trace(bound: WorkerEnv) -> None:
    submission = (await submit(SOURCE, submitter="ada")).submission

    await withdraw(submission.id, actor="ada", reason="x" * 1_000_000)

    (record,) = (await list_audit()).records
    for kept in (
        await get_submission(submission.id),
        await get_history(submission.id),
        await get_report(submission.id),
        record,
    ):
        assert len(msgspec.json.encode(kept)) < 5_000


async def test_a_worker_that_gets_it_afterwards_leaves_it_alone(bound: WorkerEnv) -> None:
    submission = (await submit(SOURCE, submitter="ada")).submission
    (delivery,) = await bound.engine.queue.receive(1, lease=bound.settings.lease)

    await withdraw(submission.id, actor="ada", reason="wrong repo")

    assert await find_submission(delivery) is None
    stored = await get_submission(submission.id)
    assert stored
    assert stored.record.state is SubmissionState.DEQUEUED


async def test_it_can_be_submitted_again(bound: WorkerEnv) -> None:
    submission = (await submit(SOURCE, submitter="ada")).submission
    await withdraw(submission.id, actor="ada", reason="wrong repo")

    again = await submit(SOURCE, submitter="ada")

    assert (again.kind, again.submission.id) == (SubmitKind.REQUEUED, submission.id)


async def test_findings_are_kept_below_the_reason_for_the_withdrawal(bound: WorkerEnv) -> None:
    submission = (await submit(SOURCE, submitter="ada")).submission
    await withdraw(submission.id, actor="ada", reason="wrong repo")
    await submit(SOURCE, submitter="ada")
    found = await get_report(submission.id)
    assert found
    risky = msgspec.structs.replace(found.findings[0], rule="SKR-RUN-004")
    report = msgspec.structs.replace(found, findings=(*found.findings, risky), verdict="block")
    await bound.engine.commit([write_report(report)])

    await withdraw(submission.id, actor="cyd", reason="once more")

    kept = await get_report(submission.id)
    assert kept
    assert [finding.rule for finding in kept.findings] == ["RUN-WITHDRAWN", "SKR-RUN-004"]
    assert "once more" in kept.findings[0].message
    assert kept.verdict == "block"


async def test_it_needs_a_reason_and_something_to_end(bound: WorkerEnv) -> None:
    submission = (await submit(SOURCE, submitter="ada")).submission

    with pytest.raises(InvalidInput):
        await withdraw(submission.id, actor="ada", reason=" ")
    await withdraw(submission.id, actor="ada", reason="wrong repo")
    with pytest.raises(InvalidTransition):
        await withdraw(submission.id, actor="ada", reason="again")
    with pytest.raises(NotFound):
        await withdraw("sub_0", actor="ada", reason="none")
