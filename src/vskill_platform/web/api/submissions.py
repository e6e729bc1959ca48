"""Submissions over the API: in, and all that is known of them."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED

from vskill_platform.access.visibility import find_visible_submission
from vskill_platform.catalogue.query import SubmissionQuery, SubmissionRow, SubmissionSort
from vskill_platform.errors import InvalidInput, SourceRefused
from vskill_platform.intake.read_source import read_remote_source
from vskill_platform.intake.submit import SubmitKind, SubmitResult
from vskill_platform.intake.submit_set import SubmittedSet
from vskill_platform.model.access import Right
from vskill_platform.model.source import Source
from vskill_platform.model.submission import StateEvent, SubmissionState
from vskill_platform.model.verdict import Report
from vskill_platform.scan.code_context import without_secrets
from vskill_platform.stores.db import get_settings
from vskill_platform.web.access.visitor import visitor_of
from vskill_platform.web.api.cursors import offset_cursor, read_offset
from vskill_platform.web.api.shapes import (
    Discovered,
    DiscoverRequest,
    EventItem,
    FoundItem,
    NewSubmission,
    ReasonGiven,
    RefusedSkill,
    ScanItem,
    SubmissionAnswer,
    SubmissionDetail,
    SubmissionItem,
    SubmissionList,
    SubmissionsAnswer,
)
from vskill_platform.web.catalogue_access import catalogue_of, visible_to
from vskill_platform.web.hand_in import (
    looked_through,
    submit_chosen,
    submit_files,
    submit_source,
)
from vskill_platform.web.pages.queue import positions_of
from vskill_platform.web.pages.submit import MAX_FORM_BYTES, read_files
from vskill_platform.web.submission_view import (
    SubmissionView,
    retry_submission,
    view_submission,
    withdraw_submission,
)

ApiRequest = Request[Any, Any, Any]
_READ, _SUBMIT = {"right": Right.ANYONE}, {"right": Right.SUBMIT}
_TAGS = ["Submissions"]
Limit = Annotated[int, QueryParameter(ge=1, le=100)]
Offset = Annotated[int, QueryParameter(ge=0, le=10_000_000)]


@post("/submissions", opt=_SUBMIT, tags=_TAGS, status_code=HTTP_201_CREATED)
async def create_submission(
    request: ApiRequest, data: JSONBody[NewSubmission]
) -> Response[SubmissionAnswer | SubmissionsAnswer]:
    """Submit a skill of a git repo, or several with `skills`; 200 if it was known already."""
    visitor, is_private = visitor_of(request), data.privacy == "private"
    source = _read_source(data.repo_url, data.skill_path, data.ref)
    if data.skills:
        paths = [skill.path for skill in data.skills]
        done = await submit_chosen(visitor, source, paths, is_private=is_private)
        return Response(_set_answer(done, source.url), status_code=HTTP_201_CREATED)
    if not source.path:
        source = await _only_skill(source, data.skill_name)
    result = await submit_source(visitor, source, is_private=is_private)
    is_new = result.kind is SubmitKind.CREATED
    return Response(_answer(result), status_code=HTTP_201_CREATED if is_new else HTTP_200_OK)


@post(
    "/submissions/upload", opt=_SUBMIT, tags=_TAGS, request_max_body_size=MAX_FORM_BYTES,
    status_code=HTTP_201_CREATED,
)  # fmt: skip
async def upload_submission(request: ApiRequest) -> SubmissionsAnswer:
    """Submit files: a form with `files` (one archive, or each file of a folder under its path)."""
    form = await request.form()
    namespace, privacy = form.get("namespace", ""), form.get("privacy", "")
    files = await read_files(form)
    if not files:
        raise InvalidInput("send a form (multipart/form-data) with `files`")
    done = await submit_files(
        visitor_of(request),
        files,
        namespace=namespace if isinstance(namespace, str) else "",
        is_private=privacy == "private",
    )
    return _set_answer(done, "")


@post("/submissions/discover", opt=_SUBMIT, tags=_TAGS, status_code=HTTP_200_OK)
async def discover_skills(data: JSONBody[DiscoverRequest]) -> Discovered:
    """Look which skills a repo holds; nothing is submitted."""
    source = _read_source(data.repo_url, data.path, data.ref)
    async with looked_through(source) as discovery:
        found = [
            FoundItem(
                name=skill.name,
                path=skill.path,
                description=skill.description,
                is_fine=skill.is_fine,
                problems=skill.problems,
            )
            for skill in discovery.skills
        ]
    return Discovered(repo_url=source.url, commit_sha=discovery.commit_sha, skills=found)


@get("/submissions", opt=_READ, tags=_TAGS)
async def list_submissions(
    request: ApiRequest,
    states: Annotated[list[SubmissionState] | None, QueryParameter(name="state")] = None,
    q: Annotated[str, QueryParameter(max_length=200)] = "",
    sort: FromQuery[SubmissionSort] = SubmissionSort.NEWEST,
    set_id: Annotated[str, QueryParameter(name="set", max_length=100)] = "",
    mine: FromQuery[bool] = False,
    limit: Limit = 50,
    offset: Offset = 0,
    cursor: FromQuery[str | None] = None,
) -> SubmissionList:
    """List submissions with their true total; `nextCursor` leads on."""
    visitor = visitor_of(request)
    start = read_offset(cursor, offset)
    query = SubmissionQuery(
        text=q,
        states=tuple(states or ()),
        sort=sort,
        set_id=set_id,
        submitter=visitor.name if mine else "",
        offset=start,
        limit=limit,
        visible=await visible_to(visitor),
    )
    found = await catalogue_of(request).list_submissions(query)
    return SubmissionList(
        submissions=[_item(row) for row in found.rows],
        total=found.total,
        queue_positions=await positions_of(found.rows),
        next_cursor=offset_cursor(start, len(found.rows), found.total),
    )


@get("/submissions/{submission_id:str}", opt=_READ, tags=_TAGS)
async def show_submission(request: ApiRequest, submission_id: FromPath[str]) -> SubmissionDetail:
    """Show one with its history, its timings and what was found."""
    visitor = visitor_of(request)
    submission = (await find_visible_submission(visitor, submission_id)).record
    return _detail(await view_submission(visitor, submission))


@post("/submissions/{submission_id:str}/retry", opt=_SUBMIT, tags=_TAGS, status_code=HTTP_200_OK)
async def retry_over_api(request: ApiRequest, submission_id: FromPath[str]) -> SubmissionDetail:
    """Start an ended submission again, with whatever its source holds now."""
    visitor = visitor_of(request)
    return _detail(await view_submission(visitor, await retry_submission(visitor, submission_id)))


@post("/submissions/{submission_id:str}/withdraw", opt=_SUBMIT, tags=_TAGS, status_code=HTTP_200_OK)
async def withdraw_over_api(
    request: ApiRequest, submission_id: FromPath[str], data: JSONBody[ReasonGiven]
) -> SubmissionDetail:
    """End a submission without a verdict."""
    visitor = visitor_of(request)
    withdrawn = await withdraw_submission(visitor, submission_id, reason=data.reason)
    return _detail(await view_submission(visitor, withdrawn))


def _read_source(url: str, path: str, ref: str) -> Source:
    return read_remote_source(url, settings=get_settings(), path=path, ref=ref)


async def _only_skill(source: Source, name: str) -> Source:
    """Return the one skill of a repo, or the one of that name; else say what there is."""
    async with looked_through(source) as discovery:
        skills = [skill for skill in discovery.skills if not name or skill.name == name]
    if not skills:
        what = f"skill {name!r}" if name else "SKILL.md"
        raise SourceRefused(f"there is no {what} in {source.url}")
    if len(skills) > 1:
        some = ", ".join(skill.path or "(root)" for skill in skills[:5])
        raise SourceRefused(
            f"there are {len(skills)} skills in {source.url} ({some} …); name one with skillPath, "
            "or several with skills"
        )
    return msgspec.structs.replace(source, path=skills[0].path)


def _answer(result: SubmitResult) -> SubmissionAnswer:
    submission = result.submission
    return SubmissionAnswer(
        id=submission.id,
        submission_id=submission.id,
        state=submission.state,
        created_at=submission.created_at,
        skill_name=submission.skill_name,
        skill_path=submission.skill_path,
        position=result.position,
        duplicate=result.kind is SubmitKind.PENDING,
        already_verified=result.kind is SubmitKind.ALREADY_VERIFIED,
        requeued=result.kind is SubmitKind.REQUEUED,
        blocked=result.kind is SubmitKind.BLOCKED,
        reason=result.reason,
        skill_id=submission.slug,
    )


def _set_answer(done: SubmittedSet, repo_url: str) -> SubmissionsAnswer:
    taken = [_answer(member.result) for member in done.members if member.result]
    skipped = [
        RefusedSkill(path=member.skill.path, error=member.error)
        for member in done.members
        if member.result is None
    ]
    if not taken:
        raise SourceRefused("; ".join(item.error for item in skipped[:3]) or "no skill is in it")
    return SubmissionsAnswer(
        submissions=taken,
        count=len(taken),
        skipped=skipped,
        repo_url=repo_url,
        set_id=done.set_id,
    )


def _item(row: SubmissionRow) -> SubmissionItem:
    return SubmissionItem(
        id=row.id,
        skill_name=row.skill_name,
        skill_path=row.path,
        repo_url=row.repo_url,
        state=row.state,
        reason=row.reason,
        score=row.score,
        submitter=row.submitter,
        created_at=row.created_at,
        updated_at=row.updated_at,
        published_skill_name=row.slug,
        set_id=row.set_id,
    )


def _detail(view: SubmissionView) -> SubmissionDetail:
    submission = view.submission
    return SubmissionDetail(
        id=submission.id,
        state=submission.state,
        reason=submission.reason,
        repo_url=submission.repo_url,
        ref=submission.source.ref,
        skill_name=submission.skill_name,
        skill_path=submission.skill_path,
        submitter=submission.submitter,
        is_private=submission.is_private,
        created_at=submission.created_at,
        updated_at=submission.updated_at,
        published_skill_name=submission.slug,
        set_id=submission.set_id,
        position=view.position,
        next_step=view.next_step,
        attempts=submission.attempts,
        scan_result=scan_item(view.report) if view.report else None,
        state_history=[_event(event) for event in view.history],
        stage_timings=stage_timings(view.history),
        timings=submission.timings,
    )


def scan_item(report: Report) -> ScanItem:
    """Say what was found, without the secrets that it may be about."""
    return ScanItem(
        verdict=report.verdict,
        score=report.score,
        findings=tuple(map(without_secrets, report.findings)),
        scanner=report.scanner,
        ruleset=report.ruleset,
        checked_at=report.checked_at,
        decided=report.decided,
        capabilities=report.capabilities,
        digest=report.digest,
    )


def _event(event: StateEvent) -> EventItem:
    return EventItem(
        from_state=event.from_state,
        to_state=event.to_state,
        trigger=event.trigger,
        actor=event.actor,
        reason=event.reason,
        at=event.at,
    )


def stage_timings(history: list[StateEvent]) -> dict[str, Any]:
    """Say when it last came to each state, and how many milliseconds it was in each; never < 0."""
    timings: dict[str, Any] = {}
    spent: dict[str, float] = {}
    for event, following in zip(history, [*history[1:], None], strict=True):
        name = _camel(event.to_state)
        timings[f"{name}At"] = event.at
        if following:
            spent[name] = spent.get(name, 0) + _milliseconds(event.at, following.at)
    timings |= {f"msIn{name[:1].upper()}{name[1:]}": round(value) for name, value in spent.items()}
    if history:
        timings["totalMs"] = round(_milliseconds(history[0].at, history[-1].at))
    return timings


def _milliseconds(start: datetime, end: datetime) -> float:
    return max(0.0, (end - start).total_seconds() * 1000)


def _camel(state: str) -> str:
    first, *others = state.lower().split("_")
    return first + "".join(word.capitalize() for word in others)
