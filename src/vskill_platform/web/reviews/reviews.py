"""The pages of reviews: the list, one submission, and the decision."""

from enum import StrEnum
from functools import partial

import msgspec
from litestar.params import FromPath
from litestar.response import Redirect, Template

from vskill_platform.base.off_loop import in_few_threads, work_in_thread
from vskill_platform.errors import Busy, NotFound
from vskill_platform.model.failure import results_in
from vskill_platform.model.submission import StateEvent, Submission, SubmissionState
from vskill_platform.model.verdict import Finding
from vskill_platform.publish.moderation.hold_skill import opened_held_skill
from vskill_platform.publish.moderation.list_reviews import (
    Case,
    diff_to_published,
    get_case,
    list_reviews,
)
from vskill_platform.publish.moderation.review_skill import (
    ReviewDecision,
    approve,
    recheck,
    reject,
    why_not_approve,
)
from vskill_platform.publish.versions.version_files import text_of
from vskill_platform.stores.submission_store import get_waiting_reviews
from vskill_platform.web.html.findings import ShownFinding
from vskill_platform.web.html.flash import act, admin_page
from vskill_platform.web.html.highlight import Code, highlight, lexer_of_path
from vskill_platform.web.html.numbered_lines import show_lines
from vskill_platform.web.http.api_types import MAX_REASON
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest, whole_number
from vskill_platform.web.http.urls import with_query
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.reviews.known_bad import find_known_bad
from vskill_platform.web.skills.capabilities import group_capabilities
from vskill_platform.web.skills.diff_page import DiffPage, show_page

_MAX_SHOWN_BYTES = 512 * 1024
#: The link to a finding below this line shows the file from this many lines before the finding.
_MAX_FIRST_LINE, _LINES_BEFORE = 1_000, 20


