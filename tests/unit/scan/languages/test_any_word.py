"""Whether any of many words occurs in a text."""

import pytest

from tests.cases import all_cases
from vskill_platform.scan.languages.any_word import AnyWord

WORDS = AnyWord("import os", ".post(", "\\x", "\n!")


@pytest.mark.parametrize(
    "text",
    ["import os", "a = client.post(b)", "'\\x41'", "a\n!b", "\u4f60\u597d \U0001f600 import os"],
)
def test_a_word_is_found_anywhere_in_a_text(text: str) -> None:
    assert WORDS.is_in(text)


@all_cases("text", ["", "import  os", "apost(", "x", "!", "IMPORT OS"])
def test_a_similar_text_is_not_a_word(text: str) -> None:
    assert not WORDS.is_in(text)


def test_half_a_character_hides_no_word() -> None:
    assert WORDS.is_in("\ud83d import os")
    assert not WORDS.is_in("\ud83d")
