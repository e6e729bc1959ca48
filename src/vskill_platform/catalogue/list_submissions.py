"""List and count submissions, their activity over time, and the totals of the search index."""

from datetime import datetime, timedelta
from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.match import prefixes_of
from vskill_platform.catalogue.query import (
    MAX_LIMIT,
    ActivityBucket,
    Bucket,
    Counts,
    SubmissionPosition,
    SubmissionQuery,
    SubmissionResults,
    SubmissionRow,
    SubmissionSort,
    TakenDownSkill,
    TakenDownSkills,
    Visible,
)
from vskill_platform.catalogue.sql import LISTS, SEARCH, one_value
from vskill_platform.catalogue.words import query_words
from vskill_platform.engines.timestamps import from_micros, to_micros
from vskill_platform.errors import InvalidInput
from vskill_platform.model.submission import SubmissionState

_COUNTS = msgspec.json.Decoder(list[tuple[SubmissionState, int]])
_encode = msgspec.json.Encoder().encode
_MAX_OFFSET = 2**31
#: If more than one in this many submissions match, they are read in sort order until the page is
#: full; otherwise they are filtered first and then sorted.
_DENSE = 20

#: Each filter as SQL; the braces are for a `+`, which keeps SQLite from using an index.
_FILTERS = {
    "states": "{0}state IN (SELECT value FROM json_each(:states))",
    "submitter": "{0}submitter = :submitter",
    "set_id": "{0}set_id = :set_id AND {0}set_id != ''",
    "ids": "{0}submission_id IN (SELECT value FROM json_each(:ids))",
    "namespace": "{0}namespace = :namespace",
    "text": "{0}id IN (SELECT rowid FROM submission_text WHERE submission_text MATCH :text)",
}
_SEEN = "(is_private = 0 OR namespace IN (SELECT value FROM json_each(:namespaces)))"
_ORDERS = {
    SubmissionSort.NEWEST: "id",
    SubmissionSort.OLDEST: "id DESC",
    SubmissionSort.UPDATED: "updated_at DESC, id",
    SubmissionSort.NAME: "name_key, id",
    SubmissionSort.SCORE: "score DESC, id",
}
#: The rows after a position, in the orders that never change.
_AFTER = {SubmissionSort.NEWEST: "id > :after", SubmissionSort.OLDEST: "id < :after"}
_WITH_INDEX, _WITHOUT_INDEX = "", "+"


