"""The blocklist over the API: what clients must not install, and changing it."""

from datetime import datetime
from typing import Annotated, Any

from litestar import Request, Response, delete, get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED

from vskill_platform.catalogue.query import SubmissionQuery, SubmissionSort
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.access import Right
from vskill_platform.model.block import Block, BlockKind, BlockSubject, digest_subject, subjects_of
from vskill_platform.model.source import Source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.block_skill import block, unblock
from vskill_platform.publish.block_subject import read_blocked_source, read_subject
from vskill_platform.stores.block_store import get_blocks, list_blocks
from vskill_platform.stores.db import get_settings
from vskill_platform.web.access.visitor import visitor_of
from vskill_platform.web.api.shapes import Reason, Shape, Text
from vskill_platform.web.catalogue_access import catalogue_of

ApiRequest = Request[Any, Any, Any]
_READ, _BLOCK = {"right": Right.ANYONE}, {"right": Right.BLOCK}
_TAGS = ["Blocklist"]
_CACHED = "public, max-age=300"
_S = SubmissionState
Words = Annotated[str, QueryParameter(max_length=500)]


class BlockItem(Shape, frozen=True, kw_only=True):
    id: str
    kind: str
    skill_name: str
    source_url: str | None
    content_hash: str | None
    publisher: str | None
    threat_type: str = "blocked"
    severity: str = "critical"
    reason: str
    evidence_urls: tuple[str, ...] = ()
    discovered_at: datetime


class Blocklist(Shape, frozen=True, kw_only=True):
    entries: list[BlockItem]
    count: int
    last_updated: datetime | None


class Rejection(Shape, frozen=True, kw_only=True):
    skill_name: str
    state: str
    reason: str
    score: int | None
    rejected_at: datetime
    repo_url: str


class BlockCheck(Shape, frozen=True, kw_only=True):
    blocked: bool
    #: There whenever it is blocked.
    entry: BlockItem | None
    rejected: bool
    #: There whenever it was rejected.
    rejection: Rejection | None
    submission_id: str | None = None


class NewBlock(Shape, frozen=True, kw_only=True):
    """One of digest, source (with path or name) and publisher."""

    reason: Reason
    digest: Text | None = None
    source: Text | None = None
    path: Text | None = None
    name: Text | None = None
    publisher: Text | None = None


class BlockDone(Shape, frozen=True, kw_only=True):
    entry: BlockItem
    is_new: bool
    taken_down: tuple[str, ...]
    ended: tuple[str, ...]


class UnblockDone(Shape, frozen=True, kw_only=True):
    entry: BlockItem
    reopened: tuple[str, ...]
    still_blocked: tuple[str, ...]


@get("/blocklist", opt=_READ, tags=_TAGS)
async def show_blocklist() -> Response[Blocklist]:
    """List everything that is blocked, the newest first."""
    blocks = await list_blocks()
    answer = Blocklist(
        entries=[_item(one) for one in blocks],
        count=len(blocks),
        last_updated=blocks[0].at if blocks else None,
    )
    return Response(answer, headers={"Cache-Control": _CACHED})


@get("/blocklist/check", opt=_READ, tags=_TAGS)
async def check_blocklist(
    request: ApiRequest,
    name: Words = "",
    repo_url: Annotated[str, QueryParameter(name="repoUrl", max_length=500)] = "",
    content_hash: Annotated[str, QueryParameter(name="hash", max_length=100)] = "",
) -> BlockCheck:
    """Say whether a skill is blocked or was rejected, by its name, source or content."""
    if not (name or repo_url or content_hash):
        raise InvalidInput("give a name, a repoUrl or a hash")
    found = await _find_block(name, repo_url, content_hash)
    rejection, submission_id = await _find_rejection(request, name, repo_url)
    return BlockCheck(
        blocked=found is not None,
        entry=_item(found) if found else None,
        rejected=rejection is not None,
        rejection=rejection,
        submission_id=submission_id,
    )


@post("/blocklist", opt=_BLOCK, tags=_TAGS, status_code=HTTP_201_CREATED)
async def add_block(request: ApiRequest, data: JSONBody[NewBlock]) -> BlockDone:
    """Block something: what is published of it is taken down, what is pending ends."""
    subject = read_subject(
        digest=data.digest,
        source=data.source,
        path=data.path,
        name=data.name,
        publisher=data.publisher,
        default_host=get_settings().default_host,
    )
    done = await block(subject, reason=data.reason, actor=visitor_of(request).name)
    return BlockDone(
        entry=_item(done.block), is_new=done.is_new, taken_down=done.taken_down, ended=done.ended
    )


@delete("/blocklist/{block_id:str}", opt=_BLOCK, tags=_TAGS, status_code=HTTP_200_OK)
async def remove_block(
    request: ApiRequest,
    block_id: FromPath[str],
    reason: Annotated[str, QueryParameter(min_length=1, max_length=500)],
) -> UnblockDone:
    """Unblock something; what it had ended is checked anew before anything is published."""
    subject = next((one.subject for one in await list_blocks() if one.subject.id == block_id), None)
    if subject is None:
        raise NotFound(f"nothing is blocked under {block_id!r}")
    done = await unblock(subject, reason=reason, actor=visitor_of(request).name)
    return UnblockDone(
        entry=_item(done.block), reopened=done.reopened, still_blocked=done.still_blocked
    )


async def _find_block(name: str, repo_url: str, content_hash: str) -> Block | None:
    subjects: list[BlockSubject] = []
    if content_hash:
        subjects.append(digest_subject(content_hash))
    if repo_url:
        subjects += subjects_of(_source(repo_url), name=name or None)
    if found := await get_blocks(subjects):
        return found[0].record
    if name and not repo_url:
        return next((one for one in await list_blocks() if _is_named(one, name)), None)
    return None


def _is_named(one: Block, name: str) -> bool:
    return one.subject.kind is BlockKind.NAME and one.subject.value.rpartition("#")[2] == name


async def _find_rejection(
    request: ApiRequest, name: str, repo_url: str
) -> tuple[Rejection | None, str | None]:
    """Return the latest end of a skill of that name that was no publication."""
    if not name:
        return None, None
    query = SubmissionQuery(
        text=name, states=(_S.REJECTED, _S.TIER1_FAILED), sort=SubmissionSort.UPDATED, limit=50
    )
    url = _source(repo_url).url if repo_url else ""
    for row in (await catalogue_of(request).list_submissions(query)).rows:
        if row.skill_name == name and url in {"", row.repo_url}:
            rejection = Rejection(
                skill_name=row.skill_name,
                state=row.state,
                reason=row.reason,
                score=row.score,
                rejected_at=row.updated_at,
                repo_url=row.repo_url,
            )
            return rejection, row.id
    return None, None


def _source(text: str) -> Source:
    return read_blocked_source(text, default_host=get_settings().default_host)


def _item(one: Block) -> BlockItem:
    subject, value = one.subject, one.subject.value
    source, _, name = value.rpartition("#") if subject.kind is BlockKind.NAME else (value, "", "")
    has_source = subject.kind in {BlockKind.NAME, BlockKind.SOURCE}
    return BlockItem(
        id=subject.id,
        kind=subject.kind,
        skill_name=name,
        source_url=source if has_source else None,
        content_hash=value if subject.kind is BlockKind.DIGEST else None,
        publisher=value if subject.kind is BlockKind.PUBLISHER else None,
        reason=one.reason,
        discovered_at=one.at,
    )
