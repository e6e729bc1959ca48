"""What a table says not to do is no instruction; the other cells of the row still are."""

import pytest

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.prose.paragraphs import Paragraphs
from vskill_platform.scan.prose.read_prose import read_prose

ORDER = "Exaggerate or invent figures"


def mentions_in(left: str, right: str, *, head: str = "| Do | Don't |") -> set[bool]:
    """Return whether the orders to mislead in a row are only mentioned."""
    table = (
        f"# Style\n\n{head}\n|---|---|\n| Name the project | Write a lot |\n| {left} | {right} |\n"
    )
    facts = read_prose(Paragraphs(table, 1))
    return {fact.is_mention for fact in facts if fact.act is Act.TOLD_MISLEAD}


@pytest.mark.parametrize(
    "heading",
    ["Don't", "Don\u2019t", "**Avoid**", "❌ Bad", "Incorrect", "Anti-pattern", "Instead of"],
)
def test_an_order_below_dont_is_only_mentioned(heading: str) -> None:
    assert mentions_in("Use numbers", ORDER, head=f"| Do | {heading} |") == {True}


def test_an_order_in_another_column_counts() -> None:
    assert mentions_in(ORDER, "Write passively") == {False}
    assert mentions_in("Use numbers", ORDER, head="| Step | Note |") == {False}


def test_a_heading_that_only_contains_the_word_changes_nothing() -> None:
    assert mentions_in("Use numbers", ORDER, head="| Do | Don't forget |") == {False}
