"""Letting the submissions of a skill be as hidden as the skill is.

Each ref of a repo has a submission of its own, which tells name, source and findings: one that
stayed public would tell of what is hidden.
"""

import msgspec

from vskill_platform.engines.ports import Operation
from vskill_platform.model.submission import Submission
from vskill_platform.stores.skill_store import resolve_slug
from vskill_platform.stores.source_submissions import list_submissions_of
from vskill_platform.stores.submission_store import write_submission

#: So many in one commit; who has more comes again.
_MAX_AT_ONCE = 500


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """Where a skill comes from and how it is called."""

    url: str
    path: str
    #: Its slug, and the one that it is about to leave, if it does.
    slugs: frozenset[str]


async def align_submissions(
    home: Home, *, is_private: bool, but: str | None = None
) -> list[Operation]:
    """Say what to write so that all submissions of a skill's source are hidden or shown.

    *but* is the id of one that the caller writes itself.
    """
    operations: list[Operation] = []
    for stored in await list_submissions_of(home.url, home.path):
        submission = stored.record
        if submission.id == but or submission.is_private == is_private:
            continue
        if len(operations) < _MAX_AT_ONCE and await _belongs_to(submission, home):
            changed = msgspec.structs.replace(submission, is_private=is_private)
            operations += write_submission(changed, [], expected=stored.revision)
    return operations


async def _belongs_to(submission: Submission, home: Home) -> bool:
    """Tell it from one whose ref has the skill under another name, which is another skill."""
    return submission.slug is None or await resolve_slug(submission.slug) in home.slugs
