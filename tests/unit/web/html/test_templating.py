"""The words that the pages use for moments."""

import pytest

from vskill_platform.web.html.templating import ago_in_words

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
        (99 * DAY, "99 days ago"),
        (100 * DAY, "3 months ago"),
        (-180 * DAY, "in 6 months"),
        (350 * DAY, "1 year ago"),
        (-365 * DAY, "in 1 year"),
        (730 * DAY, "2 years ago"),
    ],
)
def test_a_length_is_said_in_one_unit_to_the_nearest(seconds: float, words: str) -> None:
    assert ago_in_words(seconds) == words
