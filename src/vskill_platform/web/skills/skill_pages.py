"""All pages below /skills: one handler, because slugs have a variable number of segments."""

from collections.abc import Awaitable, Callable
from typing import Any

from litestar import Response
from litestar.response import Redirect
from litestar.status_codes import HTTP_302_FOUND

from vskill_platform.errors import NotAllowed, NotFound, SkillDeleted
from vskill_platform.publish.versions.find_version import open_version
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.skills.badge import skill_badge
from vskill_platform.web.skills.diff_page import skill_diff
from vskill_platform.web.skills.downloads import skill_download, skill_raw_file
from vskill_platform.web.skills.files_page import skill_files
from vskill_platform.web.skills.gone_page import (
    blocked_version,
    deleted,
    never_published,
    taken_down,
)
from vskill_platform.web.skills.open_skill import OpenSkill
from vskill_platform.web.skills.readme_page import skill_readme
from vskill_platform.web.skills.security import skill_security
from vskill_platform.web.skills.slugs import (
    SkillPath,
    find_path,
    requested_version,
)
from vskill_platform.web.skills.versions import skill_versions

_PAGES: dict[str, Callable[[WebRequest, OpenSkill], Awaitable[Response[Any]]]] = {
    "": skill_readme,
    "files": skill_files,
    "raw": skill_raw_file,
    "versions": skill_versions,
    "diff": skill_diff,
    "download": skill_download,
    "security": skill_security,
}


async def skill_pages(request: WebRequest) -> Response[Any]:
    path, skill = await find_path(request, str(request.path_params["address"]))
    if path.part == "badge.svg":
        return await skill_badge(request, skill)
    if skill is None:
        return await deleted(path.slug) or await never_published(request, path.slug)
    if skill.slug != path.slug:
        return _redirect_renamed(request, path, skill.slug)
    if skill.down:
        return await taken_down(skill, skill.down)
    named = requested_version(request)
    try:
        found = await open_version(skill, named)
    except NotAllowed as error:
        return blocked_version(skill, named or skill.version, str(error))
    except NotFound as error:
        if not isinstance(error, SkillDeleted):
            error.go_to = skill_url(skill.slug, "versions")
        raise
    opened = OpenSkill(found=found, is_named=named is not None, path=path.path)
    return await _PAGES[path.part](request, opened)


def _redirect_renamed(request: WebRequest, path: SkillPath, slug: str) -> Redirect:
    """Redirect from an old slug; not permanently, because slugs can be reused."""
    address = skill_url(slug, path.part, path.path)
    query = request.url.query
    return Redirect(f"{address}?{query}" if query else address, status_code=HTTP_302_FOUND)