class _StoredRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The columns that list_submissions in lists.sql returns, in this order."""

    id: str
    skill_name: str
    repo_url: str
    path: str
    state: SubmissionState
    reason: str
    score: int | None
    submitter: str
    namespace: str
    created_at: int
    updated_at: int
    attempts: int
    slug: str | None
    set_id: str | None
    is_private: int
    row_id: int


_STORED = msgspec.json.Decoder(list[_StoredRow])


def list_submissions(connection: apsw.Connection, query: SubmissionQuery) -> SubmissionResults:
    bindings = _bindings(query)
    words = query_words(query.text)
    if query.text.strip() and not words:  # only punctuation, which matches nothing
        return SubmissionResults(rows=[], total=0)
    by_state = count_by_state(connection, query.visible)
    total = _total(connection, query, bindings, by_state)
    if not total or not query.limit:
        return SubmissionResults(rows=[], total=total)
    is_dense = total * _DENSE > sum(by_state.values())
    sql = LISTS["list_submissions"].format(
        where=_where(bindings, query.visible, sign=_WITHOUT_INDEX if is_dense else _WITH_INDEX),
        after=_after(query),
        order=_ORDERS[query.sort],
    )
    limit = min(max(query.limit, 0), MAX_LIMIT)
    page = {
        "limit": limit + 1,
        "offset": min(max(query.offset, 0), _MAX_OFFSET),
        "after": query.after.id if query.after else None,
    }
    stored = _STORED.decode(one_value(connection, sql, bindings | page))
    following = _position(query, stored[limit - 1]) if len(stored) > limit else None
    return SubmissionResults(
        rows=[_row(one) for one in stored[:limit]], total=total, next=following
    )


def _after(query: SubmissionQuery) -> str:
    """Return the condition for the rows after the position of a query."""
    if query.after is None:
        return "TRUE"
    if query.after.sort is not query.sort or query.sort not in _AFTER:
        raise InvalidInput(f"this cursor continues a list sorted by {query.after.sort}")
    return _AFTER[query.sort]


def _position(query: SubmissionQuery, last: _StoredRow) -> SubmissionPosition | None:
    if query.sort in _AFTER:
        return SubmissionPosition(query.sort, last.row_id)
    return None


def _row(stored: _StoredRow) -> SubmissionRow:
    columns = msgspec.structs.asdict(stored)
    del columns["row_id"]
    converted = {
        "created_at": from_micros(stored.created_at),
        "updated_at": from_micros(stored.updated_at),
        "is_private": bool(stored.is_private),
    }
    return SubmissionRow(**columns | converted)


def count_by_state(connection: apsw.Connection, visible: Visible) -> dict[SubmissionState, int]:
    """Return the number of submissions in each state, including zeros."""
    counts = dict.fromkeys(SubmissionState, 0)
    for query in ("count_by_state", "count_private_by_state"):
        if query == "count_private_by_state" and (visible.is_all or not visible.namespaces):
            continue
        found = one_value(connection, LISTS[query], visible_bindings(visible))
        for state, count in _COUNTS.decode(found):
            counts[state] += count
    return counts


def visible_bindings(visible: Visible) -> dict[str, Any]:
    return {
        "is_all": int(visible.is_all),
        "namespaces": _encode(sorted(visible.namespaces)).decode(),
    }


def _total(
    connection: apsw.Connection,
    query: SubmissionQuery,
    bindings: dict[str, Any],
    by_state: dict[SubmissionState, int],
) -> int:
    """Count the matches; totals by state alone are maintained by triggers."""
    if not set(bindings) & set(_FILTERS) - {"states"}:
        return sum(by_state[state] for state in set(query.states) or by_state)
    where = _where(bindings, query.visible, sign=_WITH_INDEX)
    return int(one_value(connection, LISTS["count_submissions"].format(where=where), bindings))


def _where(bindings: dict[str, Any], visible: Visible, *, sign: str) -> str:
    parts = [sql.format(sign) for name, sql in _FILTERS.items() if name in bindings]
    return " AND ".join([*parts, "TRUE" if visible.is_all else _SEEN])


def _bindings(query: SubmissionQuery) -> dict[str, Any]:
    """Return the values of the active filters."""
    values: dict[str, Any] = {
        "states": _encode(query.states).decode() if query.states else "",
        "submitter": query.submitter,
        "set_id": query.set_id,
        "ids": _encode(query.ids).decode() if query.ids else "",
        "namespace": query.namespace,
        "text": prefixes_of(query_words(query.text)),
    }
    asked = {name: value for name, value in values.items() if value}
    return asked | visible_bindings(query.visible)


_DOWN = msgspec.json.Decoder(list[TakenDownSkill])
_NUMBERS = msgspec.json.Decoder(tuple[int, int, int])


def count_all(connection: apsw.Connection, visible: Visible, known: Counts | None) -> Counts:
    """Count everything; skills are counted again only if they have changed."""
    by_state = count_by_state(connection, visible)
    if known:
        return msgspec.structs.replace(known, by_state=by_state)
    bindings = visible_bindings(visible)
    numbers = one_value(connection, SEARCH["count_listed"], bindings)
    namespaces, published, installs = _NUMBERS.decode(numbers)
    return Counts(
        by_state=by_state,
        published=published,
        taken_down=one_value(connection, SEARCH["count_down"], bindings | {"named": ""}),
        namespaces=namespaces,
        installs=installs,
    )


def list_down(
    connection: apsw.Connection, *, named: str, offset: int, limit: int, visible: Visible
) -> TakenDownSkills:
    bindings = visible_bindings(visible) | {"named": named}
    page = {
        "limit": min(max(limit, 0), MAX_LIMIT),
        "offset": min(max(offset, 0), _MAX_OFFSET),
    }
    return TakenDownSkills(
        skills=_DOWN.decode(one_value(connection, SEARCH["list_down"], bindings | page)),
        total=one_value(connection, SEARCH["count_down"], bindings),
    )


#: Maximum number of buckets of a chart.
MAX_BUCKETS = 5_000
_SIZES = {Bucket.HOUR: timedelta(hours=1), Bucket.DAY: timedelta(days=1)}
_ACTIVITY_COUNTS = msgspec.json.Decoder(list[tuple[int, SubmissionState, int]])
_TIMES = msgspec.json.Decoder(list[tuple[int, float, float]])


class ActivityQuery(msgspec.Struct, frozen=True, kw_only=True):
    since: datetime
    until: datetime
    bucket: Bucket
    visible: Visible


def list_activity(connection: apsw.Connection, query: ActivityQuery) -> list[ActivityBucket]:
    """Return all buckets from the one that contains *since* to the one that contains *until*."""
    size = _SIZES[query.bucket] // timedelta(microseconds=1)
    first, last = to_micros(query.since) // size, to_micros(query.until) // size
    if last - first >= MAX_BUCKETS:
        raise InvalidInput(f"the time range has more than {MAX_BUCKETS:,} {query.bucket}s")
    bindings = {
        "size": size,
        "since": first * size,
        "until": (last + 1) * size,
        **visible_bindings(query.visible),
    }
    counts: dict[int, dict[SubmissionState, int]] = {}
    for bucket, state, count in _ACTIVITY_COUNTS.decode(_ask(connection, "activity", bindings)):
        counts.setdefault(bucket, {})[state] = count
    times = {
        bucket: (median, p95)
        for bucket, median, p95 in _TIMES.decode(_ask(connection, "scan_times", bindings))
    }
    return [
        _bucket(from_micros(bucket * size), counts.get(bucket, {}), times.get(bucket))
        for bucket in range(first, last + 1)
    ]


def _ask(connection: apsw.Connection, query: str, bindings: dict[str, Any]) -> Any:
    return one_value(connection, LISTS[query], bindings)


def _bucket(
    start: datetime,
    counts: dict[SubmissionState, int],
    times: tuple[float, float] | None,
) -> ActivityBucket:
    median, p95 = times or (None, None)
    return ActivityBucket(
        start=start,
        received=counts.pop(SubmissionState.RECEIVED, 0),
        ended=counts,
        scan_median=median,
        scan_p95=p95,
    )
