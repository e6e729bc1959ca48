"""Submissions: the record, the owner of a source, and the history."""

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from vskill_platform.base.settle import READS_AT_ONCE, settle
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Expect, Operation, Put
from vskill_platform.model.source import Source
from vskill_platform.model.submission import (
    TERMINAL_STATES,
    StateEvent,
    StuckSubmission,
    Submission,
    SubmissionState,
    deadline,
    is_stuck,
)
from vskill_platform.stores.db import get_kv, get_settings
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_record,
    iterate_keys,
    list_all_keys,
    read_each,
    read_found,
)
from vskill_platform.stores.submission_messages import queue_submission

log = get_logger(__name__)

SUBMISSION = "sub:"
#: Prefix of the key of a source's owner.
SOURCE_PREFIX = "sub-source:"
HISTORY = "hist:"
#: The mark of submissions that need review, ranked by time; migration 0004 also uses it.
_NEEDS_REVIEW = "submission:NEEDS_REVIEW"
_MOST_REVIEWS = 1_000_000
#: How many stuck submissions a page or a health check reads.
MAX_LISTED_STUCK = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Later than any deadline, but before NEVER.
_LONG_AFTER = NEVER - timedelta(days=1)


class SubmissionPage(msgspec.Struct, frozen=True):
    submissions: list[Submission]
    cursor: str | None


def new_submission_id(now: datetime) -> str:
    """Return an unguessable id that sorts by creation time."""
    milliseconds = int(now.timestamp() * 1000)
    return f"sub_{milliseconds:011x}{secrets.token_hex(8)}"


def submission_of_key(key: str) -> str | None:
    """Return the submission id in a key; None for other records."""
    return key[len(SUBMISSION) :] if key.startswith(SUBMISSION) else None


def event_of_key(key: str) -> tuple[str, int] | None:
    """Return submission and number of an event's key; None for other records."""
    submission_id, _, number = key.removeprefix(HISTORY).rpartition(":")
    return (submission_id, int(number)) if key.startswith(HISTORY) and number.isdigit() else None


async def get_submission(submission_id: str) -> Stored[Submission] | None:
    return await get_record(SUBMISSION + submission_id, Submission)


async def get_submissions_fresh(submission_ids: Sequence[str]) -> list[Submission]:
    """Return the current records, read at once; missing ones are skipped."""
    return await read_each(
        [SUBMISSION + submission_id for submission_id in submission_ids], decode_submission
    )


async def read_submissions(submission_ids: Sequence[str]) -> dict[str, Submission]:
    """Return the existing records, read at once."""
    keys = [SUBMISSION + submission_id for submission_id in submission_ids]
    found = await read_found(keys, decode_submission)
    return {key[len(SUBMISSION) :]: submission for key, submission in found.items()}


async def read_events(events: Sequence[tuple[str, int]]) -> dict[tuple[str, int], StateEvent]:
    """Return the existing events, read at once."""
    keys = {_event_key(*event): event for event in events}
    found = await read_found(list(keys), lambda key, value: decode(key, value, StateEvent))
    return {keys[key]: event for key, event in found.items()}


async def iterate_submission_ids() -> AsyncIterator[list[str]]:
    """Yield the ids of all submissions in order, page by page."""
    async for keys in iterate_keys(SUBMISSION):
        yield [key[len(SUBMISSION) :] for key in keys]


async def iterate_events() -> AsyncIterator[list[tuple[str, int]]]:
    """Yield the keys of all events, page by page."""
    async for keys in iterate_keys(HISTORY):
        yield [event for key in keys if (event := event_of_key(key)) is not None]


async def get_stuck_submissions(
    now: datetime, *, limit: int | None = None
) -> list[StuckSubmission]:
    """Return stuck submissions.

    With *limit*, read only that many overdue records, most overdue first.
    """
    threshold = get_settings().stuck_threshold

    def keep_stuck(key: str, value: bytes) -> StuckSubmission | None:
        submission = decode_submission(key, value)
        if not is_stuck(submission, now=now, stuck_threshold=threshold):
            return None
        return StuckSubmission(
            id=submission.id,
            state=submission.state,
            repo_url=submission.repo_url,
            skill_name=submission.skill_name,
            skill_path=submission.skill_path,
            updated_at=submission.updated_at,
            stuck_for=max(now - submission.updated_at, timedelta(0)),
        )

    if limit is None:
        keys = await list_all_keys(SUBMISSION, due_before=now)
    else:
        keys = (await get_kv().list_keys(SUBMISSION, due_before=now, limit=limit)).keys
    return await read_each(keys, keep_stuck)


async def list_overdue_ids(now: datetime) -> list[str]:
    """Return the submissions whose deadline has passed, without reading their records."""
    keys = await list_all_keys(SUBMISSION, due_before=now)
    return [key[len(SUBMISSION) :] for key in keys]


async def list_pending_ids(
    wanted: Callable[[Submission], bool], *, limit: int | None = None
) -> list[str]:
    """Return the ids of up to *limit* unfinished submissions for which *wanted* is true.

    The cost depends on the number of pending ones; records are read in batches.
    """

    def keep(key: str, value: bytes) -> str | None:
        submission = decode_submission(key, value)
        has_ended = submission.state in TERMINAL_STATES
        return None if has_ended or not wanted(submission) else submission.id

    found: dict[str, None] = {}  # a submission that moves may be on two pages
    async for keys in iterate_keys(SUBMISSION, due_before=_LONG_AFTER):
        found |= dict.fromkeys(await read_each(keys, keep))
        if limit is not None and len(found) >= limit:
            break
    return list(found)[:limit]


