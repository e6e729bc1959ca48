"""The install check: whether a skill is blocked or was rejected."""

from contextlib import suppress
from datetime import datetime
from typing import Annotated

import msgspec
from litestar.params import QueryParameter

from vskill_platform.access.visibility import find_visible_skill, list_visible_blocks
from vskill_platform.catalogue.query import (
    MAX_LIMIT,
    SkillQuery,
    SubmissionQuery,
    SubmissionRow,
    SubmissionSort,
)
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.block import Block, BlockKind, BlockSubject, digest_subject, subjects_of
from vskill_platform.model.namespace import namespace_of
from vskill_platform.model.source import Source, git_source, public_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.moderation.block_subject import read_blocked_source
from vskill_platform.stores.block_store import find_block, get_blocks
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.submission_store import get_submissions_fresh
from vskill_platform.web.http.api_types import Shape
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.search_index import catalogue_of
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.reviews.blocklist import BlockItem, block_item

_S = SubmissionState
_REJECTED = (SubmissionState.REJECTED, SubmissionState.TIER1_FAILED)
SubjectText = Annotated[str, QueryParameter(max_length=500)]


class Rejection(Shape, frozen=True, kw_only=True):
    skill_name: str
    state: str
    reason: str
    score: int | None
    rejected_at: datetime
    repo_url: str


class BlockCheck(Shape, frozen=True, kw_only=True):
    blocked: bool
    #: Present if blocked.
    entry: BlockItem | None
    rejected: bool
    #: Present if rejected.
    rejection: Rejection | None
    submission_id: str | None = None


class _Query(msgspec.Struct, frozen=True, kw_only=True):
    """The skill in question."""

    name: str
    source: Source | None
    digest: str
    #: The namespace of a slug that was never published.
    space: str = ""

    @property
    def is_name_alone(self) -> bool:
        return bool(self.name) and self.source is None and not self.space


@operation(is_listed=True)
async def check_blocklist(
    request: WebRequest,
    name: SubjectText = "",
    repo_url: Annotated[str, QueryParameter(name="repoUrl", max_length=500)] = "",
    content_hash: Annotated[str, QueryParameter(name="hash", max_length=100)] = "",
) -> BlockCheck:
    """Check whether a skill is blocked or was rejected, by name, source or content."""
    if not (name or repo_url or content_hash):
        raise InvalidInput("give a name, a repoUrl or a hash")
    asked = await _read_asked(request, name, repo_url, content_hash)
    found = await _find_block(request, asked)
    rejected = await _find_rejection(request, asked)
    return BlockCheck(
        blocked=found is not None,
        entry=block_item(found) if found else None,
        rejected=rejected is not None,
        rejection=rejection_item(rejected) if rejected else None,
        submission_id=rejected.id if rejected else None,
    )


async def _find_block(request: WebRequest, asked: _Query) -> Block | None:
    subjects: list[BlockSubject] = []
    if asked.digest:
        subjects.append(digest_subject(asked.digest))
    if asked.source:
        subjects += subjects_of(asked.source, name=asked.name or None)
    if found := await get_blocks(subjects):
        return found[0].record
    if not asked.name:
        return None
    is_anothers = asked.is_name_alone and await _is_published(request, asked.name)
    if asked.is_name_alone:
        # A name alone is ambiguous, so only visible skills are considered.
        for one in await list_visible_blocks(visitor_of(request)):
            if _is_named(one, asked.name) or (not is_anothers and _is_upload(one, asked.name)):
                return one
    # A submission that failed checks may have been blocked later without a change of its state.
    states = (_S.BLOCKED,) if is_anothers else (_S.BLOCKED, *_REJECTED)
    return await _block_of_ended(request, asked, states)


def _is_named(one: Block, name: str) -> bool:
    return one.subject.kind is BlockKind.NAME and one.subject.value.rpartition("#")[2] == name


def _is_upload(one: Block, name: str) -> bool:
    value = one.subject.value
    is_whole = one.subject.kind is BlockKind.SOURCE and value.startswith("upload:")
    return is_whole and value.rpartition("/")[2] == name


