"""What submissions did over time: how many came, how they ended, how long scanning took."""

from datetime import datetime, timedelta
from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.list_submissions import visible_bindings
from vskill_platform.catalogue.query import ActivityBucket, Bucket, Visible
from vskill_platform.catalogue.sql import LISTS, one_value
from vskill_platform.engines.timestamps import from_micros, to_micros
from vskill_platform.errors import InvalidInput
from vskill_platform.model.submission import SubmissionState

#: Nobody can tell more of them apart.
MAX_BUCKETS = 5_000
_SIZES = {Bucket.HOUR: timedelta(hours=1), Bucket.DAY: timedelta(days=1)}
_COUNTS = msgspec.json.Decoder(list[tuple[int, SubmissionState, int]])
_TIMES = msgspec.json.Decoder(list[tuple[int, float, float]])


class ActivityQuery(msgspec.Struct, frozen=True, kw_only=True):
    since: datetime
    until: datetime
    bucket: Bucket
    visible: Visible


def list_activity(connection: apsw.Connection, query: ActivityQuery) -> list[ActivityBucket]:
    """Return every bucket from the one that *since* is in to the one that *until* is in."""
    size = _SIZES[query.bucket] // timedelta(microseconds=1)
    first, last = to_micros(query.since) // size, to_micros(query.until) // size
    if last - first >= MAX_BUCKETS:
        raise InvalidInput(f"that are more than {MAX_BUCKETS:,} {query.bucket}s")
    bindings = {
        "size": size,
        "since": first * size,
        "until": (last + 1) * size,
        **visible_bindings(query.visible),
    }
    counts: dict[int, dict[SubmissionState, int]] = {}
    for bucket, state, count in _COUNTS.decode(_ask(connection, "activity", bindings)):
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
