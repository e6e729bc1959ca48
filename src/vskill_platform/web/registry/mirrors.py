"""Mirrors of other registries, as a page and over the API: show their state, fetch a skill."""

from datetime import datetime

from litestar import Response
from litestar.params import FromPath, FromQuery, JSONBody
from litestar.response import Redirect, Template

from vskill_platform.base.show_text import count_of
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.fetch.mirrors.fetch_mirrored import get_mirror, is_offline
from vskill_platform.intake.mirror_skill import compare_soon, find_submissions
from vskill_platform.intake.mirror_version import fetch_now
from vskill_platform.mirror_settings import Mirror
from vskill_platform.model.mirror import mirrored_slug
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.setting_values import format_duration
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.mirror_store import MirroredPage, MirroredSkill, list_mirrored
from vskill_platform.web.html.flash import act, admin_page
from vskill_platform.web.html.templating import state_words
from vskill_platform.web.http.api_types import (
    Limit,
    Shape,
    Text,
    clamp,
    key_cursor,
    read_key,
)
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of

_HERE = "/admin/mirrors"
_MAX_ROWS = 100


class MirrorItem(Shape, frozen=True, kw_only=True):
    name: str
    #: vskill, discovery or clawhub
    kind: str
    url: str
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    #: Such as 3d; 0s if versions of any age are fetched.
    min_age: str
    offline: bool
    has_token: bool


class MirrorList(Shape, frozen=True, kw_only=True):
    mirrors: list[MirrorItem]


class MirroredItem(Shape, frozen=True, kw_only=True):
    slug: str
    mirror: str
    #: The name of the skill in the other registry.
    name: str
    #: current, waiting, failing, missing or withdrawn
    status: str
    #: The latest version there; empty if it has no number.
    version: str
    problem: str
    checked_at: datetime | None
    missing_since: datetime | None
    withdrawn_since: datetime | None
    submission_id: str | None
    #: The state of the submission.
    state: str | None
    #: Why it was refused; null if it was accepted.
    refused: str | None


class MirroredList(Shape, frozen=True, kw_only=True):
    skills: list[MirroredItem]
    next_cursor: str | None


class FetchRequest(Shape, frozen=True, kw_only=True):
    #: The name of the skill in the other registry.
    name: Text
    #: A version in the other registry; the latest by default.
    version: Text = ""


class Fetching(Shape, frozen=True, kw_only=True):
    slug: str
    submission_id: str
    state: str


class Comparing(Shape, frozen=True, kw_only=True):
    #: How many mirrored skills will soon be compared with the other registry.
    skills: int


async def show_mirrors() -> MirrorList:
    """List the registries that this one mirrors."""
    return MirrorList(mirrors=[_mirror_item(one) for one in bound_env().mirrors])


async def show_mirrored(
    cursor: FromQuery[str | None] = None, limit: Limit = 50
) -> Response[MirroredList]:
    """List the mirrored skills by slug, including refused ones. At most 100 at once."""
    size, headers = clamp(limit, _MAX_ROWS)
    page = await list_mirrored(after=read_key(cursor), limit=size)
    answer = MirroredList(skills=await _rows(page), next_cursor=key_cursor(page.cursor))
    return Response(answer, headers=headers)


@operation(also=(404, 424))
async def fetch_over_api(
    request: WebRequest, mirror: FromPath[str], data: JSONBody[FetchRequest]
) -> Fetching:
    """Fetch a skill from a mirror now, even one that was refused or deleted before."""
    slug, submission = await _fetch(mirror, data, actor=visitor_of(request).name)
    return Fetching(slug=slug, submission_id=submission.id, state=submission.state)


@operation(also=(404,))
async def compare_over_api(request: WebRequest, mirror: FromPath[str]) -> Comparing:
    """Compare all skills of a mirror with the other registry soon, before they are due."""
    found = _find(mirror)
    return Comparing(skills=await compare_soon(found.name, actor=visitor_of(request).name))


async def mirrors_page(request: WebRequest) -> Template:
    after = read_key(request.query_params.get("after") or None)
    page = await list_mirrored(after=after, limit=_MAX_ROWS)
    context = {
        "mirrors": [_mirror_item(one) for one in bound_env().mirrors],
        "rows": await _rows(page),
        "next": key_cursor(page.cursor),
        "is_first": after is None,
    }
    return admin_page(request, "admin/mirrors.html", context)


async def fetch_form(request: WebRequest) -> Redirect:
    fields, actor = await read_fields(request), visitor_of(request).name

    async def work() -> str:
        name, version = fields.get("name", "").strip(), fields.get("version", "").strip()
        wanted = FetchRequest(name=name, version=version)
        slug, submission = await _fetch(fields.get("mirror", ""), wanted, actor=actor)
        state = state_words(submission.state).lower()
        return f"{slug} was found. State of its submission: {state}."

    return await act(_HERE, work)


async def compare_form(request: WebRequest) -> Redirect:
    fields, actor = await read_fields(request), visitor_of(request).name

    async def work() -> str:
        found = _find(fields.get("mirror", ""))
        compared = await compare_soon(found.name, actor=actor)
        return f"{count_of(compared, 'skill')} of {found.name} will be compared within minutes."

    return await act(_HERE, work)


async def _fetch(mirror: str, wanted: FetchRequest, *, actor: str) -> tuple[str, Submission]:
    if not wanted.name:
        raise InvalidInput("give the name of a skill in the other registry")
    slug = mirrored_slug(_find(mirror), wanted.name)
    return slug, await fetch_now(slug, wanted.version, by=actor)


def _find(name: str) -> Mirror:
    found = get_mirror(name)
    if found is None:
        raise NotFound(f"there is no mirror {name!r} in the settings")
    return found


def _mirror_item(one: Mirror) -> MirrorItem:
    return MirrorItem(
        name=one.name,
        kind=one.kind,
        url=one.url,
        allow=one.allow,
        deny=one.deny,
        min_age=format_duration(one.min_age),
        offline=is_offline(one),
        has_token=bool(one.token.reveal()),
    )


async def _rows(page: MirroredPage) -> list[MirroredItem]:
    found = await find_submissions([skill.slug for skill in page.skills])
    return [_row(skill, found.get(skill.slug)) for skill in page.skills]


def _row(skill: MirroredSkill, submission: Submission | None) -> MirroredItem:
    refused = {SubmissionState.REJECTED, SubmissionState.TIER1_FAILED, SubmissionState.BLOCKED}
    is_refused = submission is not None and submission.state in refused
    return MirroredItem(
        slug=skill.slug,
        mirror=skill.mirror,
        name=skill.name,
        status=skill.status,
        version=skill.version,
        problem=skill.problem,
        checked_at=skill.checked_at,
        missing_since=skill.missing_since,
        withdrawn_since=skill.withdrawn_since,
        submission_id=submission.id if submission else None,
        state=submission.state if submission else None,
        refused=submission.reason if submission and is_refused else None,
    )
