"""Apply the result of a rescan: the skill needs review, or it is taken down."""

from enum import StrEnum

import msgspec

from vskill_platform.engines.operations import Operation
from vskill_platform.model.decision import Outcome
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.model.submission import Cause, Submission, SubmissionState, move
from vskill_platform.publish.moderation.hold_skill import hold_skill
from vskill_platform.publish.moderation.take_down import take_down
from vskill_platform.publish.versions.check_version import (
    CheckedVersion,
    check_version,
    opened_version,
)
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.records import Stored
from vskill_platform.stores.rescan_store import Rescan
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.skill_store import get_skill
from vskill_platform.stores.submission_store import get_submission, write_submission
from vskill_platform.stores.version_store import get_version


class Consequence(StrEnum):
    #: It needs review, and is not available until then.
    REVIEW = "review"
    #: It is rejected, and no longer available.
    REJECT = "reject"


_ENDS = {
    Consequence.REVIEW: SubmissionState.NEEDS_REVIEW,
    Consequence.REJECT: SubmissionState.REJECTED,
}


async def apply_rescan(rescan: Rescan, consequence: Consequence, *, actor: str) -> bool:
    """Apply the result if the skill is unchanged; return whether it was applied.

    The files are checked once more, because the stored result may be outdated. Everything is one
    commit, so only one of two operators succeeds, and a crash leaves no half-applied result.
    """
    skill = await get_skill(rescan.slug)
    if skill is None or skill.record.down or skill.record.digest != rescan.digest:
        return False
    submission = await get_submission(skill.record.submission_id)
    number = skill.record.latest_number
    version = await get_version(rescan.slug, number) if number else None
    if submission is None or version is None:
        return False
    operations = await _consequences(skill, submission, version, rescan, consequence, actor)
    return bool(operations) and await commit(operations) is not None


async def _consequences(
    skill: Stored[PublishedSkill],
    submission: Stored[Submission],
    version: SkillVersion,
    rescan: Rescan,
    consequence: Consequence,
    actor: str,
) -> list[Operation]:
    async with opened_version(version, submission.record) as snapshot:
        checked = await check_version(submission.record, snapshot)
        if checked.decision.outcome is Outcome.PUBLISH:  # the rules have changed
            return []
        reason = f"rescanned with the current rules: {_why(checked)}"
        operations = await take_down(skill, reason=reason, actor=actor)
        if submission.record.state is SubmissionState.PUBLISHED:
            cause = Cause(trigger="rescan", actor=actor, reason=reason)
            end = _ENDS[consequence]
            held = msgspec.structs.replace(submission.record, digest=version.digest)
            moved, event = move(held, end, cause, now=get_now())
            operations += write_submission(moved, [event], expected=submission.revision)
            operations.append(write_report(checked.report))
            if end is SubmissionState.NEEDS_REVIEW:
                operations += await hold_skill(moved, snapshot)
    target = f"{rescan.slug} {version.version}"
    outcome = f"{rescan.old} → {checked.decision.outcome}; taken down, {consequence}"
    audit = write_audit("rescan apply", target, actor=actor, reason=reason, outcome=outcome)
    return [*operations, audit]


def _why(checked: CheckedVersion) -> str:
    deciding = checked.decision.deciding
    return deciding[0].message if deciding else checked.decision.clause
