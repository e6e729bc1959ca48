"""The blocklist, as a page and over the API."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlsplit

from litestar import Response
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_201_CREATED

from vskill_platform.access.visibility import list_visible_blocks
from vskill_platform.base.show_text import count_of
from vskill_platform.catalogue.query import SkillHit, SkillQuery
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.block import Block, BlockKind, BlockSubject
from vskill_platform.model.source import public_source
from vskill_platform.publish.moderation.block_skill import block, preview_block
from vskill_platform.publish.moderation.block_subject import read_subject
from vskill_platform.publish.moderation.unblock_skill import unblock
from vskill_platform.stores.block_store import list_blocks
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.submission_store import read_submissions
from vskill_platform.web.html.flash import act, admin_page
from vskill_platform.web.http.api_types import ReasonText, Shape, Text
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.urls import with_query
from vskill_platform.web.http.visitor import visitor_of

_HERE = "/admin/blocklist"
#: The fields of the subject of a block.
_SUBJECT = ("digest", "source", "path", "name", "publisher")
_MAX_TEXT = 500
#: How many skills a search shows, and how many skills and submissions a preview names.
_MAX_FOUND, _MAX_LISTED = 10, 100
_CACHED, _CACHED_FOR_ONE = "public, max-age=300", "private, max-age=300"


async def blocklist_page(request: WebRequest) -> Template:
    """Show the blocklist, skills to choose from, and the effect of the chosen block."""
    asked = request.query_params
    typed = {name: asked.get(name, "").strip()[:_MAX_TEXT] for name in (*_SUBJECT, "reason")}
    find = asked.get("find", "").strip()[:_MAX_TEXT]
    preview, problem = None, ""
    if any(typed[name] for name in _SUBJECT):
        try:
            preview = await preview_block(_subject(typed))
        except InvalidInput as error:
            problem = str(error)
    context: dict[str, Any] = {
        "blocks": await list_blocks(),
        "typed": typed,
        "preview": preview,
        "pending": await read_submissions(preview.submissions[:_MAX_LISTED]) if preview else {},
        "preview_problem": problem,
        "find": find,
        "found": await _find_skills(request, find) if find else [],
        "max_listed": _MAX_LISTED,
        "default_host": get_settings().default_host,
    }
    return admin_page(request, "admin/blocklist.html", context)


async def _find_skills(request: WebRequest, text: str) -> list[SkillHit]:
    visible = await visible_to(visitor_of(request))
    query = SkillQuery(text=text, is_forgiving=True, limit=_MAX_FOUND, visible=visible)
    return (await catalogue_of(request).search_skills(query)).hits


def _subject(fields: Mapping[str, str]) -> BlockSubject:
    given = {name: fields.get(name) for name in _SUBJECT}
    return read_subject(**given, default_host=get_settings().default_host)


async def block_form(request: WebRequest) -> Redirect:
    fields, actor = await read_fields(request), visitor_of(request).name
    typed = {name: fields.get(name, "")[:_MAX_TEXT] for name in (*_SUBJECT, "reason")}

    async def work() -> str:
        subject = _subject(fields)
        done = await block(subject, reason=_reason(fields), actor=actor)
        blocked = "Blocked" if done.is_new else "Already blocked"
        return f"{blocked}: {subject.in_words()}. {done.in_words()}"

    return await act(_HERE, work, on_error=with_query(_HERE, **typed))


async def unblock_form(request: WebRequest) -> Redirect:
    fields, actor = await read_fields(request), visitor_of(request).name

    async def work() -> str:
        blocks = {one.subject.id: one.subject for one in await list_blocks()}
        subject = blocks.get(fields.get("id", ""))
        if subject is None:
            raise NotFound("this is no longer blocked")
        done = await unblock(subject, reason=_reason(fields), actor=actor)
        reopened = count_of(len(done.reopened), "submission")
        return f"Unblocked: {subject.in_words()}. Queued for a new check: {reopened}."

    return await act(_HERE, work)


def _reason(fields: dict[str, str]) -> str:
    reason = fields.get("reason", "").strip()
    if not reason:
        raise InvalidInput("a reason is required; it is shown with the block")
    return reason


class BlockItem(Shape, frozen=True, kw_only=True):
    id: str
    kind: str
    skill_name: str
    source_url: str | None
    #: The host of the source.
    source_registry: str | None
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


class NewBlock(Shape, frozen=True, kw_only=True):
    """One of digest, source (with path or name) and publisher."""

    reason: ReasonText
    digest: Text | None = None
    source: Text | None = None
    path: Text | None = None
    name: Text | None = None
    publisher: Text | None = None


class BlockResponse(Shape, frozen=True, kw_only=True):
    entry: BlockItem
    is_new: bool
    taken_down: tuple[str, ...]
    ended: tuple[str, ...]
    #: The result, as text.
    message: str


class UnblockResponse(Shape, frozen=True, kw_only=True):
    entry: BlockItem
    reopened: tuple[str, ...]
    still_blocked: tuple[str, ...]


async def show_blocklist(request: WebRequest) -> Response[Blocklist]:
    """Show the blocklist, newest first; private entries only to visitors who may see them."""
    visitor = visitor_of(request)
    blocks = await list_visible_blocks(visitor)
    answer = Blocklist(
        entries=[block_item(one) for one in blocks],
        count=len(blocks),
        last_updated=blocks[0].at if blocks else None,
    )
    cached = _CACHED_FOR_ONE if visitor.user else _CACHED
    return Response(answer, headers={"Cache-Control": cached})


@operation(status=HTTP_201_CREATED)
async def add_block(request: WebRequest, data: JSONBody[NewBlock]) -> BlockResponse:
    """Add a block. Published skills are taken down and pending submissions end."""
    subject = read_subject(
        digest=data.digest,
        source=data.source,
        path=data.path,
        name=data.name,
        publisher=data.publisher,
        default_host=get_settings().default_host,
    )
    done = await block(subject, reason=data.reason, actor=visitor_of(request).name)
    return BlockResponse(
        entry=block_item(done.block),
        is_new=done.is_new,
        taken_down=done.taken_down,
        ended=done.ended,
        message=done.in_words(),
    )


async def remove_block(
    request: WebRequest,
    block_id: FromPath[str],
    reason: Annotated[str, QueryParameter(min_length=1, max_length=500)],
) -> UnblockResponse:
    """Remove a block. Submissions that it ended are checked again before they are published."""
    subject = next((one.subject for one in await list_blocks() if one.subject.id == block_id), None)
    if subject is None:
        raise NotFound(f"there is no block {block_id!r}")
    done = await unblock(subject, reason=reason, actor=visitor_of(request).name)
    return UnblockResponse(
        entry=block_item(done.block), reopened=done.reopened, still_blocked=done.still_blocked
    )


def block_item(one: Block) -> BlockItem:
    """Convert a block to JSON, without local paths."""
    subject, value = one.subject, one.subject.value
    source, _, name = value.rpartition("#") if subject.kind is BlockKind.NAME else (value, "", "")
    has_source = subject.kind in {BlockKind.NAME, BlockKind.SOURCE}
    url = public_source(source) if has_source else ""
    return BlockItem(
        id=subject.id,
        kind=subject.kind,
        skill_name=name,
        source_url=url or None,
        source_registry=urlsplit(url).hostname,
        content_hash=value if subject.kind is BlockKind.DIGEST else None,
        publisher=value if subject.kind is BlockKind.PUBLISHER else None,
        reason=one.reason,
        discovered_at=one.at,
    )
