"""Enter tier 2, in which third-party scanners and the judge look at a submission."""

import msgspec

from vskill_platform.errors import Overtaken
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.submission import Cause, Submission, SubmissionState, move
from vskill_platform.publish.moderation.hold_skill import hold_skill
from vskill_platform.publish.versions.apply_registry_rules import build_report, describe
from vskill_platform.scan.scan_skill import ScanResult
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.records import Stored
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.submission_store import write_submission


async def enter_tier2(
    current: Stored[Submission], snapshot: Snapshot, scanned: ScanResult, *, asked: str
) -> Stored[Submission]:
    """Store the state and the report before the long wait, so that processing can resume."""
    if current.record.state is SubmissionState.TIER2_SCANNING:
        submission, events, held = current.record, [], []
    else:
        reason = f"tier 1 completed ({scanned.verdict}); next: {asked}"
        cause = Cause(trigger="check", actor=get_settings().node, reason=reason)
        # The check has ended: if a worker dies from here on, it is not the skill's fault.
        ended = msgspec.structs.replace(
            current.record, tries=current.record.tries - 1, counted=None
        )
        described = describe(ended, snapshot, scanned)
        submission, event = move(described, SubmissionState.TIER2_SCANNING, cause, now=get_now())
        events = [event]
        # If no scanner or judge responds, a reviewer decides about these files.
        held = await hold_skill(submission, snapshot)
    operations = write_submission(submission, events, expected=current.revision)
    report = build_report(submission, snapshot, scanned)
    revision = await commit([*operations, *held, write_report(report)])
    if revision is None:
        raise Overtaken(f"{submission.id} was changed by another process")
    return Stored(submission, revision)
