"""Find taken-down skills that resemble a skill that needs review."""

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.base.show_text import count_of
from vskill_platform.catalogue.query import TakenDownSkill
from vskill_platform.errors import NotReady
from vskill_platform.model.lookalike import compare_names
from vskill_platform.model.submission import Submission
from vskill_platform.publish.moderation.list_reviews import Case
from vskill_platform.stores.version_store import get_versions
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of

#: How many skills are compared, most recently taken down first.
MAX_COMPARED = 200
_MAX_SHOWN = 10
#: Smaller files, and licenses, are equal in many skills.
_MIN_BYTES = 32
_COMMON = ("license", "copying", "notice")


class Resemblance(msgspec.Struct, frozen=True, kw_only=True):
    skill: TakenDownSkill
    #: The similarities, in words.
    because: tuple[str, ...]


class KnownBad(msgspec.Struct, frozen=True, kw_only=True):
    found: list[Resemblance]
    #: Why some or all skills were not compared; empty if all were.
    note: str = ""


async def find_known_bad(request: WebRequest, case: Case) -> KnownBad:
    """Compare name, publisher and files with those of taken-down skills."""
    visible = await visible_to(visitor_of(request))
    try:
        listed = await catalogue_of(request).list_taken_down(limit=MAX_COMPARED, visible=visible)
    except NotReady as error:  # reviews continue meanwhile
        return KnownBad(found=[], note=str(error))
    down = listed.skills
    ours = {file.sha256: file.path for file in case.files if _is_distinctive(file.path, file.size)}
    versions = await settle(lambda skill: get_versions(skill.slug), down)
    found, unread = [], 0
    for skill, result in zip(down, versions, strict=True):
        shared: set[str] = set()
        if isinstance(result, Exception):
            unread += 1
        else:
            theirs = {file.sha256 for version in result for file in version.files}
            shared = {ours[sha256] for sha256 in ours.keys() & theirs}
        if because := _reasons(case.submission, skill, sorted(shared)):
            found.append(Resemblance(skill=skill, because=because))
    # Equal files matter more than a similar name.
    found.sort(key=lambda one: len(one.because), reverse=True)
    note = f"{unread} of {count_of(len(down), 'skill')} could not be read" if unread else ""
    return KnownBad(found=found[:_MAX_SHOWN], note=note)


def _is_distinctive(path: str, size: int) -> bool:
    name = path.rpartition("/")[2].lower()
    return size >= _MIN_BYTES and not name.startswith(_COMMON)


def _reasons(submission: Submission, skill: TakenDownSkill, shared: list[str]) -> tuple[str, ...]:
    reasons = [f"has the same {path}" for path in shared[:3]]
    if skill.namespace == submission.source.namespace:
        reasons.append("same publisher")
    if skill.name == submission.skill_name:
        reasons.append("same name")
    elif compare_names(submission.skill_name, skill.name):
        reasons.append("similar name")
    return tuple(reasons)
