"""Reviews over the API: what waits for a person, and what the person says."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from litestar import Request
from litestar.params import FromPath, JSONBody

from vskill_platform.publish.moderation.list_reviews import get_case, list_reviews
from vskill_platform.publish.moderation.review_skill import Ruling, approve, recheck, reject
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.shapes import FileItem
from vskill_platform.web.submissions.shapes import ReasonGiven, ScanItem, Shape, Text
from vskill_platform.web.submissions.submission_json import scan_item

ApiRequest = Request[Any, Any, Any]


class RulingKind(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"
    RECHECK = "recheck"


_RULINGS = {RulingKind.APPROVE: approve, RulingKind.REJECT: reject, RulingKind.RECHECK: recheck}


class ReviewItem(Shape, frozen=True, kw_only=True):
    id: str
    skill_name: str
    repo_url: str
    skill_path: str
    submitter: str
    #: Since when it waits; for how long that is, the reader's clock says.
    since: datetime
    decided: str
    rule: str | None


class ReviewList(Shape, frozen=True, kw_only=True):
    reviews: list[ReviewItem]
    count: int


class ReviewDetail(Shape, frozen=True, kw_only=True):
    id: str
    state: str
    skill_name: str
    repo_url: str
    skill_path: str
    submitter: str
    #: Names the content that was checked, "" if there is none; a ruling says which one it is about.
    digest: str
    #: The version that is published now, if there is one.
    published: str | None
    #: What it can do that the published one cannot.
    gained: dict[str, tuple[str, ...]]
    report: ScanItem | None
    files: list[FileItem]


class RulingGiven(ReasonGiven, frozen=True, kw_only=True):
    #: The digest of what was looked at; only `recheck` goes without it.
    digest: Text | None = None


class Ruled(Shape, frozen=True, kw_only=True):
    id: str
    state: str
    reason: str
    published_skill_name: str | None


async def reviews_over_api() -> ReviewList:
    """List what waits for a person, the longest waiting first."""
    found = await list_reviews()
    return ReviewList(
        reviews=[
            ReviewItem(
                id=one.id,
                skill_name=one.skill,
                repo_url=one.source,
                skill_path=one.path,
                submitter=one.submitter,
                since=one.since,
                decided=one.decided,
                rule=one.finding.rule if one.finding else None,
            )
            for one in found
        ],
        count=len(found),
    )


async def review_over_api(submission_id: FromPath[str]) -> ReviewDetail:
    """Show all that a reviewer needs for a decision."""
    case = await get_case(submission_id)
    submission = case.submission
    return ReviewDetail(
        id=submission.id,
        state=submission.state,
        skill_name=submission.skill_name,
        repo_url=submission.repo_url,
        skill_path=submission.skill_path,
        submitter=submission.submitter,
        digest=submission.digest or "",
        published=case.published,
        gained={kind: tuple(items) for kind, items in case.gained.items()},
        report=scan_item(case.report) if case.report else None,
        files=[
            FileItem(
                path=file.path, size=file.size, sha256=file.sha256, is_executable=file.is_executable
            )
            for file in case.files
        ],
    )


async def rule_over_api(
    request: ApiRequest,
    submission_id: FromPath[str],
    ruling: FromPath[RulingKind],
    data: JSONBody[RulingGiven],
) -> Ruled:
    """Approve and publish exactly what was checked, reject it, or have it checked again."""
    said = Ruling(
        submission_id=submission_id,
        reviewer=visitor_of(request).name,
        reason=data.reason,
        seen=data.digest,
    )
    done = await _RULINGS[ruling](said)
    return Ruled(id=done.id, state=done.state, reason=done.reason, published_skill_name=done.slug)
