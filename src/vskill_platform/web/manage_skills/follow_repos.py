"""Follow the repository of a skill over the API, as the original client does; and a list."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any

from litestar import Response
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.status_codes import HTTP_202_ACCEPTED

from vskill_platform.access.namespaces import check_may_act_in, may_manage, may_manage_in
from vskill_platform.access.visibility import can_see_skill, find_visible_skill
from vskill_platform.base.telemetry import get_logger
from vskill_platform.cron.request_runs import request_follow_run
from vskill_platform.errors import NotAllowed, NotFound, NotSignedIn
from vskill_platform.intake.follow_repo import (
    check_may_follow_more,
    check_repo_of,
    follow_repo,
    follow_whole_repo,
    list_skills_from,
    unfollow_repo,
)
from vskill_platform.intake.read_source import read_remote_source
from vskill_platform.intake.take_push import MAX_PUSH_BYTES, take_push
from vskill_platform.model.namespace import namespace_of, namespace_of_skill
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.source import Source, git_source
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.followed_repo_store import (
    FollowedPage,
    FollowedRepo,
    FollowRights,
    FollowStatus,
    find_followed_in,
    get_followed_repo,
    list_followed_by,
    list_followed_repos,
)
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.web.http.api_types import Limit, Ok, Shape, Text, clamp, key_cursor, read_key
from vskill_platform.web.http.rate_limits import limits_of, quota_key
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.slugs import SKILL_ID, find_listed, find_skill, slug_of

log = get_logger(__name__)

FOLLOWS_PER_HOUR = 10
_MAX_ROWS = 100


class FollowRequest(Shape, frozen=True, kw_only=True):
    #: If it is empty, the repository from which the skill is published.
    repo_url: Text = ""
    branch: Text | None = None


class FollowRepoRequest(Shape, frozen=True, kw_only=True):
    #: `owner/repo` or a git URL.
    repo_url: Text
    branch: Text | None = None


class FollowedItem(Shape, frozen=True, kw_only=True):
    #: Empty for the whole repository: its new skills are submitted and followed.
    slug: str
    repo_url: str
    branch: str | None
    by: str
    followed_at: datetime
    checked_at: datetime | None
    #: The last seen commit; null before the first check.
    commit_sha: str | None
    #: Whether tags with a new version are submitted; false if a branch or tag was chosen.
    follows_tags: bool
    #: The seen tag with the highest version; null if there is none.
    tag: str | None
    status: FollowStatus
    #: Why the last check failed, or why following stopped; empty if there is no problem.
    problem: str


class FollowResponse(FollowedItem, frozen=True, kw_only=True):
    tracked: bool
    tracked_for_updates: bool
    message: str


class FollowedList(Shape, frozen=True, kw_only=True):
    followed: list[FollowedItem]
    next_cursor: str | None = None


async def follow_over_api(
    request: WebRequest, slug: FromPath[str], data: JSONBody[FollowRequest]
) -> FollowResponse:
    """Follow the repository from which a skill is published; at most ten per hour, 100 in total."""
    visitor = _signed_in(request)
    skill = await find_listed(request, slug.removeprefix(SKILL_ID))
    await check_may_act_in(visitor, namespace_of_skill(skill))
    check_repo_of(skill, data.repo_url)
    await _check_limits(request, visitor, skill.repo_url)
    followed = await follow_repo(
        skill,
        ref=data.branch or "",
        actor=visitor.name,
        rights=_rights_of(visitor),
        may_replace=await _may_replace(visitor, namespace_of_skill(skill)),
    )
    return FollowResponse(
        **_fields(followed),
        tracked=True,
        tracked_for_updates=True,
        message=f"{skill.slug} follows {followed.repo_url}.",
    )


async def unfollow_over_api(request: WebRequest, slug: FromPath[str]) -> Ok:
    """Stop following; for the user who follows, owners of the namespace and reviewers."""
    visitor = _signed_in(request)
    skill = await find_skill(request, slug_of(slug.removeprefix(SKILL_ID)))
    followed = await get_followed_repo(skill.slug)
    if followed is None:
        raise NotFound(f"the repository of {skill.slug} is not followed")
    if not _is_own(visitor, followed.record) and not await may_manage(visitor, skill):
        raise NotAllowed(f"{followed.record.by} follows the repository of {skill.slug}")
    await unfollow_repo(skill.slug, actor=visitor.name)
    return Ok()


@operation(also=(404,))
async def follow_all_over_api(
    request: WebRequest, data: JSONBody[FollowRepoRequest]
) -> FollowedList:
    """Follow a repository for all its skills, including those that are added later."""
    followed = await follow_for(request, data.repo_url, ref=data.branch or "")
    return FollowedList(followed=[FollowedItem(**_fields(one)) for one in followed])


async def follow_for(request: WebRequest, repo_url: str, *, ref: str) -> list[FollowedRepo]:
    """Follow a repository, and all its published skills that this visitor sees, and check it."""
    visitor = _signed_in(request)
    source = read_remote_source(repo_url, settings=get_settings(), ref=ref)
    await _check_limits(request, visitor, source.url)
    followed = await _follow_all(visitor, source)
    await request_follow_run()
    return followed


async def _check_limits(request: WebRequest, visitor: Visitor, repo_url: str) -> None:
    limits_of(request).take_hourly(
        "follow", quota_key(visitor), per_hour=FOLLOWS_PER_HOUR, now=get_now()
    )
    if _rights_of(visitor) == "user":
        await check_may_follow_more(visitor.name, repo_url)


async def _follow_all(visitor: Visitor, source: Source) -> list[FollowedRepo]:
    namespace = namespace_of(source)
    await check_may_act_in(visitor, namespace)
    follow = partial(
        follow_repo,
        ref=source.ref,
        actor=visitor.name,
        rights=_rights_of(visitor),
        may_replace=await _may_replace(visitor, namespace),
    )
    followed = [await follow_whole_repo(source.url, **follow.keywords)]
    for skill in await list_skills_from(source.url):
        if await can_see_skill(visitor, skill):
            try:
                followed.append(await follow(skill))
            except NotAllowed as error:  # the other skills can still be followed
                log.info("skill not followed", slug=skill.slug, reason=str(error))
    return followed


@operation(also=(404,))
async def unfollow_all_over_api(
    request: WebRequest, repo_url: Annotated[Text, QueryParameter(name="repoUrl")]
) -> FollowedList:
    """Stop following a repository for all its skills, and return the followed ones."""
    ended = await unfollow_for(_signed_in(request), repo_url)
    return FollowedList(followed=[FollowedItem(**_fields(one)) for one in ended])


async def unfollow_for(visitor: Visitor, repo_url: str) -> list[FollowedRepo]:
    """Stop following a repository and its skills, as far as this visitor may."""
    url = read_remote_source(repo_url, settings=get_settings()).url
    followed = [one for one in await find_followed_in(url) if await _may_stop(visitor, one)]
    if not followed:
        raise NotFound(f"you do not follow {url}")
    return [await unfollow_repo(one.name, actor=visitor.name) for one in followed]


@operation(status=HTTP_202_ACCEPTED, max_body=MAX_PUSH_BYTES, also=(403, 404, 413))
async def take_push_webhook(request: WebRequest, kind: FromPath[str]) -> Ok:
    """Receive a signed push webhook of a git host; the response is the same for unknown repos."""
    if await take_push(kind, await request.body(), request.headers):
        await request_follow_run()
    return Ok()


def _rights_of(visitor: Visitor) -> FollowRights:
    """Return the rights with which new commits are submitted.

    A token may have fewer rights than its user, and following outlives the token.
    """
    settings = get_settings()
    is_staff = visitor.may(Right.REVIEW, settings) and visitor.may(Right.OPERATE, settings)
    return "staff" if is_staff else "user"


async def _may_replace(visitor: Visitor, namespace: str) -> bool:
    """Return whether a visitor who may submit there may change what another user follows.

    In a namespace without owners everyone may submit, so only reviewers may.
    """
    is_owned = (await get_namespace(namespace)).record.is_owned
    return is_owned or visitor.may(Right.BLOCK, get_settings())


def _is_own(visitor: Visitor, followed: FollowedRepo) -> bool:
    """Return whether this user follows it; a user of the machine may have an equal name."""
    return followed.by == visitor.name and not followed.is_by_operator


async def _may_stop(visitor: Visitor, followed: FollowedRepo) -> bool:
    is_own = _is_own(visitor, followed)
    if not followed.slug:
        return is_own or await may_manage_in(visitor, namespace_of(git_source(followed.repo_url)))
    try:
        skill = await find_visible_skill(visitor, followed.slug)
    except NotFound:
        # The response names the followed skills, but a token without the scope read sees no private
        # skill. Users can always stop what they have started themselves.
        return is_own and visitor.can_see_own
    return is_own or await may_manage(visitor, skill.record)


async def list_followed(
    request: WebRequest, cursor: FromQuery[str | None] = None, limit: Limit = 50
) -> Response[FollowedList]:
    """List the repositories that you follow; operators see all. At most 100 at once."""
    visitor = _signed_in(request)
    size, headers = clamp(limit, _MAX_ROWS)
    page = await list_followed_for(visitor, after=read_key(cursor), limit=size)
    answer = FollowedList(
        followed=[FollowedItem(**_fields(one)) for one in page.followed],
        next_cursor=key_cursor(page.cursor),
    )
    return Response(answer, headers=headers)


async def list_followed_for(visitor: Visitor, *, after: str | None, limit: int) -> FollowedPage:
    """Return the repositories that a visitor follows, or all for operators, ordered by name."""
    if visitor.may(Right.OPERATE, get_settings()) and visitor.can_see_all:
        return await list_followed_repos(after=after, limit=limit)
    own = sorted(await list_followed_by(visitor.name), key=lambda one: one.name)
    rest = [one for one in own if after is None or one.name > after]
    page, cursor = rest[:limit], rest[limit - 1].name if len(rest) > limit else None
    return FollowedPage([one for one in page if await _is_seen(visitor, one)], cursor)


async def _is_seen(visitor: Visitor, followed: FollowedRepo) -> bool:
    if not followed.slug:
        return True  # the query is about the user's own records
    try:
        await find_visible_skill(visitor, followed.slug)
    except NotFound:
        return False
    return True


def _fields(one: FollowedRepo) -> dict[str, Any]:
    return {
        "slug": one.slug,
        "repo_url": one.repo_url,
        "branch": one.ref or None,
        "by": one.by,
        "followed_at": one.at,
        "checked_at": one.checked_at,
        "commit_sha": one.commit_sha or None,
        "follows_tags": one.follows_tags,
        "tag": one.tag or None,
        "status": one.status,
        "problem": one.problem,
    }


def _signed_in(request: WebRequest) -> Visitor:
    visitor = visitor_of(request)
    if visitor.user is None:
        raise NotSignedIn("following a repository requires signing in")
    if visitor.only_in:
        raise NotAllowed("a token for one namespace cannot follow repositories")
    return visitor
