"""The blocklist: what may not be published here, put on it and taken off."""

from litestar.response import Redirect, Template

from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.publish.moderation.block_skill import block, unblock
from vskill_platform.publish.moderation.block_subject import read_subject
from vskill_platform.stores.block_store import list_blocks
from vskill_platform.stores.db import get_settings
from vskill_platform.web.html.admin_forms import AdminRequest, act, admin_page
from vskill_platform.web.http.forms import read_fields
from vskill_platform.web.http.visitor import visitor_of

_HERE = "/admin/blocklist"


async def blocklist_page(request: AdminRequest) -> Template:
    typed = {
        name: request.query_params.get(name, "")[:500]
        for name in ("digest", "source", "path", "name", "publisher")
    }
    context = {"blocks": await list_blocks(), "typed": typed}
    return admin_page(request, "admin/blocklist.html", context)


async def block_form(request: AdminRequest) -> Redirect:
    fields, actor = await read_fields(request), visitor_of(request).name

    async def work() -> str:
        subject = read_subject(
            digest=fields.get("digest"),
            source=fields.get("source"),
            path=fields.get("path"),
            name=fields.get("name"),
            publisher=fields.get("publisher"),
            default_host=get_settings().default_host,
        )
        done = await block(subject, reason=_reason(fields), actor=actor)
        blocked = "Blocked" if done.is_new else "Blocked already"
        return f"{blocked}: {subject.in_words()}. {done.in_words()}"

    return await act(_HERE, work)


async def unblock_form(request: AdminRequest) -> Redirect:
    fields, actor = await read_fields(request), visitor_of(request).name

    async def work() -> str:
        blocks = {one.subject.id: one.subject for one in await list_blocks()}
        subject = blocks.get(fields.get("id", ""))
        if subject is None:
            raise NotFound("that is not blocked any more")
        done = await unblock(subject, reason=_reason(fields), actor=actor)
        return (
            f"Unblocked: {subject.in_words()}. {len(done.reopened)} submissions are checked anew."
        )

    return await act(_HERE, work)


def _reason(fields: dict[str, str]) -> str:
    reason = fields.get("reason", "").strip()
    if not reason:
        raise InvalidInput("say why: whoever meets the block will want to know")
    return reason
