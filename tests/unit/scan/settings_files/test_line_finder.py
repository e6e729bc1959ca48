"""The lines of values, also of very many and of those that are not in the text."""

from vskill_platform.scan.settings_files import line_finder
from vskill_platform.scan.settings_files.line_finder import LineFinder


def test_a_value_has_the_line_of_its_first_spelling_that_occurs() -> None:
    lines = LineFinder("one\ntwo\nthree")

    assert [lines.line_of("two"), lines.line_of("missing", "three"), lines.line_at(0)] == [2, 3, 1]


def test_a_value_that_does_not_occur_has_the_first_line() -> None:
    assert LineFinder("one\ntwo").line_of("missing") == 1


def test_very_many_missing_values_are_not_searched_in_the_whole_text_each() -> None:
    text = "a line of it\n" * 10_000
    lines = LineFinder(text)

    for number in range(20_000):
        lines.line_of(f"value {number}", f"spelled {number}")

    assert lines._searched < line_finder._MAX_SEARCHED + 2 * len(text)


def test_after_very_many_values_the_next_one_is_found_behind_the_last_one() -> None:
    text = "".join(f"value {number} of it\n" for number in range(5_000))
    lines = LineFinder(text)

    found = [lines.line_of(f"value {number} of") for number in range(5_000)]

    assert lines._searched > line_finder._MAX_SEARCHED
    assert found == list(range(1, 5_001))
