from datetime import UTC, datetime, timedelta

from tests.cases import all_cases
from vskill_platform.base.retry_after import parse_retry_after

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@all_cases(
    ("text", "wait"),
    [
        ("0", timedelta(0)),
        (" 30 ", timedelta(seconds=30)),
        ("9" * 5000, DAY),
        ("Thu, 01 Jan 2026 00:01:00 GMT", timedelta(minutes=1)),
        ("Thu, 01 Jan 2026 00:01:00 -0000", timedelta(minutes=1)),
        ("Wed, 31 Dec 2025 00:00:00 GMT", timedelta(0)),
        ("Fri, 31 Dec 9999 23:59:59 -2359", DAY),
        ("Mon, 01 Jan 0001 00:00:00 +2359", timedelta(0)),
        ("Mon, 01 Jan 99999999999 00:00:00 GMT", None),
        ("Thu, 01 Jan 2026 00:00:00 +99999999", None),
        ("", None),
        ("-1", None),
        ("\u0663", None),
        ("soon", None),
    ],
)
def test_a_wait_is_read_whatever_is_in_the_header(text: str, wait: timedelta | None) -> None:
    assert parse_retry_after(text, NOW, most=DAY) == wait
