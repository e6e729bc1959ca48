"""Follow submissions as they change."""

from collections.abc import AsyncIterator, Sequence

from vskill_platform.model.submission import (
    IN_PROGRESS_STATES,
    TERMINAL_STATES,
    Submission,
)
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.records import (
    read_each,
)
from vskill_platform.stores.submission_store import (
    SUBMISSION,
    decode_submission,
    get_submission,
    get_submissions_fresh,
)


async def follow_submission(submission_id: str) -> AsyncIterator[Submission]:
    """Yield a submission now and after each change, until it is finished."""
    engine, key = bound_env().engine, SUBMISSION + submission_id
    revision = await engine.revision()
    stored = await get_submission(submission_id)
    if stored:
        yield stored.record
    if stored is None or stored.record.state in TERMINAL_STATES:
        return
    async for change in engine.changes(after=revision, prefixes=(key,)):
        if key not in change.keys:
            continue
        stored = await get_submission(submission_id)
        if stored:
            yield stored.record
        if stored is None or stored.record.state in TERMINAL_STATES:
            return


async def follow_submissions(submission_ids: Sequence[str]) -> AsyncIterator[Submission]:
    """Yield each submission now and after each change, until none of them is in progress."""
    engine = bound_env().engine
    revision = await engine.revision()
    on_their_way: set[str] = set()
    for submission in await get_submissions_fresh(submission_ids):
        if submission.state in IN_PROGRESS_STATES:
            on_their_way.add(SUBMISSION + submission.id)
        yield submission
    if not on_their_way:
        return
    async for change in engine.changes(after=revision, prefixes=(SUBMISSION,)):
        changed = on_their_way.intersection(change.keys)
        for submission in await read_each(sorted(changed), decode_submission):
            if submission.state not in IN_PROGRESS_STATES:
                on_their_way.discard(SUBMISSION + submission.id)
            yield submission
        if not on_their_way:
            return
