"""The first page: what is published."""

from litestar import get
from litestar.params import FromQuery
from litestar.response import Template

from vskill_platform.stores.skill_store import get_published_skills_list

_SKILLS_A_PAGE = 50


@get("/", name="skills")
async def skills_page(after: FromQuery[str | None] = None) -> Template:
    page = await get_published_skills_list(after=after, limit=_SKILLS_A_PAGE)
    return Template(
        "skills.html",
        context={"skills": page.skills, "next": page.cursor, "is_first": after is None},
    )
