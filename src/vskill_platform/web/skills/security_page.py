"""The security report of a version: the verdict, and every finding where it was found."""

import msgspec
from litestar.response import Template

from vskill_platform.model.verdict import Finding
from vskill_platform.publish.versions.security_report import FindingInContext, security_report
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.skills.skill_head import OpenSkill, skill_page
from vskill_platform.web.skills.slugs import PageRequest


class ShownFinding(msgspec.Struct, frozen=True):
    item: Finding
    #: Number, text, and whether it is the line that is meant.
    lines: tuple[tuple[int, str, bool], ...]
    #: Where its file can be read; empty if it cannot.
    link: str


async def skill_security(request: PageRequest, opened: OpenSkill) -> Template:
    found = await security_report(opened.version)
    return await skill_page(
        request,
        opened,
        "pages/skill_security.html",
        "security",
        security=found,
        findings=[_shown(item, opened) for item in found.findings],
        formal=[_shown(item, opened) for item in found.formal],
    )


def _shown(found: FindingInContext, opened: OpenSkill) -> ShownFinding:
    item, link = found.finding, ""
    if found.has_file and item.file:
        line = f"#L{item.line}" if item.line else ""
        at = opened.version_in_links
        link = skill_url(opened.skill.slug, "files", item.file, version=at) + line
    lines = tuple((line.number, line.text, line.is_it) for line in found.lines)
    return ShownFinding(item, lines, link)
