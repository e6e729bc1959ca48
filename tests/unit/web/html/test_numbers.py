"""Ages, durations and sizes, as pages show them."""

import pytest

from tests.cases import all_cases
from vskill_platform.web.html.numbers import ago_in_words, in_bytes, in_duration, in_figures

MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (59.9, "just now"),
        (-59, "in a moment"),
        (MINUTE, "1 min ago"),
        (89 * MINUTE, "1 h ago"),
        (91 * MINUTE, "2 h ago"),
        (59.6 * MINUTE, "1 h ago"),
        (23.6 * HOUR, "1 day ago"),
        (-90 * DAY, "in 90 days"),
        (-(90 * DAY - 5), "in 90 days"),
        (29.4 * DAY, "29 days ago"),
        (29.6 * DAY, "1 month ago"),
        (93 * DAY, "3 months ago"),
        (-99 * DAY, "in 99 days"),
        (-180 * DAY, "in 6 months"),
        (350 * DAY, "1 year ago"),
        (-365 * DAY, "in 1 year"),
        (730 * DAY, "2 years ago"),
    ],
)
def test_a_duration_is_rounded_to_one_unit(seconds: float, words: str) -> None:
    assert ago_in_words(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.012, "12 ms"), (3.4, "3.4 s"), (5 * MINUTE, "5 min"), (2 * HOUR, "2 h"),
        (DAY, "1 day"), (30 * HOUR, "1 day"), (3 * DAY, "3 days"),
    ],
)  # fmt: skip
def test_a_duration_has_one_unit_in_the_right_number(seconds: float, words: str) -> None:
    assert in_duration(seconds) == words


@all_cases(
    ("number", "words"),
    [(0, "0"), (7, "7"), (0.5, "0.5"), (0.1 + 0.2, "0.3"), (123_456, "123,456"),
     (1_234_567, "1,234,567"), (9_876_543_210, "9,876,543,210")],
)  # fmt: skip
def test_a_number_is_written_out(number: float, words: str) -> None:
    assert in_figures(number) == words


def test_a_size_has_a_fraction_only_if_it_needs_one() -> None:
    sizes = [in_bytes(size) for size in (0, 1000, 1024, 1536, 64 * 2**20, 5 * 2**30)]

    assert sizes == ["0 B", "1000 B", "1 KiB", "1.5 KiB", "64 MiB", "5 GiB"]
