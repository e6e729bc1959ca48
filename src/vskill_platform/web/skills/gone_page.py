"""The page of a skill that is not available: what happened, why, and what to do."""

from datetime import datetime
from typing import Any

import msgspec
from litestar import Response
from litestar.response import Template
from litestar.status_codes import HTTP_404_NOT_FOUND, HTTP_410_GONE

from vskill_platform.catalogue.query import SubmissionQuery, SubmissionSort
from vskill_platform.errors import NotFound
from vskill_platform.fetch.mirrors.fetch_mirrored import get_mirror
from vskill_platform.model.failure import results_in
from vskill_platform.model.mirror import parse_mirrored
from vskill_platform.model.skill import PublishedSkill, TakenDown
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.model.verdict import Report, in_order
from vskill_platform.scan.reports.source_lines import without_secrets
from vskill_platform.stores.deleted_skill_store import get_deleted_skill
from vskill_platform.stores.scan_store import get_report
from vskill_platform.stores.submission_store import get_submission, get_submissions_fresh
from vskill_platform.web.html.findings import ShownFinding
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of

_S = SubmissionState
#: How many submissions with the same name are considered; the queue page shows all.
_MAX_NAMESAKES = 50
#: How many findings are shown here; the submission page shows all.
_MAX_FINDINGS = 50
#: Why a submission ended without a publication.
_STAGES: dict[SubmissionState, str] = {
    _S.TIER1_FAILED: "Rejected by the scanner",
    _S.REJECTED: "Rejected",
    _S.BLOCKED: "On the blocklist",
    _S.DEQUEUED: "Withdrawn",
}
_TITLES: dict[SubmissionState, str] = {
    _S.TIER1_FAILED: "failed checks",
    _S.REJECTED: "was rejected",
    _S.BLOCKED: "is blocked",
    _S.DEQUEUED: "was withdrawn",
    _S.NEEDS_REVIEW: "needs review",
    _S.PUBLISHED: "is no longer available",
}


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """Why a skill cannot be installed."""

    slug: str
    #: The heading after the name of the skill.
    title: str
    reason: str
    #: When it happened; None if unknown.
    at: datetime | None
    stage: str = ""
    tone: str = "bad"
    skill: PublishedSkill | None = None
    submission: Submission | None = None
    report: Report | None = None
    findings: tuple[ShownFinding, ...] = ()

    @property
    def is_blocked(self) -> bool:
        return self.stage == _STAGES[_S.BLOCKED]

    @property
    def needs_review(self) -> bool:
        return self.submission is not None and self.submission.state is _S.NEEDS_REVIEW


async def taken_down(skill: PublishedSkill, down: TakenDown) -> Response[Any]:
    """Return the page of a skill that was published and taken down."""
    stored = await get_submission(skill.submission_id)
    submission = stored.record if stored else None
    is_blocked = submission is not None and submission.state is _S.BLOCKED
    gone = Gone(
        slug=skill.slug,
        title="is blocked" if is_blocked else "was taken down",
        reason=down.reason,
        at=down.at,
        stage="On the blocklist" if is_blocked else "",
        skill=skill,
        submission=submission,
    )
    return _page(await _with_findings(gone), HTTP_410_GONE)


async def deleted(slug: str) -> Response[Any] | None:
    """Return the page of a deleted skill; None if there was none, or if it was private."""
    gone = await get_deleted_skill(slug)
    if gone is None or gone.record.is_private:
        return None
    mark = gone.record
    return _page(
        Gone(slug=slug, title="was deleted", reason=mark.reason, at=mark.at, stage="Deleted"),
        HTTP_410_GONE,
    )


async def never_published(request: WebRequest, slug: str) -> Response[Any]:
    """Return the page of a submitted but unpublished skill; raise NotFound for others."""
    submission = await find_submission(request, slug)
    if submission is None:
        named = parse_mirrored(slug)
        if named and get_mirror(named.mirror):
            raise NotFound(
                f"{slug} is not here yet: it is fetched from {named.mirror} and checked when a "
                "client installs it"
            )
        raise NotFound(f"there is no skill {slug!r}", look_for=slug.rsplit("/", 1)[-1])
    state = submission.state
    gone = Gone(
        slug=slug,
        title=_TITLES.get(state, "is still being checked"),
        reason=submission.reason,
        at=submission.updated_at,
        stage=_STAGES.get(state, ""),
        tone="bad" if state in _STAGES else "info",
        submission=submission,
    )
    return _page(await _with_findings(gone), HTTP_404_NOT_FOUND)


def blocked_version(skill: PublishedSkill, version: str, reason: str) -> Response[Any]:
    """Return the page of a blocked version of an available skill."""
    return _page(
        Gone(
            slug=skill.slug,
            title=f"{version} is blocked",
            reason=reason,
            at=None,
            stage="On the blocklist",
            skill=skill,
        ),
        HTTP_410_GONE,
    )


async def find_submission(request: WebRequest, slug: str) -> Submission | None:
    """Return the latest visible submission that would be published under this slug."""
    words = slug.split("/")
    visible = await visible_to(visitor_of(request))
    found: list[Submission] = []
    for namespace in {words[0], "/".join(words[:2]), f"file/{words[0]}"}:
        query = SubmissionQuery(
            text=words[-1],
            namespace=namespace,
            sort=SubmissionSort.UPDATED,
            limit=_MAX_NAMESAKES,
            visible=visible,
        )
        rows = (await catalogue_of(request).list_submissions(query)).rows
        found += await get_submissions_fresh([row.id for row in rows])
    wanted = [item for item in found if item.source.slug_of(item.skill_name) == slug]
    return max(wanted, key=lambda item: item.updated_at, default=None)


async def _with_findings(gone: Gone) -> Gone:
    report = await get_report(gone.submission.id) if gone.submission else None
    if report is None:
        return gone
    worst = in_order(results_in(report.findings))[:_MAX_FINDINGS]
    findings = tuple(ShownFinding(without_secrets(item)) for item in worst)
    return msgspec.structs.replace(gone, report=report, findings=findings)


def _page(gone: Gone, status: int) -> Template:
    return Template(
        "pages/skill_gone.html",
        status_code=status,
        context={"section": "skills", "gone": gone, "narrow": True},
    )
