"""The lines of a text that one page shows: the first ones, and highlighted ones."""

import pytest

from vskill_platform.web.html.highlight import Spans, find_spans
from vskill_platform.web.html.numbered_lines import (
    MAX_CHARACTERS,
    MAX_LINE_CHARACTERS,
    MAX_LINES,
    show_lines,
)


def test_a_short_text_is_shown_as_it_is() -> None:
    found = show_lines("one\r\ntwo <b>\n\u202ethree\n", frozenset({2}))

    assert found.lines == (
        (1, "one", False), (2, "two &lt;b&gt;", True), (3, "<mark>U+202E</mark>three", False),
    )  # fmt: skip
    assert found.note == ""


@pytest.mark.parametrize(("text", "count"), [("a", 1), ("a\n", 1), ("\n", 1), ("a\n\n", 2)])
def test_the_last_line_feed_begins_no_line(text: str, count: int) -> None:
    assert len(show_lines(text).lines) == count


def test_an_empty_text_says_so() -> None:
    assert show_lines("").note == "The file is empty."


def test_of_many_lines_the_first_are_shown() -> None:
    found = show_lines("a\n" * (MAX_LINES + 1))

    assert len(found.lines) == MAX_LINES
    assert found.note == "Showing the first 2,000 of 2,001 lines."
    assert show_lines("a\n" * MAX_LINES).note == ""


def test_of_long_lines_fewer_are_shown_and_each_only_in_part() -> None:
    found = show_lines(f"{'ж' * 3000}\n" * 1000)

    assert len(found.lines) == MAX_CHARACTERS // MAX_LINE_CHARACTERS
    assert {len(line) for _, line, _ in found.lines} == {MAX_LINE_CHARACTERS + 1}
    assert "the first 100 of 1,000 lines" in found.note


def test_the_rest_is_shown_page_by_page() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 5001))

    second = show_lines(text, frozenset({5, 4000}), start=2001)
    last = show_lines(text, start=second.following or 0)

    assert second.lines[0] == (2001, "line 2001", False)
    assert second.lines[-1] == (4000, "line 4000", True)
    assert second.note == "Showing lines 2,001 to 4,000 of 5,000."
    assert [last.lines[0][0], last.lines[-1][0], last.following] == [4001, 5000, None]


@pytest.mark.parametrize(("start", "first"), [(-5, 1), (0, 1), (3, 3), (999, 3)])
def test_a_start_that_is_not_there_is_the_nearest(start: int, first: int) -> None:
    assert show_lines("a\nb\nc\n", start=start).lines[0][0] == first


def test_colored_lines_are_escaped_and_cut_like_others() -> None:
    text = "x = '<b>\u202e'\r\n" + "y" * (MAX_LINE_CHARACTERS + 5) + "\n"
    (numbers,) = find_spans([(text, "python")])

    found = show_lines(text, spans=Spans(tuple(numbers)))

    quoted = "&#39;&lt;b&gt;<mark>U+202E</mark>&#39;"
    assert found.lines[0][1] == f'x = <span class="s">{quoted}</span>'
    assert found.lines[1][1] == "y" * MAX_LINE_CHARACTERS + "…"


def test_a_later_page_leads_back_and_on() -> None:
    middle = show_lines("a\n" * (3 * MAX_LINES), start=MAX_LINES + 1)

    assert (middle.previous, middle.following) == (1, 2 * MAX_LINES + 1)
    assert show_lines("a\n").previous is None
