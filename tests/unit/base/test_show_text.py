"""Counted nouns in what we print."""

import pytest

from vskill_platform.base.show_text import count_of


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0 findings"), (1, "1 finding"), (2, "2 findings"), (2000, "2,000 findings")],
)
def test_a_noun_is_singular_only_after_one(number: int, shown: str) -> None:
    assert count_of(number, "finding") == shown