class DecisionKind(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"
    RECHECK = "recheck"


#: The action of each decision, and its flash message.
DECISIONS = {
    DecisionKind.APPROVE: (approve, "is published"),
    DecisionKind.REJECT: (reject, "is rejected"),
    DecisionKind.RECHECK: (recheck, "is checked again"),
}


class ShownFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    #: Number, text, and whether it has a finding.
    lines: tuple[tuple[int, str, bool], ...] = ()
    #: Why lines are missing; empty if all are shown.
    note: str = ""
    #: The first line of the next page; None after the last.
    following: int | None = None


async def reviews_page(request: WebRequest) -> Template:
    return admin_page(request, "admin/reviews.html", {"reviews": await list_reviews()})


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """The position of a submission among those that need review, and its neighbors."""

    number: int
    count: int
    previous: str | None
    following: str | None
    #: The first submission, which follows the last one.
    oldest_other: str | None


class ShownDiff(msgspec.Struct, frozen=True, kw_only=True):
    page: DiffPage | None = None
    #: Why no lines are shown.
    note: str = ""


async def review_page(request: WebRequest, submission_id: FromPath[str]) -> Template:
    """Show the differences to the published version, the report, and the checked files."""
    case = await get_case(submission_id)
    reviewer = visitor_of(request).name
    path = request.query_params.get("file") or _first_file(case)
    start = whole_number(request.query_params.get("from", ""))
    marked = _marked(case, path) if path else frozenset()
    waits = case.submission.state is SubmissionState.NEEDS_REVIEW
    others = [] if waits else [one for one in await list_reviews() if one.id != submission_id]
    has_diff = case.published and case.submission.state is not SubmissionState.PUBLISHED
    context = {
        "case": case,
        "waits": waits,
        "turn": await _turn(submission_id),
        "reason": request.query_params.get("reason", "")[:MAX_REASON],
        "why_not": await why_not_approve(case.submission, reviewer) if waits else "",
        "diff": await _diff(request, case) if has_diff else None,
        "diff_url": lambda page: with_query(f"/admin/reviews/{submission_id}", page=page),
        "gained": group_capabilities(case.gained),
        "capable": group_capabilities(case.report.capabilities) if case.report else (),
        "known_bad": await find_known_bad(request, case) if waits else None,
        "decided": None if waits else _last_decision(case),
        "next": others[0] if others else None,
        "findings": [
            ShownFinding(item, link=_link(item))
            for item in results_in(case.report.findings if case.report else ())
        ],
        "file": await _read_file(case.submission, path, marked, start) if path else None,
    }
    return admin_page(request, "admin/review.html", context)


async def _turn(submission_id: str) -> Turn | None:
    ids = [one.id for one in await get_waiting_reviews()]
    if submission_id not in ids:
        return None
    at = ids.index(submission_id)
    return Turn(
        number=at + 1,
        count=len(ids),
        previous=ids[at - 1] if at else None,
        following=ids[at + 1] if at + 1 < len(ids) else None,
        oldest_other=ids[0] if at else None,
    )


async def _diff(request: WebRequest, case: Case) -> ShownDiff:
    try:
        files = await diff_to_published(case)
    except (NotFound, Busy) as error:
        return ShownDiff(note=str(error))
    page = await show_page(files, whole_number(request.query_params.get("page", "")))
    return ShownDiff(page=page)


async def ruling_form(
    request: WebRequest, submission_id: FromPath[str], ruling: FromPath[str]
) -> Redirect:
    if ruling not in set(DecisionKind):
        raise NotFound("the decision is approve, reject or recheck")
    decide, words = DECISIONS[DecisionKind(ruling)]
    fields = await read_fields(request)
    turn = await _turn(submission_id)

    async def work() -> str:
        saying = ReviewDecision(
            submission_id=submission_id,
            reviewer=visitor_of(request).name,
            reason=fields.get("reason", ""),
            seen=fields.get("digest"),
        )
        return f"{(await decide(saying)).skill_name} {words}."

    following = (turn.following or turn.oldest_other) if turn else None
    here = f"/admin/reviews/{submission_id}"
    return await act(
        f"/admin/reviews/{following}" if following else "/admin/reviews",
        work,
        on_error=with_query(here, reason=fields.get("reason", "").strip()[:MAX_REASON]),
    )


def _link(item: Finding) -> str:
    """Return the URL of the line on this page; a long file is shown in parts."""
    if not item.file:
        return ""
    line = item.line or 1
    start = line - _LINES_BEFORE if line > _MAX_FIRST_LINE else None
    return with_query("", **{"file": item.file, "from": start}) + f"#L{line}"


def _last_decision(case: Case) -> StateEvent | None:
    """Return the event that ended the review; None if there was none."""
    waiting = SubmissionState.NEEDS_REVIEW
    return next((one for one in reversed(case.history) if one.from_state is waiting), None)


def _first_file(case: Case) -> str:
    """Return the file of the most severe finding, or else SKILL.md."""
    paths = {file.path for file in case.files}
    findings = case.report.findings if case.report else ()
    found = next((item.file for item in findings if item.file in paths), None)
    return found or ("SKILL.md" if "SKILL.md" in paths else "")


def _marked(case: Case, path: str) -> frozenset[int]:
    findings = case.report.findings if case.report else ()
    return frozenset(item.line for item in findings if item.file == path and item.line)


async def _read_file(
    submission: Submission, path: str, marked: frozenset[int], start: int
) -> ShownFile:
    """Read one of the files that are stored until the decision."""
    try:
        async with opened_held_skill(submission) as snapshot:
            known = {file.path: file for file in snapshot.files}
            if path not in known:
                return ShownFile(path=path, note="there is no such file")
            if known[path].size > _MAX_SHOWN_BYTES:
                return ShownFile(path=path, note="the file is too large to be shown")
            raw = await work_in_thread((snapshot.folder / path).read_bytes)
    except NotFound:
        return ShownFile(path=path, note="the files are no longer stored")
    text = text_of(raw)
    if text is None:
        return ShownFile(path=path, note="the file is not text")
    (spans,) = await highlight([Code(text, lexer_of_path(path))])
    found = await in_few_threads(partial(show_lines, text, marked, start=start, spans=spans))
    note = found.note.removesuffix(".")
    return ShownFile(path=path, lines=found.lines, note=note, following=found.following)
