"""Write submissions, and the events that started or finished them, to the search index."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.sql import (
    WRITE,
    Rows,
    skipped_if_malformed,
    submission_key,
)
from vskill_platform.catalogue.words import as_one_word, words_of
from vskill_platform.engines.timestamps import to_micros
from vskill_platform.model.namespace import namespace_of
from vskill_platform.model.submission import (
    TERMINAL_STATES,
    StateEvent,
    Submission,
    SubmissionState,
)

#: Lists show a truncated reason; the submission's page shows the whole text.
MAX_REASON = 600
#: The upper bits of an id are the time, the lower bits distinguish ids of the same millisecond. Ids
#: are short, because the full-text index stores them with each word.
_FIRST_MOMENT = to_micros(datetime(2020, 1, 1, tzinfo=UTC)) // 1000
_LAST_MOMENT, _ID_BITS = (1 << 40) - 1, 12
#: The final states, and the state that waits for a review.
ENDS = TERMINAL_STATES | {SubmissionState.NEEDS_REVIEW}
#: Phases of processing that are not scanning.
_NOT_SCANNING = frozenset({"fetch", "publish"})
NO_SCORE = -1
_MAX_INTEGER = 2**63 - 1
_TOO_LARGE = "a number is too large for the index"
_encode = msgspec.json.Encoder().encode
_EventRow = tuple[int, int, int, str, int | None]


class SubmissionFacts(msgspec.Struct, frozen=True):
    submission: Submission
    #: The score of its latest report.
    score: int | None


class SubmissionChanges(msgspec.Struct, frozen=True, kw_only=True):
    submissions: Sequence[SubmissionFacts] = ()
    events: Sequence[StateEvent] = ()
    #: Ids of submissions that no longer exist.
    gone: Sequence[str] = ()
    #: Submission and number of each event that no longer exists.
    gone_events: Sequence[tuple[str, int]] = ()


class _Ready(msgspec.Struct, frozen=True):
    """A submission ready to be written."""

    preferred_id: int
    words: str
    digest: bytes
    #: All columns except the id.
    columns: dict[str, Any]


def write_submissions(connection: apsw.Connection, changes: SubmissionChanges) -> None:
    submissions: list[_Ready] = []
    for facts in changes.submissions:
        with skipped_if_malformed(submission=facts.submission.id):
            submissions.append(_make_ready(facts))
    names = [*changes.gone, *(one.columns["submission_id"] for one in submissions)]
    rows = Rows(connection, "submission", names, [one.preferred_id for one in submissions])
    forget = [row_id for gone in changes.gone if (row_id := _remove(connection, rows, gone))]
    learn: list[tuple[int, str]] = []
    written: list[dict[str, Any]] = []
    for ready in submissions:
        row_id, is_known, is_new = _place(rows, ready)
        written.append({"id": row_id, **ready.columns})
        forget += [row_id] if is_known and is_new else []
        learn += [(row_id, ready.words)] if is_new else []
    connection.executemany(WRITE["put_submission"], written)
    _write_events(connection, changes)
    # All at once at the end, as in write_skills.py.
    connection.executemany(WRITE["delete_submission_text"], [{"id": old} for old in sorted(forget)])
    if learn:
        connection.execute(WRITE["add_submission_text"], {"rows": _encode(sorted(learn)).decode()})


def _make_ready(facts: SubmissionFacts) -> _Ready:
    submission, score = facts.submission, facts.score
    if max(abs(submission.attempts), abs(score or 0)) > _MAX_INTEGER:
        raise ValueError(_TOO_LARGE)
    words = _words(submission)
    digest = hashlib.blake2b(words.encode(), digest_size=8).digest()
    columns = {
        "submission_id": submission.id,
        "key": submission_key(submission.id),
        "state": submission.state.value,
        "name_key": as_one_word(words_of(submission.skill_name)),
        "score": NO_SCORE if score is None else score,
        "submitter": submission.submitter,
        "set_id": submission.set_id or "",
        "namespace": namespace_of(submission.source),
        "is_private": int(submission.is_private),
        "created_at": to_micros(submission.created_at),
        "updated_at": to_micros(submission.updated_at),
        "attempts": submission.attempts,
        "skill_name": submission.skill_name,
        "repo_url": submission.repo_url,
        "path": submission.skill_path,
        "slug": submission.slug,
        "reason": submission.reason[:MAX_REASON],
        "found_by": digest,
    }
    return _Ready(_preferred_id(submission), words, digest, columns)


def _place(rows: Rows, ready: _Ready) -> tuple[int, bool, bool]:
    """Return the id of a submission, whether it existed, and whether its words have changed."""
    submission_id = ready.columns["submission_id"]
    known = rows.find(submission_id)
    row_id = known[0] if known else rows.free_id(ready.preferred_id, submission_id)
    rows.put(submission_id, row_id, ready.digest)
    return row_id, known is not None, known is None or known[1] != ready.digest


def _words(submission: Submission) -> str:
    texts = (
        submission.id,
        submission.skill_name,
        submission.repo_url.partition("://")[2] or submission.repo_url,
        submission.skill_path,
        submission.slug or "",
        submission.submitter,
    )
    return " ".join(dict.fromkeys(words_of(" ".join(texts))))


def _preferred_id(submission: Submission) -> int:
    """Return an id that sorts newest first and is the same on every node."""
    milliseconds = to_micros(submission.created_at) // 1000 - _FIRST_MOMENT
    moment = min(max(milliseconds, 0), _LAST_MOMENT)
    return (_LAST_MOMENT - moment) << _ID_BITS | submission_key(submission.id) >> (63 - _ID_BITS)


def _remove(connection: apsw.Connection, rows: Rows, submission_id: str) -> int | None:
    known = rows.find(submission_id)
    if known is None:
        return None
    rows.remove(submission_id)
    connection.execute(WRITE["delete_submission"], {"id": known[0]})
    return known[0]


def _write_events(connection: apsw.Connection, changes: SubmissionChanges) -> None:
    """Write all events with two statements of write.sql."""
    gone = [(submission_key(one), number) for one, number in changes.gone_events]
    kept: list[_EventRow] = []
    for event in changes.events:
        with skipped_if_malformed(submission=event.submission_id, number=event.number):
            row = _event_row(event)
            if row is None:
                gone.append((submission_key(event.submission_id), event.number))
            else:
                kept.append(row)
    for query, rows in (("remove_events", gone), ("put_events", kept)):
        if rows:
            connection.execute(WRITE[query], {"rows": _encode(rows).decode()})


def _event_row(event: StateEvent) -> _EventRow | None:
    """Return submission, number, time, state and scan time of an event that counts, or None."""
    scanning = [seconds for phase, seconds in event.timings.items() if phase not in _NOT_SCANNING]
    state = _counted_as(event)
    if not state and not scanning:
        return None
    micros = round(sum(scanning) * 1e6) if scanning else None
    if max(event.number, micros or 0) > _MAX_INTEGER:
        raise ValueError(_TOO_LARGE)
    return submission_key(event.submission_id), event.number, to_micros(event.at), state, micros


def _counted_as(event: StateEvent) -> str:
    """Return its final state, or RECEIVED if processing started; a retry does not count."""
    if event.to_state in ENDS:
        return event.to_state.value
    is_opened = event.from_state is None or event.from_state in ENDS
    is_received = event.to_state is SubmissionState.RECEIVED
    return event.to_state.value if is_opened and is_received else ""
