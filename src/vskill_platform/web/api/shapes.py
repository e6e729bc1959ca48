"""What the API takes and gives, in the words of its clients."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from vskill_platform.model.verdict import Finding

MAX_REASON = 500
Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_REASON)]
Text = Annotated[str, msgspec.Meta(max_length=500)]


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """JSON in camel case, as the clients of this API write and read it."""


class ReasonGiven(Shape, frozen=True, kw_only=True):
    reason: Reason


class ChosenSkill(Shape, frozen=True, kw_only=True):
    path: Text
    name: Text = ""


class NewSubmission(Shape, frozen=True, kw_only=True):
    """A git repo, perhaps one folder of it, perhaps several."""

    repo_url: Text
    skill_path: Text = ""
    skill_name: Text = ""
    ref: Text = ""
    #: `private` for those of its namespace alone.
    privacy: Text = ""
    #: Several at once, each a submission of its own.
    skills: Annotated[tuple[ChosenSkill, ...], msgspec.Meta(max_length=1000)] = ()
    #: What the client calls itself; not kept.
    source: Text = ""
    email: Text = ""
    tenant_id: Text | None = None


class SubmissionAnswer(Shape, frozen=True, kw_only=True, omit_defaults=True):
    """What became of it: created, or one of the flags says what else."""

    id: str
    submission_id: str
    state: str
    created_at: datetime
    skill_name: str
    skill_path: str
    #: Its place in the queue: 1 is next.
    position: int | None = None
    duplicate: bool = False
    already_verified: bool = False
    requeued: bool = False
    blocked: bool = False
    reason: str = ""
    skill_id: str | None = None


class RefusedSkill(Shape, frozen=True, kw_only=True):
    path: str
    error: str


class SubmissionsAnswer(Shape, frozen=True, kw_only=True):
    submissions: list[SubmissionAnswer]
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
    created_at: datetime
    updated_at: datetime
    published_skill_name: str | None
    set_id: str | None


class SubmissionList(Shape, frozen=True, kw_only=True):
    submissions: list[SubmissionItem]
    total: int
    queue_positions: dict[str, int]
    next_cursor: str | None = None


class EventItem(Shape, frozen=True, kw_only=True):
    from_state: str | None
    to_state: str
    trigger: str
    actor: str
    reason: str
    at: datetime


class ScanItem(Shape, frozen=True, kw_only=True):
    verdict: str
    score: int
    findings: tuple[Finding, ...]
    scanner: str
    ruleset: str
    checked_at: datetime
    decided: str
    capabilities: dict[str, tuple[str, ...]]
    digest: str | None


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
    next_step: str
    attempts: int
    scan_result: ScanItem | None
    state_history: list[EventItem]
    #: When it came to each state, and for how long it was in each.
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