async def _block_of_ended(
    request: WebRequest, asked: _Query, states: tuple[SubmissionState, ...]
) -> Block | None:
    """Return the block of a completed submission: by folder, content or publisher."""
    for submission in await get_submissions_fresh(
        [row.id for row in await _ended(request, asked, states)]
    ):
        found = await find_block(
            submission.source, name=submission.skill_name, digest=submission.digest
        )
        if found:
            return found.record
    return None


async def _find_rejection(request: WebRequest, asked: _Query) -> SubmissionRow | None:
    """Return the latest rejected or blocked submission with this name.

    A name alone is not enough if a skill with this name is published: otherwise anyone could cause
    warnings about that skill by submitting a bad one with the same name.
    """
    if not asked.name or (asked.is_name_alone and await _is_published(request, asked.name)):
        return None
    rows = await _ended(request, asked, _REJECTED)
    return rows[0] if rows else None


async def _ended(
    request: WebRequest, asked: _Query, states: tuple[SubmissionState, ...]
) -> list[SubmissionRow]:
    """Return the submissions with exactly this name in one of these states.

    Only public ones, because clients cache the response.
    """
    query = SubmissionQuery(
        text=asked.name,
        states=states,
        namespace=namespace_of(asked.source) if asked.source else "",
        sort=SubmissionSort.UPDATED,
        limit=MAX_LIMIT,
    )
    found = (await catalogue_of(request).list_submissions(query)).rows
    rows = [row for row in found if row.skill_name == asked.name]
    if asked.space:
        return await _within(asked.space, rows)
    return [row for row in rows if not asked.source or row.repo_url == asked.source.url]


async def _within(space: str, rows: list[SubmissionRow]) -> list[SubmissionRow]:
    """Return submissions whose slug would start like this; an upload and a folder may share one."""
    submissions = await get_submissions_fresh([row.id for row in rows])
    inside = {one.id for one in submissions if one.source.namespace.lower() == space}
    return [row for row in rows if row.id in inside]


async def _is_published(request: WebRequest, name: str) -> bool:
    found = await catalogue_of(request).search_skills(SkillQuery(text=name))
    return any(hit.name == name for hit in found.hits)


async def _read_asked(request: WebRequest, name: str, repo_url: str, digest: str) -> _Query:
    """Parse the query: a name, a slug, or a remote source."""
    source = read_blocked_source(repo_url, default_host=_host()) if repo_url else None
    if source and not public_source(source.url):
        raise InvalidInput(f"{repo_url!r} is neither owner/repo nor https://host/owner/repo")
    if "/" not in name:
        return _Query(name=name, source=source, digest=digest)
    space, _, last = name.rpartition("/")
    if source:
        return _Query(name=last, source=source, digest=digest)
    with suppress(NotFound):
        skill = (await find_visible_skill(visitor_of(request), name)).record
        source = read_blocked_source(skill.repo_url, skill.skill_path, default_host=_host())
        return _Query(name=skill.name, source=source, digest=digest)
    source = _source_of_slug(space.lower(), last)
    return _Query(name=last, source=source, digest=digest, space=space.lower() or "/")


def _source_of_slug(space: str, name: str) -> Source | None:
    """Return the source that a slug implies; None if it implies none."""
    with suppress(InvalidInput):
        if space.startswith("@"):
            return read_blocked_source(f"{space}/{name}", default_host=_host())
        host, _, repo = space.partition("/") if space.count("/") > 1 else ("github.com", "", space)
        return git_source(f"https://{host.replace('_', ':')}/{repo.replace(',', '/')}")
    return None


def _host() -> str:
    return get_settings().default_host


def rejection_item(row: SubmissionRow) -> Rejection:
    """Describe a rejected submission."""
    return Rejection(
        skill_name=row.skill_name,
        state=row.state,
        reason=row.reason,
        score=row.score,
        rejected_at=row.updated_at,
        repo_url=public_source(row.repo_url),
    )
