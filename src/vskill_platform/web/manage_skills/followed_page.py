"""The page of followed repositories: follow one, see the status of each, stop."""

from litestar.params import FromQuery
from litestar.response import Redirect, Template

from vskill_platform.base.show_text import count_of
from vskill_platform.web.html.flash import act, read_flash
from vskill_platform.web.http.api_types import key_cursor, read_key
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.manage_skills.follow_repos import (
    follow_for,
    list_followed_for,
    unfollow_for,
)

_HERE = "/account/repos"
_ROWS = 50


async def followed_page(request: WebRequest, after: FromQuery[str | None] = None) -> Template:
    """List what the user follows; operators see all."""
    page = await list_followed_for(visitor_of(request), after=read_key(after), limit=_ROWS)
    messages, cookies = read_flash(request, on=_HERE)
    context = messages | {
        "followed": page.followed,
        "next": key_cursor(page.cursor),
        "is_first": after is None,
    }
    return Template("pages/followed.html", context=context, cookies=cookies)


async def follow_form(request: WebRequest) -> Redirect:
    fields = await read_fields(request)

    async def follow() -> str:
        repo, branch = fields.get("repo", "").strip(), fields.get("branch", "").strip()
        whole, *skills = await follow_for(request, repo, ref=branch)
        return f"You follow {whole.repo_url} with {count_of(len(skills), 'published skill')}."

    return await act(_HERE, follow, on=_HERE)


async def unfollow_form(request: WebRequest) -> Redirect:
    fields = await read_fields(request)

    async def stop() -> str:
        ended = await unfollow_for(visitor_of(request), fields.get("repo", ""))
        return f"{ended[0].repo_url} is no longer followed."

    return await act(_HERE, stop, on=_HERE)
