"""Activity: submissions, results and scan times, per hour or per day."""

from datetime import datetime, timedelta

import pytest

from tests.clocks import NOON
from tests.unit.catalogue.index_files import an_event, committed, current, submitted
from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.catalogue.query import EVERYTHING, Bucket, Visible
from vskill_platform.errors import InvalidInput
from vskill_platform.model.submission import SubmissionState

_S = SubmissionState


def at(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


async def test_ends_and_beginnings_are_counted_by_hour(catalogue: Catalogue) -> None:
    await committed(
        [
            an_event("sub_1", 0, _S.RECEIVED, at=at(-3)),
            an_event("sub_1", 1, _S.TIER1_SCANNING, from_state=_S.RECEIVED, at=at(-3)),
            an_event("sub_1", 2, _S.RECEIVED, from_state=_S.TIER1_SCANNING, at=at(-2.9)),
            an_event("sub_1", 3, _S.REJECTED, from_state=_S.RECEIVED, at=at(-2)),
            an_event("sub_1", 4, _S.RECEIVED, from_state=_S.REJECTED, at=at(-2)),
            an_event("sub_2", 0, _S.REJECTED, at=at(-1.5)),
            an_event("sub_3", 0, _S.NEEDS_REVIEW, at=at(-1.5)),
            an_event("sub_4", 0, _S.PUBLISHED, at=at(0)),
            an_event("sub_5", 0, _S.PUBLISHED, at=at(-50)),
        ]
    )
    await current(catalogue)

    buckets = await catalogue.activity(at(-3), Bucket.HOUR)

    assert [bucket.start for bucket in buckets] == [at(-3), at(-2), at(-1), at(0)]
    assert [bucket.received for bucket in buckets] == [1, 1, 0, 0]
    assert [bucket.ended for bucket in buckets] == [
        {}, {_S.REJECTED: 2, _S.NEEDS_REVIEW: 1}, {}, {_S.PUBLISHED: 1},
    ]  # fmt: skip


async def test_days_begin_at_midnight(catalogue: Catalogue) -> None:
    await committed(
        [
            an_event("sub_1", 0, _S.PUBLISHED, at=at(-13)),
            an_event("sub_2", 0, _S.PUBLISHED, at=at(-11)),
        ]
    )
    await current(catalogue)

    buckets = await catalogue.activity(at(-30), Bucket.DAY)

    assert [bucket.start for bucket in buckets] == [at(-36), at(-12)]
    assert [bucket.ended for bucket in buckets] == [{_S.PUBLISHED: 1}, {_S.PUBLISHED: 1}]


async def test_scan_times_are_those_of_finished_submissions(catalogue: Catalogue) -> None:
    await committed(
        [
            an_event(
                f"sub_{number}", 1, _S.AUTO_APPROVED, from_state=_S.TIER1_SCANNING,
                timings={"fetch": 9.0, "check": number / 10, "judge": number / 10, "publish": 9.0},
            )
            for number in range(1, 101)
        ]
    )  # fmt: skip
    await committed([an_event("sub_1", 2, _S.PUBLISHED, from_state=_S.AUTO_APPROVED)])
    await current(catalogue)

    (bucket,) = await catalogue.activity(NOON, Bucket.HOUR)

    assert (bucket.scan_median, bucket.scan_p95) == (10.0, 19.0)
    assert (bucket.received, bucket.ended) == (0, {_S.PUBLISHED: 1})


async def test_private_submissions_are_counted_only_for_viewers_with_access(
    catalogue: Catalogue,
) -> None:
    await submitted("sub_1", is_private=True)
    timings = {"check": 4.0}
    await committed(
        [
            an_event("sub_1", 0, _S.REJECTED, timings=timings),
            an_event("sub_2", 0, _S.REJECTED),
        ]
    )
    await current(catalogue)

    async def ended(visible: Visible) -> tuple[int, float | None]:
        (bucket,) = await catalogue.activity(NOON, Bucket.HOUR, visible=visible)
        return bucket.ended[_S.REJECTED], bucket.scan_median

    assert await ended(Visible()) == (1, None)
    assert await ended(Visible(namespaces=frozenset({"@local"}))) == (2, 4.0)
    assert await ended(EVERYTHING) == (2, 4.0)


async def test_no_plot_has_more_points_than_anybody_can_see(catalogue: Catalogue) -> None:
    with pytest.raises(InvalidInput):
        await catalogue.activity(NOON - timedelta(days=3650), Bucket.HOUR)
    assert len(await catalogue.activity(at(1), Bucket.HOUR, until=at(0))) == 0
