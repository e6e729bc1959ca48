"""Reviews over the API: list and show submissions that need review, and decide."""

from datetime import datetime

from litestar.params import FromPath, JSONBody

from vskill_platform.publish.moderation.list_reviews import (
    get_case,
    list_reviews,
)
from vskill_platform.publish.moderation.review_skill import (
    ReviewDecision,
)
from vskill_platform.web.http.api_types import ReasonRequest, Shape, Text
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.reviews.reviews import DECISIONS, DecisionKind
from vskill_platform.web.skills.shapes import FileItem
from vskill_platform.web.submissions.shapes import ScanItem
from vskill_platform.web.submissions.submission_json import scan_item


class ReviewItem(Shape, frozen=True, kw_only=True):
    id: str
    skill_name: str
    repo_url: str
    skill_path: str
    submitter: str
    #: When it began to wait for review.
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
    #: Digest of the checked content, "" if there is none; a decision must repeat it.
    digest: str
    #: The published version, if any.
    published: str | None
    #: Capabilities that the published version does not have.
    gained: dict[str, tuple[str, ...]]
    report: ScanItem | None
    files: list[FileItem]


class DecisionRequest(ReasonRequest, frozen=True, kw_only=True):
    #: Digest of the reviewed content; optional for `recheck` only.
    digest: Text | None = None


class DecisionResult(Shape, frozen=True, kw_only=True):
    id: str
    state: str
    reason: str
    published_skill_name: str | None


async def reviews_over_api() -> ReviewList:
    """List submissions that need review, longest waiting first."""
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
    """Show a submission that needs review."""
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
    request: WebRequest,
    submission_id: FromPath[str],
    ruling: FromPath[DecisionKind],
    data: JSONBody[DecisionRequest],
) -> DecisionResult:
    """Approve and publish the checked content, reject it, or check it again."""
    decision = ReviewDecision(
        submission_id=submission_id,
        reviewer=visitor_of(request).name,
        reason=data.reason,
        seen=data.digest,
    )
    decide, _ = DECISIONS[ruling]
    done = await decide(decision)
    return DecisionResult(
        id=done.id, state=done.state, reason=done.reason, published_skill_name=done.slug
    )
