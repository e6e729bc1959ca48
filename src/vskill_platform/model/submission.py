"""A submission, its states, and the function that moves it between them."""

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from vskill_platform.errors import InvalidTransition
from vskill_platform.model.record import Reasoned, Record, cut_reason
from vskill_platform.model.source import Source


class SubmissionState(StrEnum):
    RECEIVED = "RECEIVED"
    TIER1_SCANNING = "TIER1_SCANNING"
    TIER2_SCANNING = "TIER2_SCANNING"
    NEEDS_REVIEW = "NEEDS_REVIEW"
    AUTO_APPROVED = "AUTO_APPROVED"
    VENDOR_APPROVED = "VENDOR_APPROVED"
    PUBLISHED = "PUBLISHED"
    TIER1_FAILED = "TIER1_FAILED"
    REJECTED = "REJECTED"
    BLOCKED = "BLOCKED"
    DEQUEUED = "DEQUEUED"


_S = SubmissionState

#: States in progress; a submission that stays in one of them too long is stuck.
IN_PROGRESS_STATES = frozenset(
    {_S.RECEIVED, _S.TIER1_SCANNING, _S.TIER2_SCANNING, _S.AUTO_APPROVED, _S.VENDOR_APPROVED}
)
APPROVED_STATES = frozenset({_S.AUTO_APPROVED, _S.VENDOR_APPROVED})
#: Events with this state are decisions about one content. A reviewer's approval leads directly to
#: PUBLISHED; older releases recorded it as AUTO_APPROVED.
_DECIDED_STATES = APPROVED_STATES | {_S.PUBLISHED, _S.REJECTED}
#: The state after an approval by a reviewer.
_APPROVALS = APPROVED_STATES | {_S.PUBLISHED}
#: Final states, until the submission is reopened.
TERMINAL_STATES = frozenset({_S.PUBLISHED, _S.TIER1_FAILED, _S.REJECTED, _S.BLOCKED, _S.DEQUEUED})
STUCK_THRESHOLD = timedelta(minutes=5)
#: When a submission that needs review is due. Only `deadline` uses it: reviewers are reminded after
#: the setting `review_reminder`.
_REVIEW_DUE_AFTER = timedelta(days=1)

#: Every edge of docs/states.md. A recovered submission returns to RECEIVED, even from RECEIVED.
EDGES: dict[SubmissionState, frozenset[SubmissionState]] = {
    _S.RECEIVED: frozenset(
        {_S.TIER1_SCANNING, _S.RECEIVED, _S.REJECTED, _S.BLOCKED, _S.DEQUEUED}
    ),
    _S.TIER1_SCANNING: frozenset(
        {
            _S.TIER2_SCANNING, _S.AUTO_APPROVED, _S.VENDOR_APPROVED, _S.NEEDS_REVIEW,
            _S.TIER1_FAILED, _S.RECEIVED, _S.REJECTED, _S.BLOCKED, _S.DEQUEUED,
        }
    ),
    _S.TIER2_SCANNING: frozenset(
        {
            _S.AUTO_APPROVED, _S.VENDOR_APPROVED, _S.NEEDS_REVIEW,
            _S.RECEIVED, _S.REJECTED, _S.BLOCKED, _S.DEQUEUED,
        }
    ),
    _S.NEEDS_REVIEW: frozenset(
        {_S.PUBLISHED, _S.RECEIVED, _S.REJECTED, _S.BLOCKED, _S.DEQUEUED}
    ),
    _S.AUTO_APPROVED: frozenset({_S.PUBLISHED, _S.RECEIVED, _S.REJECTED, _S.BLOCKED, _S.DEQUEUED}),
    _S.VENDOR_APPROVED: frozenset(
        {_S.PUBLISHED, _S.RECEIVED, _S.REJECTED, _S.BLOCKED, _S.DEQUEUED}
    ),
    _S.PUBLISHED: frozenset({_S.RECEIVED, _S.NEEDS_REVIEW, _S.REJECTED, _S.BLOCKED}),
    _S.TIER1_FAILED: frozenset({_S.RECEIVED, _S.BLOCKED}),
    _S.REJECTED: frozenset({_S.RECEIVED, _S.BLOCKED}),
    _S.BLOCKED: frozenset({_S.RECEIVED}),
    _S.DEQUEUED: frozenset({_S.RECEIVED, _S.BLOCKED}),
}  # fmt: skip


