"""The words that patterns need: derived from them, and stored for those of the scanner."""

from string import ascii_lowercase

import pytest
import re2

from tests.cases import all_cases
from vskill_platform.scan.facts import required_words as words
from vskill_platform.scan.facts.word_index import WordIndex
from vskill_platform.scan.prose.prose_patterns import prose_patterns


@all_cases(
    ("pattern", "needs"),
    [
        (r"(?i)\bSend\b[^\n]{0,80}\bkeys?\b", [[("send",), ("key", "keys")]]),
        (r"(?:upload|post)s? it", [[("post it", "posts it", "upload it", "uploads it")]]),
        ("one[a-z]+|two[0-9]+", [[("one",)], [("two",)]]),
        ("(?:abc[0-9]+|def[0-9]+)[a-z]+ghi", [[("abc",), ("ghi",)], [("def",), ("ghi",)]]),
        (r"(?:key)+|(?:key){0,2}x", [[("key",)], [("x",)]]),
        (r"[a-z]+", [[]]),
        (
            rf"\b(?:{'|'.join(f'{letter}word[0-9]' for letter in ascii_lowercase)})\b",
            [[(f"{letter}word",)] for letter in ascii_lowercase],
        ),
        (r"\bsend\b[^\n]{0,80}[\w.]@[\w]", [[("send",), ("@",)]]),
        (r"\breports?\b[^\n]{0,80}https?://", [[("http://", "https://"), ("report", "reports")]]),
        (r"if[^.]{0,9}user[^.]{0,9}say[^.]{0,9}no", [[("if",), ("no",), ("say",)]]),
        (r"keys?\nline", [[("key", "keys")]]),
        (r"\x{4f60}[\pL\pN_]+", [[("\u4f60",)]]),
        ("(?i)stra\u00dfe", [[("strasse",)]]),
        ("to [a-z]+ the [0-9]+ wallet", [[(" wallet",)]]),
    ],
)
def test_words_are_derived_from_a_pattern(pattern: str, needs: words.Needs) -> None:
    assert words.derive_words(pattern) == needs


@all_cases(
    ("pattern", "text"),
    [
        ("(?i)key", "\u212aEY"),
        ("(?i)send", "\u017fEND"),
        ("(?i)stra\u00dfe", "STRA\u1e9eE"),
        ("(?i)\u03c3\u03c2", "\u03a3\u03a3"),
        ("(?i)\u00fcber", "\u00dcBER"),
        ("(?i)[k]ey", "\u212aey"),
    ],
)
def test_a_word_is_found_in_every_case_that_the_pattern_matches(pattern: str, text: str) -> None:
    index = WordIndex([words.derive_words(pattern)])

    assert re2.search(pattern, text)
    assert index.possible(index.met_in(text.encode())) == {0}


@pytest.mark.slow  # all patterns are parsed in Python
def test_stored_words_are_those_of_the_patterns() -> None:
    patterns = prose_patterns()
    stored = words._stored().patterns
    known = [pattern for pattern in patterns if words.digest_of(pattern) in stored]

    assert [words.required_words(one) for one in known] == [
        words.derive_words(one) for one in known
    ]
    # Words of others are derived at each start. `make required-words` stores them.
    assert len(known) > 0.8 * len(patterns)
