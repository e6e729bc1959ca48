"""Skills that a search does not list, although they have the name that was searched for."""

import msgspec

from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.catalogue.query import (
    SubmissionQuery,
    SubmissionRow,
    SubmissionSort,
    TakenDownSkill,
    Visible,
)
from vskill_platform.model.submission import SubmissionState

_S = SubmissionState
#: How many skills of each kind are shown.
_MAX_SHOWN = 3
#: How many submissions are read: the names of most of them only contain the text.
_MAX_READ = 25
_UNPUBLISHED = (_S.TIER1_FAILED, _S.REJECTED, _S.BLOCKED, _S.NEEDS_REVIEW)


class Unlisted(msgspec.Struct, frozen=True, kw_only=True):
    down: tuple[TakenDownSkill, ...] = ()
    #: Submissions that were never published: they failed the checks or need review.
    submissions: tuple[SubmissionRow, ...] = ()


async def find_unlisted(catalogue: Catalogue, text: str, *, visible: Visible) -> Unlisted:
    """Return what is known about skills of exactly this name."""
    name = text.lower().encode(errors="replace").decode()
    down = (await catalogue.list_taken_down(named=name, limit=_MAX_SHOWN, visible=visible)).skills
    query = SubmissionQuery(
        text=name,
        states=_UNPUBLISHED,
        sort=SubmissionSort.UPDATED,
        limit=_MAX_READ,
        visible=visible,
    )
    rows = (await catalogue.list_submissions(query)).rows
    known = {skill.slug for skill in down}
    named = [row for row in rows if row.skill_name.lower() == name and row.slug not in known]
    return Unlisted(down=tuple(down), submissions=tuple(named[:_MAX_SHOWN]))
