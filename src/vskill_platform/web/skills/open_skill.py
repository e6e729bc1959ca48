"""The frame of all pages of a skill: name, trust and tabs."""

from typing import Any

import msgspec
from litestar.response import Template

from vskill_platform.access.namespaces import may_manage
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.skill import PublishedSkill, SkillVersion, Yank
from vskill_platform.publish.versions.find_version import FoundVersion
from vskill_platform.publish.versions.trust_of_skill import trust_of_skill
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of


class OpenSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A visible skill at one of its versions."""

    found: FoundVersion
    #: Whether the request names this exact version.
    is_named: bool = False
    #: The path of a file; empty for none.
    path: str = ""

    @property
    def skill(self) -> PublishedSkill:
        return self.found.skill

    @property
    def version(self) -> SkillVersion:
        return self.found.version

    @property
    def yank(self) -> Yank | None:
        return self.found.yank

    @property
    def version_in_links(self) -> str:
        """The version in links to other parts; empty for the latest."""
        return self.version.version if self.is_named else ""

    @property
    def is_latest(self) -> bool:
        return self.version.number == self.skill.offered

    @property
    def is_offered(self) -> bool:
        """Tell whether to show the download: yanked versions only if named exactly."""
        return self.is_named or self.yank is None


async def skill_page(
    request: WebRequest, opened: OpenSkill, template: str, tab: str, **context: Any
) -> Template:
    """Render a page of a skill."""
    return Template(
        template,
        context={
            "section": "skills",
            "opened": opened,
            "skill": opened.skill,
            "version": opened.version,
            "at": opened.version_in_links,
            "namespace": namespace_of_skill(opened.skill),
            "trust": await trust_of_skill(opened.skill),
            "may_manage": await may_manage(visitor_of(request), opened.skill),
            "tab": tab,
            **context,
        },
    )