async def get_waiting_reviews() -> list[Submission]:
    """Return the submissions that need review, longest waiting first, without reading others."""
    marked, undated = await _find_reviews(_MOST_REVIEWS)
    waiting = {one.id: one for one in await read_each(marked, _decode_review)}
    waiting |= {one.id: one for one in undated}
    return sorted(waiting.values(), key=lambda one: (one.updated_at, one.id))


async def count_waiting_reviews(*, limit: int) -> tuple[int, datetime | None]:
    """Count submissions that need review, up to *limit*; also return since when the first waits."""
    marked, undated = await _find_reviews(limit)
    first = await read_each(marked[:1], _decode_review)
    others = [one for one in undated if SUBMISSION + one.id not in set(marked)]
    since = min((one.updated_at for one in (*first, *others)), default=None)
    return min(len(marked) + len(others), limit), since


async def _find_reviews(limit: int) -> tuple[list[str], list[Submission]]:
    """Return the keys with the mark, and keys that may have been written without it.

    Records without a deadline may come from a release that did not write the mark.
    """
    (marked,) = await get_kv().find_marked([_NEEDS_REVIEW], limit=limit)
    page = await get_kv().list_keys(SUBMISSION, due_before=_EPOCH, limit=limit)
    return marked, await read_each(page.keys, _decode_review)


def _decode_review(key: str, value: bytes) -> Submission | None:
    submission = decode_submission(key, value)
    return submission if submission.state is SubmissionState.NEEDS_REVIEW else None


async def get_submission_index(*, after: str | None = None, limit: int = 50) -> SubmissionPage:
    """Return a page of submissions, newest first.

    The keys sort by creation time, so no separate index is needed.
    """
    page = await get_kv().list_keys(SUBMISSION, after=after, limit=limit, newest_first=True)
    return SubmissionPage(await read_each(page.keys, decode_submission), page.cursor)


async def get_source_owner(source: Source) -> str | None:
    """Return the id of the submission that owns this source."""
    stored = await get_record(SOURCE_PREFIX + source.key, str)
    return stored.record if stored else None


async def get_history(submission_id: str) -> list[StateEvent]:
    keys = await list_all_keys(f"{HISTORY}{submission_id}:")
    return await read_each(keys, lambda key, value: decode(key, value, StateEvent))


async def get_histories(submission_ids: Sequence[str]) -> dict[str, list[StateEvent]]:
    """Return the history of each submission, read at once."""
    histories: dict[str, list[StateEvent]] = {found: [] for found in submission_ids}
    submissions = await read_submissions(list(histories))
    events = [
        (submission_id, number)
        for submission_id, submission in submissions.items()
        for number in range(submission.events)
    ]
    for (submission_id, _), event in (await read_events(events)).items():
        histories[submission_id].append(event)
    return histories


def write_new_submission(
    submission: Submission, event: StateEvent, *, group: str
) -> list[Operation]:
    """Return the operations that store and queue a submission and claim its source."""
    return [
        *write_beginning(submission, event),
        *write_submission(submission, [], expected=ABSENT),
        queue_submission(submission, group=group),
    ]


def write_beginning(submission: Submission, event: StateEvent) -> list[Operation]:
    """Return the operations that make a submission own its source, with its first event."""
    return [
        Put(
            SOURCE_PREFIX + submission.source.key, encode(submission.id), expected=ABSENT, due=NEVER
        ),
        _write_event(event),
    ]


def write_submission(
    submission: Submission, events: Sequence[StateEvent], *, expected: int
) -> list[Operation]:
    """Return the operations that store a submission and its event; fail if it has changed."""
    due = deadline(submission, stuck_threshold=get_settings().stuck_threshold) or NEVER
    needs_review = submission.state is SubmissionState.NEEDS_REVIEW
    return [
        Put(
            SUBMISSION + submission.id,
            encode(submission),
            expected=expected,
            due=due,
            marks=(_NEEDS_REVIEW,) if needs_review else (),
            rank=_micros(submission.updated_at),
        ),
        *map(_write_event, events),
    ]


def expect_submission(stored: Stored[Submission]) -> Operation:
    """Make a commit fail if this submission has changed."""
    return Expect(SUBMISSION + stored.record.id, stored.revision)


async def delete_submission(stored: Stored[Submission]) -> list[Operation]:
    """Return the operations that remove a submission, its history and its source's ownership.

    The source can then be submitted again. If the submission has changed meanwhile, nothing is
    removed.
    """
    submission = stored.record
    claim_key = SOURCE_PREFIX + submission.source.key
    claim = await get_record(claim_key, str)
    owns = claim is not None and claim.record == submission.id
    return [
        Delete(SUBMISSION + submission.id, expected=stored.revision),
        *map(Delete, await list_all_keys(f"{HISTORY}{submission.id}:")),
        *([Delete(claim_key, expected=claim.revision)] if claim and owns else []),
    ]


async def list_submissions_after(
    after: str | None, *, limit: int
) -> tuple[list[Stored[Submission]], str | None]:
    """Return a page of submissions, oldest first, and the next cursor."""
    page = await get_kv().list_keys(SUBMISSION, after=after, limit=limit)
    found = await settle(get_submission, map(_id_of, page.keys), at_once=READS_AT_ONCE)
    for error in (one for one in found if isinstance(one, Exception)):
        log.error("submission skipped", error=str(error))
    return [one for one in found if isinstance(one, Stored)], page.cursor


def _id_of(key: str) -> str:
    return key[len(SUBMISSION) :]


def _write_event(event: StateEvent) -> Operation:
    key = _event_key(event.submission_id, event.number)
    return Put(key, encode(event), expected=ABSENT, due=NEVER)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _event_key(submission_id: str, number: int) -> str:
    return f"{HISTORY}{submission_id}:{number:06}"


def decode_submission(key: str, value: bytes) -> Submission:
    return decode(key, value, Submission)
