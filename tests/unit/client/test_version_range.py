"""Version ranges mean what they mean to npm."""

import pytest

from tests.cases import all_cases
from vskill_platform.client.version_range import parse_range, split_wanted
from vskill_platform.errors import InvalidInput

ALL = ["0.0.1", "0.1.0", "0.1.9", "0.2.0", "1.0.0", "1.2.3", "1.2.10", "1.3.0", "2.0.0", "10.0.0"]


@all_cases(
    ("text", "matching"),
    [
        ("1.2.3", ["1.2.3"]),
        ("=1.2.3", ["1.2.3"]),
        ("v1.2.3", ["1.2.3"]),
        ("^1.2.3", ["1.2.3", "1.2.10", "1.3.0"]),
        ("^1", ["1.0.0", "1.2.3", "1.2.10", "1.3.0"]),
        ("^0.1.0", ["0.1.0", "0.1.9"]),
        ("^0.0.1", ["0.0.1"]),
        ("^0.0", ["0.0.1"]),
        ("^0", ["0.0.1", "0.1.0", "0.1.9", "0.2.0"]),
        ("~1.2.3", ["1.2.3", "1.2.10"]),
        ("~1.2", ["1.2.3", "1.2.10"]),
        ("~1", ["1.0.0", "1.2.3", "1.2.10", "1.3.0"]),
        (">=1.2.10", ["1.2.10", "1.3.0", "2.0.0", "10.0.0"]),
        (">1.2", ["1.3.0", "2.0.0", "10.0.0"]),
        (">1", ["2.0.0", "10.0.0"]),
        ("<0.1", ["0.0.1"]),
        ("<=0.1", ["0.0.1", "0.1.0", "0.1.9"]),
        ("<= 0.1.0", ["0.0.1", "0.1.0"]),
        (">=1.0.0 <1.3.0", ["1.0.0", "1.2.3", "1.2.10"]),
        (">= 1.0.0 < 1.3.0", ["1.0.0", "1.2.3", "1.2.10"]),
        ("1.2.x", ["1.2.3", "1.2.10"]),
        ("1.X", ["1.0.0", "1.2.3", "1.2.10", "1.3.0"]),
        ("1.2", ["1.2.3", "1.2.10"]),
        ("0.0.1 || ^2", ["0.0.1", "2.0.0"]),
        ("1.0.0 - 1.2.3", ["1.0.0", "1.2.3"]),
        ("1.0 - 1.2", ["1.0.0", "1.2.3", "1.2.10"]),
        ("*", ALL),
        ("x", ALL),
        ("", ALL),
        ("latest", ALL),
        (">*", []),
        (">=2 <1", []),
    ],
)
def test_a_range_matches_these_versions(text: str, matching: list[str]) -> None:
    wanted = parse_range(text)

    assert [version for version in ALL if version in wanted] == matching


def test_the_highest_matching_version_is_the_best() -> None:
    assert parse_range("^1.2").best_of(["1.2.3", "1.2.10", "1.2.9", "2.0.0"]) == "1.2.10"
    assert parse_range("^3").best_of(ALL) is None


@all_cases(
    ("text", "exact"),
    [("1.2.3", "1.2.3"), ("=1.2.3", "1.2.3"), ("v1.2.3", "1.2.3"), ("1.2", None), ("^1.2.3", None),
     ("1.2.3 || 1.2.4", None), ("latest", None)],
)  # fmt: skip
def test_only_a_whole_version_is_exact(text: str, exact: str | None) -> None:
    assert parse_range(text).exact == exact


@all_cases(
    "text",
    ["newest", "1.2.3.4", "1.2.3-beta", "^", ">=", "1..2", "01.2.3", "1.2.3; rm", "\x1b[31m",
     "\uff19", "1" * 201],
)  # fmt: skip
def test_a_text_that_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_range(text)


@all_cases(
    ("wanted", "name", "text"),
    [
        ("tidy", "tidy", "latest"),
        ("tidy@^1", "tidy", "^1"),
        ("@acme/demo", "@acme/demo", "latest"),
        ("@acme/demo@1.2.3", "@acme/demo", "1.2.3"),
        ("ada/notes/tidy@>=1 <2", "ada/notes/tidy", ">=1 <2"),
        ("tidy@latest", "tidy", "latest"),
    ],
)
def test_a_name_and_a_range_are_distinguished(wanted: str, name: str, text: str) -> None:
    found, found_range = split_wanted(wanted)

    assert (found, found_range.text) == (name, text)


@pytest.mark.parametrize("wanted", ["", "@", "tidy@", "@/", "tidy@ "])
def test_a_name_is_required(wanted: str) -> None:
    with pytest.raises(InvalidInput):
        split_wanted(wanted)
