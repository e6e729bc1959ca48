"""The text of a policy: finding a value, and changing it without touching the rest."""

import tomllib
from typing import Any

import pytest

from vskill_platform.errors import PolicyInvalid
from vskill_platform.model.policy_text import Row, edit, edit_tables, line_of, locate, write
from vskill_platform.model.read_policy import read_policy

DOCUMENT = '''\
# Ours, since May.
[thresholds]
review_at = "medium"  # as agreed

[trust]
publishers = [
  "github.com/acme",  # the parent company
  "@house",
]

[[suppressions]]
rule = "SKR-RUN-002"
path = "a.sh"
reason = """
[limits]
max_files = 3
"""
expires = 2027-01-31

[[namespaces]]
match = "acme/*"
[namespaces.thresholds]
review_at = "low"
[[namespaces]]
match = "other/*"
'''


@pytest.mark.parametrize(
    ("at", "line"),
    [
        (("thresholds", "review_at"), 3),
        (("trust", "publishers"), 6),
        (("suppressions", 0, "expires"), 18),
        (("suppressions", 0, "skill"), 11),  # not there: its table
        (("namespaces", 0, "thresholds", "review_at"), 23),
        (("namespaces", 1, "match"), 25),
        (("limits", "max_files"), 0),  # only in a string
    ],
)
def test_the_line_of_a_value_is_found(at: tuple[str | int, ...], line: int) -> None:
    assert line_of(DOCUMENT, at) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[thresholds]\n\nreview_at = 'lots'\n", 3),
        ("[thresholds]\nreview_at = 'low'\nreviw_at = 'low'\n", 3),
        ("[thresholds]\n[thresholds.risky]\nreject_at = 'x'\n", 3),
        ("# a\n[trust]\npublishers = ['*']\n", 3),
        ("[[namespaces]]\nmatch = 'a/*'\n[[namespaces]]\nmatch = ''\n", 4),
        ("[limits]\nmax_files = 0\n", 2),
        ("a = [\n", 1),
        ("[a]\nb c\n", 2),
        ("[[scanners]]\nname = 3\n", 2),
        ("colour = 1", 1),
    ],
)
def test_an_error_names_its_line(text: str, line: int) -> None:
    with pytest.raises(PolicyInvalid) as caught:
        read_policy(text, rules={})

    assert locate(caught.value, text).line == line


def test_a_change_leaves_comments_and_other_tables_as_they_are() -> None:
    edited = edit(
        DOCUMENT,
        [
            (("thresholds", "review_at"), "high"),
            (("thresholds", "two_grave_reject"), False),
            (("trust", "publishers"), ["@house"]),
            (("limits", "max_files"), 20),
            (("review", "own"), None),
        ],
    )

    assert edited == (
        DOCUMENT.replace(
            'review_at = "medium"  # as agreed\n',
            'review_at = "high"  # as agreed\ntwo_grave_reject = false\n',
        ).replace('[\n  "github.com/acme",  # the parent company\n  "@house",\n]', '["@house"]')
        + "\n[limits]\nmax_files = 20\n"
    )


def test_a_removed_value_takes_its_empty_table_with_it() -> None:
    edited = edit("[review]\nown = true\n\n[limits]\nmax_files = 3\n", [(("review", "own"), None)])

    assert tomllib.loads(edited) == {"limits": {"max_files": 3}}
    assert "[review]" not in edited


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment",
        "thresholds = {review_at = 'low'}\n",
        "thresholds.review_at = 'low'\n",
        "[ thresholds ]\n'review_at' = 'low'",
        '["thresholds"]\n"review_at"="low"#x\n[thresholds.risky]\nreview_at = "low"\n',
        "[thresholds.risky]\nreview_at = 'low'\n",
        "[[namespaces]]\nmatch = 'a'\n[namespaces.thresholds]\nreview_at = 'info'\n",
        'a = """x\n[thresholds]\n""" # y\n',
        "a = '''\n[thresholds]'''\nb = \"\\\"[\"\n",
        "[thresholds] # all\n# nothing yet\n",
        "[thresholds]\r\nreview_at = 'low'\r\n",
    ],
)
@pytest.mark.parametrize("value", ["high", None])
def test_any_document_has_the_new_value_and_all_others(text: str, value: str | None) -> None:
    expected: dict[str, Any] = tomllib.loads(text)
    if value:
        expected.setdefault("thresholds", {})["review_at"] = value
    elif "thresholds" in expected:
        expected["thresholds"].pop("review_at", None)
        if not expected["thresholds"]:
            del expected["thresholds"]

    found = tomllib.loads(edit(text, [(("thresholds", "review_at"), value)]))

    assert {key: item for key, item in found.items() if item != {}} == expected


def test_a_document_is_written_as_it_was_read() -> None:
    odd = {'a "key"': 'tab\t "quote" \\ \x7f é', "list": [], "many": ["x" * 50, "y" * 50]}
    document = {**tomllib.loads(DOCUMENT), "odd": odd}

    assert tomllib.loads(write(document)) == document


def test_tables_of_an_inline_array_are_written_again() -> None:
    text = 'suppressions = [{ rule = "A" }, { rule = "B" }]\n[review]\nown = true # we\n'

    edited = edit_tables(text, "suppressions", [Row(1, {"rule": "B"}), Row(None, {"rule": "C"})])

    assert tomllib.loads(edited) == {
        "suppressions": [{"rule": "B"}, {"rule": "C"}],
        "review": {"own": True},
    }


def test_the_last_table_of_an_array_takes_nothing_else_with_it() -> None:
    text = '# top\n\n[[scanners]]\nname = "a"\n\n# own\n[review]\nown = true\n'

    assert edit_tables(text, "scanners", []) == "# top\n\n# own\n[review]\nown = true\n"
    assert edit_tables('[[scanners]]\nname = "a"\n', "scanners", []) == ""
    assert edit_tables(text, "scanners", [Row(0, {"name": "a"})]) == text
