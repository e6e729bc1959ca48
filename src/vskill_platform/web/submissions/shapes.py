"""What the API takes and gives, in the words of its clients."""

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
    #: As it was, else for everybody.
    UNSAID = ""
    PUBLIC = "public"
    #: For those of its namespace alone.
    PRIVATE = "private"


class NewSubmission(Shape, frozen=True, kw_only=True):
    """A git repo, perhaps one folder of it, perhaps several."""

    repo_url: Text
    skill_path: Text = ""
    skill_name: Text = ""
    ref: Text = ""
    privacy: Privacy = Privacy.UNSAID
    #: Several at once, each a submission of its own.
    skills: Annotated[tuple[ChosenSkill, ...], msgspec.Meta(max_length=1000)] = ()
    #: What the client calls itself; not kept.
    source: Text = ""
    email: Text = ""
    tenant_id: Text | None = None


class UploadForm(Shape, frozen=True, kw_only=True):
    """One archive, or each file of a folder with its path as its name."""

    files: list[UploadFile]
    #: Empty for the caller's own, or `@local` for nobody's.
    namespace: Text = ""
    privacy: Privacy = Privacy.UNSAID


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
    #: Whether it may be further behind: places are counted up to 1,000.
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
    #: By the ids of submissions.
    positions: dict[str, int]
    #: How many messages are in the queue, whoever they are about.
    total: int


class EventItem(Shape, frozen=True, kw_only=True):
    from_state: str | None
    to_state: str
    trigger: str
    actor: str
    reason: str
    at: datetime


class FailureItem(Shape, frozen=True, kw_only=True):
    """Why a check could not be made or finished."""

    code: str
    title: str
    message: str
    #: What to do about it.
    fix: str
    file: str | None
    line: int | None


class ScanItem(Shape, frozen=True, kw_only=True):
    verdict: str
    #: Null if a failure kept the check from a result.
    score: int | None
    #: Empty if the check was finished. Each is also among the findings, for older clients.
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
    #: Whether it may be further behind: places are counted up to 1,000.
    position_is_minimum: bool
    next_step: str
    #: What the caller may do with it now.
    may_retry: bool
    may_withdraw: bool
    attempts: int
    scan_result: ScanItem | None
    #: There whenever it is blocked.
    block_info: BlockInfo | None
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
