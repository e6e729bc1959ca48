"""Timestamps as whole numbers, which every database sorts the same way."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clocks import NOON
from vskill_platform.engines.operations import NEVER
from vskill_platform.engines.timestamps import (
    from_micros,
    micros_after,
    to_micros,
    to_optional_micros,
)


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_a_moment_comes_back_as_it_was_and_keeps_its_place(one: datetime, two: datetime) -> None:
    assert from_micros(to_micros(one)) == one
    assert (to_micros(one) < to_micros(two)) == (one < two)


def test_never_is_the_number_that_the_schema_knows() -> None:
    assert to_micros(NEVER) == 253402300799999999


def test_a_moment_is_the_same_in_every_time_zone() -> None:
    in_vienna = NOON.astimezone(timezone(timedelta(hours=1)))

    assert to_micros(in_vienna) == to_micros(NOON)


def test_no_moment_stays_none() -> None:
    assert to_optional_micros(None) is None
    assert to_optional_micros(NOON) == to_micros(NOON)


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (timedelta(seconds=1), NOON + timedelta(seconds=1)),
        (timedelta(0), NOON),
        (timedelta(seconds=-1), NOON),
        (timedelta.min, NOON),
        (timedelta.max, NEVER),
    ],
)
def test_a_later_time_is_never_earlier_nor_beyond_the_calendar(
    span: timedelta, expected: datetime
) -> None:
    assert from_micros(micros_after(to_micros(NOON), span)) == expected
