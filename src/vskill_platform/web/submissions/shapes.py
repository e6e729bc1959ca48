"""JSON of submissions, with the field names that existing clients use."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from litestar.datastructures import UploadFile

from vskill_platform.model.verdict import Finding
from vskill_platform.web.http.api_types import Shape, Text


class ChosenSkill(Shape, frozen=True, kw_only=True):
    path: Text
    name: Text = ""


class Privacy(StrEnum):
    #: The visibility does not change; a new skill is public.
    UNSAID = ""
    PUBLIC = "public"
    #: Visible only to namespace members.
    PRIVATE = "private"


class NewSubmission(Shape, frozen=True, kw_only=True):
    """A git repository: all of it, one folder, or several."""

    repo_url: Text
    skill_path: Text = ""
    skill_name: Text = ""
    ref: Text = ""
    privacy: Privacy = Privacy.UNSAID
    #: Several skills, each a separate submission.
    skills: Annotated[tuple[ChosenSkill, ...], msgspec.Meta(max_length=1000)] = ()
    #: Name of the client; not stored.
    source: Text = ""
    email: Text = ""
    tenant_id: Text | None = None


class UploadForm(Shape, frozen=True, kw_only=True):
    """One archive, or each file of a folder with its path as its name."""

    files: list[UploadFile]
    #: Empty for the caller's own namespace, or `@local` without an account.
    namespace: Text = ""
    privacy: Privacy = Privacy.UNSAID


class SubmissionResponse(Shape, frozen=True, kw_only=True, omit_defaults=True):
    """The result: created, or one of the other flags as the reason."""

    id: str
    submission_id: str
    state: str
    created_at: datetime
    skill_name: str
    skill_path: str
    #: Position in the queue: 1 is next.
    position: int | None = None
    #: Whether the position may be higher: positions are counted up to 1,000.
    position_is_minimum: bool = False
    duplicate: bool = False
    already_verified: bool = False
    requeued: bool = False
    blocked: bool = False
    reason: str = ""
    skill_id: str | None = None


class RefusedSkill(Shape, frozen=True, kw_only=True):
    path: str
    error: str


class SubmissionsResponse(Shape, frozen=True, kw_only=True):
    submissions: list[SubmissionResponse]
    count: int
    skipped: list[RefusedSkill]
    repo_url: str
    set_id: str


class SubmissionItem(Shape, frozen=True, kw_only=True):
    id: str
    skill_name: str
    skill_path: str
    repo_url: str
    state: str
    reason: str
    score: int | None
    submitter: str
    is_private: bool
    created_at: datetime
    updated_at: datetime
    published_skill_name: str | None
    set_id: str | None


class SubmissionList(Shape, frozen=True, kw_only=True):
    submissions: list[SubmissionItem]
    total: int
    queue_positions: dict[str, int]
    next_cursor: str | None = None


class Positions(Shape, frozen=True, kw_only=True):
    #: By submission id.
    positions: dict[str, int]
    #: Number of messages in the queue.
    total: int


class EventItem(Shape, frozen=True, kw_only=True):
    from_state: str | None
    to_state: str
    trigger: str
    actor: str
    reason: str
    at: datetime
    #: The reviewer, if this is an approval by one.
    approved_by: str | None


class FailureItem(Shape, frozen=True, kw_only=True):
    """Why a check did not finish."""

    code: str
    title: str
    message: str
    #: What to do about it.
    fix: str
    file: str | None
    line: int | None


class ScanItem(Shape, frozen=True, kw_only=True):
    verdict: str
    #: Null if the check did not finish.
    score: int | None
    #: Empty if the check finished. Each is also in `findings`, for older clients.
    failures: tuple[FailureItem, ...]
    findings: tuple[Finding, ...]
    scanner: str
    ruleset: str
    checked_at: datetime
    decided: str
    capabilities: dict[str, tuple[str, ...]]
    digest: str | None


class BlockInfo(Shape, frozen=True, kw_only=True):
    reason: str
    blocked_at: datetime


class SubmissionDetail(Shape, frozen=True, kw_only=True):
    id: str
    state: str
    reason: str
    repo_url: str
    ref: str
    skill_name: str
    skill_path: str
    submitter: str
    is_private: bool
    created_at: datetime
    updated_at: datetime
    published_skill_name: str | None
    set_id: str | None
    position: int | None
    #: Whether the position may be higher: positions are counted up to 1,000.
    position_is_minimum: bool
    next_step: str
    #: What the caller may do now.
    may_retry: bool
    may_withdraw: bool
    attempts: int
    scan_result: ScanItem | None
    #: Present if blocked.
    block_info: BlockInfo | None
    state_history: list[EventItem]
    #: Time of each state change, and duration of each state.
    stage_timings: dict[str, Any]
    timings: dict[str, float]


class FoundItem(Shape, frozen=True, kw_only=True):
    name: str
    path: str
    description: str
    is_fine: bool
    problems: tuple[str, ...]


class Discovered(Shape, frozen=True, kw_only=True):
    repo_url: str
    commit_sha: str | None
    skills: list[FoundItem]


class DiscoverRequest(Shape, frozen=True, kw_only=True):
    repo_url: Text
    ref: Text = ""
    path: Text = ""