class Waiting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a submission waits for while it has no queue message."""

    #: The scanners that have not responded yet.
    scanners: tuple[str, ...]
    #: After this time it is stuck.
    until: datetime


class Submission(Record, frozen=True, kw_only=True):
    id: str
    source: Source
    repo_url: str
    #: From the manifest once it has been read; before that, the name of the folder or repo.
    skill_name: str
    skill_path: str
    state: SubmissionState
    submitter: str
    created_at: datetime
    updated_at: datetime
    #: The length of its history; the next event gets this number.
    events: int = 0
    #: How many attempts were made since it was last opened.
    attempts: int = 0
    #: Attempts that count towards the limit, since it was last queued: failed ones, and those whose
    #: worker crashed during the check.
    tries: int = 0
    #: The delivery whose attempt is already counted because its check has started.
    counted: str | None = None
    #: How often recovery requeued it since it was last opened.
    recoveries: int = 0
    #: Recovery skips it until this time.
    recover_after: datetime | None = None
    #: The reason for its state, shown to users.
    reason: str = ""
    #: The published skill, if any.
    slug: str | None = None
    #: The digest of the checked content, once fetched.
    digest: str | None = None
    #: The git tree id of the checked folder.
    tree_sha: str | None = None
    #: Shared by submissions from one repo or archive that were submitted together.
    set_id: str | None = None
    #: Seconds spent in each phase of the latest run.
    timings: dict[str, float] = msgspec.field(default_factory=dict)
    #: Set while remote scanners run; cleared by every transition.
    waiting: Waiting | None = None
    #: How often it waited for remote scanners since it was last opened.
    waits: int = 0
    #: Whether only namespace members may see the result.
    is_private: bool = False
    #: Whether the last submitter was allowed to replace a version published from another ref.
    may_replace_ref: bool = False
    #: The version that the last submitter requested; empty for the one in the manifest.
    requested_version: str = ""


class StateEvent(Record, frozen=True, kw_only=True):
    """One event in a submission's history; immutable."""

    submission_id: str
    number: int
    from_state: SubmissionState | None
    to_state: SubmissionState
    #: What triggered it: submit, claim, check, publish, recover …
    trigger: str
    #: The actor: a node, a cron job or a user.
    actor: str
    reason: str
    at: datetime
    #: Seconds per phase of the processing that ended with it, if any.
    timings: dict[str, float] = msgspec.field(default_factory=dict)
    #: The content that an approval, publication or rejection is about; None for other events, and
    #: for events written by older releases.
    digest: str | None = None

    @property
    def approved_by(self) -> str | None:
        """The reviewer who approved it with this event, if any."""
        is_review = self.from_state is SubmissionState.NEEDS_REVIEW
        return self.actor if is_review and self.to_state in _APPROVALS else None

    @property
    def is_submit(self) -> bool:
        """Whether someone with the right to publish has submitted or retried it."""
        # Workers also retry, but only submissions in progress.
        is_retry = self.trigger == "retry" and self.from_state in TERMINAL_STATES
        return self.trigger == "submit" or is_retry


class StuckSubmission(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    state: SubmissionState
    repo_url: str
    skill_name: str
    skill_path: str
    updated_at: datetime
    stuck_for: timedelta


class Cause(Reasoned, msgspec.Struct, frozen=True, kw_only=True):
    """Why a submission changes its state."""

    trigger: str
    actor: str
    reason: str
    #: Seconds per phase of the processing that led here, if any.
    timings: dict[str, float] = msgspec.field(default_factory=dict)


def open_submission(submission: Submission, cause: Cause) -> tuple[Submission, StateEvent]:
    """Create the first event of a new submission."""
    return _record(submission, None, SubmissionState.RECEIVED, cause, submission.created_at)


def move(
    submission: Submission, to: SubmissionState, cause: Cause, *, now: datetime
) -> tuple[Submission, StateEvent]:
    """Move a submission along an edge; return it with the event."""
    if to not in EDGES[submission.state]:
        raise InvalidTransition(f"{submission.id} is {submission.state} and cannot become {to}")
    return _record(submission, submission.state, to, cause, now)


def reopen(submission: Submission, cause: Cause, *, now: datetime) -> tuple[Submission, StateEvent]:
    """Restart a finished submission: same record, same id, a fresh retry budget."""
    fresh = msgspec.structs.replace(
        submission, attempts=0, tries=0, recoveries=0, recover_after=None, waits=0
    )
    return move(fresh, SubmissionState.RECEIVED, cause, now=now)


def wait(submission: Submission, waiting: Waiting, *, reason: str, now: datetime) -> Submission:
    """Keep it in its state, without a queue message, until remote scanners have responded."""
    return msgspec.structs.replace(
        submission,
        waiting=waiting,
        waits=submission.waits + 1,
        tries=0,
        reason=cut_reason(reason),
        updated_at=now,
    )


def deadline(submission: Submission, *, stuck_threshold: timedelta) -> datetime | None:
    """Return when it is due to be checked, or None if it is finished."""
    if submission.state in TERMINAL_STATES:
        return None
    if submission.state is SubmissionState.NEEDS_REVIEW:
        return submission.updated_at + _REVIEW_DUE_AFTER
    moments = [submission.updated_at + stuck_threshold]
    if submission.recover_after:
        moments.append(submission.recover_after)
    if submission.waiting:
        moments.append(submission.waiting.until)
    return max(moments)


def is_stuck(submission: Submission, *, now: datetime, stuck_threshold: timedelta) -> bool:
    """Return whether it is past its deadline, or dated in the future by a wrong clock."""
    age = now - submission.updated_at
    if submission.waiting and submission.updated_at <= now < submission.waiting.until:
        return False
    return submission.state in IN_PROGRESS_STATES and abs(age) >= stuck_threshold


def _record(
    submission: Submission,
    from_state: SubmissionState | None,
    to: SubmissionState,
    cause: Cause,
    now: datetime,
) -> tuple[Submission, StateEvent]:
    event = StateEvent(
        submission_id=submission.id,
        number=submission.events,
        from_state=from_state,
        to_state=to,
        trigger=cause.trigger,
        actor=cause.actor,
        reason=cause.reason,
        at=now,
        timings=cause.timings,
        digest=submission.digest if to in _DECIDED_STATES else None,
    )
    moved = msgspec.structs.replace(
        submission,
        state=to,
        reason=cause.reason,
        updated_at=now,
        events=submission.events + 1,
        waiting=None,
    )
    return moved, event
