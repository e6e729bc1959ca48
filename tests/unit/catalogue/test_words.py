"""Text is split into words in the same way for the index and for queries."""

from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from vskill_platform.catalogue.words import (
    MAX_QUESTION_WORDS,
    MAX_WORD,
    name_parts,
    query_parts,
    query_words,
    singular,
    words_of,
)


@all_cases(
    ("text", "words"),
    [
        ("PDF-Forms, filled.", ["pdf", "forms", "filled"]),
        ("naïve café", ["naive", "cafe"]),
        ("Straße", ["strasse"]),
        ("snake_case", ["snake", "case"]),
        ("日本語", ["日", "本", "語"]),
        ("한국어 스킬", ["한국어", "스킬"]),
        ("ﬁle ①", ["file", "1"]),
        ("🙂 — !?", []),
        ("a\0b\u202ec", ["a", "b", "c"]),
        ("\ud800x", ["x"]),
    ],
    ids=["name", "accents", "sharp-s", "underscore", "han", "hangul", "forms", "signs", "bidi",
         "surrogate"],
)  # fmt: skip
def test_words_have_no_case_accents_or_signs(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@all_cases(
    ("word", "one"),
    [
        ("notes", "note"),
        ("boxes", "box"),
        ("entries", "entry"),
        ("status", "status"),
        ("class", "class"),
        ("analysis", "analysis"),
        ("gas", "gas"),
        ("note", "note"),
    ],
)
def test_a_plural_has_a_singular(word: str, one: str) -> None:
    assert singular(word) == one


@given(st.text())
def test_a_word_is_always_one_and_stays_what_it_is(text: str) -> None:
    for word in words_of(text):
        assert word.isalnum()
        assert len(word) <= MAX_WORD
        assert words_of(word) == [word]
        assert word.encode()


@given(st.text(max_size=50), st.text(max_size=50))
def test_words_do_not_depend_on_their_context(first: str, second: str) -> None:
    assert words_of(f"{first} {second}") == words_of(first) + words_of(second)


def test_of_a_long_question_only_the_beginning_is_read() -> None:
    assert len(query_words("word " * 5_000)) == MAX_QUESTION_WORDS
    assert query_words("x" * 10_000) == ["x" * MAX_WORD]


def test_parts_go_over_the_ends_of_words() -> None:
    assert name_parts(["ab", "cd"]) == [
        "ab\u2010", "b\u2010c", "\u2010cd", "ab\u2010c", "b\u2010cd",
    ]  # fmt: skip
    assert name_parts(["ab"]) == []


def test_a_question_is_looked_for_by_the_longest_parts_it_has() -> None:
    assert query_parts(["abcde"]) == ["abcd", "bcde"]
    assert query_parts(["abc"]) == ["abc"]
    assert query_parts(["ab"]) == []
    for question in ("abc", "bcde", "cdef"):
        assert set(query_parts([question])) <= set(name_parts(["abcdef"]))
