"""Events for tests: real commits that submit, publish and moderate skills."""

from typing import Any

from tests.casts import a_published_skill, a_submission
from vskill_platform.engines.operations import ABSENT
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import (
    Cause,
    Submission,
    SubmissionState,
    move,
    open_submission,
)
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import write_skill
from vskill_platform.stores.submission_store import write_new_submission, write_submission

_S = SubmissionState


async def submitted(**fields: Any) -> Stored[Submission]:
    """Submit a skill of the namespace ada."""
    submission = a_submission()
    fields.setdefault("source", git_source("https://github.com/ada/notes", submission.id))
    cause = Cause(trigger="submit", actor="ada", reason="")
    opened, event = open_submission(_with(submission, **fields), cause)
    revision = await commit(write_new_submission(opened, event, group=""))
    assert revision
    return Stored(opened, revision)


async def moved(
    stored: Stored[Submission], *states: SubmissionState, reason: str = "because", by: str = "rae"
) -> Stored[Submission]:
    for state in states:
        cause = Cause(trigger="check", actor=by, reason=reason)
        submission, event = move(stored.record, state, cause, now=get_now())
        revision = await commit(write_submission(submission, [event], expected=stored.revision))
        assert revision
        stored = Stored(submission, revision)
    return stored


async def published(**fields: Any) -> Stored[Submission]:
    return await moved(await submitted(**fields), _S.TIER1_SCANNING, _S.AUTO_APPROVED, _S.PUBLISHED)


async def a_skill(slug: str = "ada/notes/tidy-notes", **fields: Any) -> None:
    skill = a_published_skill(slug, **{"publisher": "github.com/ada", **fields})
    assert await commit([write_skill(skill, expected=ABSENT)])


def _with(submission: Submission, **fields: Any) -> Submission:
    values = {name: getattr(submission, name) for name in submission.__struct_fields__}
    return Submission(**{**values, **fields})
