"""A misspelt word is corrected, wherever its typos are and whichever other words exist."""

from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from itertools import product

import apsw
import pytest

from tests.cases import all_cases
from vskill_platform.catalogue.similar_words import edit_distance
from vskill_platform.catalogue.vocabulary import RelaxedText, count_words, relax_texts

_SCHEMA = files("vskill_platform.catalogue").joinpath("schema.sql").read_text(encoding="utf-8")
#: Words of every length, none of them within two edits of another.
WORDS = ("pdf", "json", "excel", "docker", "grafana", "postgres", "terraform", "kubernetes")


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    opened = apsw.Connection(":memory:")
    opened.execute(_SCHEMA)
    count_words(opened, Counter(WORDS))
    yield opened
    opened.close()


def typos(word: str) -> set[str]:
    """Return the word with one letter inserted, deleted, replaced or swapped, in every place."""
    found = {word[:at] + "q" + word[at:] for at in range(len(word) + 1)}
    for at in range(len(word)):
        found |= {word[:at] + word[at + 1 :], word[:at] + "q" + word[at + 1 :]}
        if at:
            found.add(word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :])
    return {typo for typo in found - {word} if len(typo) >= 3}


def corrections(connection: apsw.Connection, texts: list[str]) -> dict[str, list[RelaxedText]]:
    return dict(zip(texts, relax_texts(connection, texts), strict=True))


@all_cases("word", WORDS)
def test_one_typo_is_corrected_in_every_place(connection: apsw.Connection, word: str) -> None:
    typed = sorted(typos(word))

    found = corrections(connection, typed)

    assert found == {typo: [RelaxedText(word)] for typo in typed}


@pytest.mark.parametrize("word", ["grafana", "kubernetes"])
def test_two_typos_are_corrected_in_every_two_places(
    connection: apsw.Connection, word: str
) -> None:
    twice = {second for first in typos(word) for second in typos(first)}
    # A letter inserted between two that were swapped is a third edit.
    typed = sorted(typo for typo in twice if edit_distance(typo, word, 2) == 2 and len(typo) > 5)

    found = corrections(connection, typed)

    assert found == {typo: [RelaxedText(word)] for typo in typed}


def table_distance(one: str, other: str) -> int:
    """Count the edits with a table of all letters, as textbooks do."""
    table = {(row, 0): row for row in range(len(one) + 1)}
    table |= {(0, column): column for column in range(len(other) + 1)}
    for row, column in product(range(1, len(one) + 1), range(1, len(other) + 1)):
        replaced = table[row - 1, column - 1] + (one[row - 1] != other[column - 1])
        best = min(table[row - 1, column] + 1, table[row, column - 1] + 1, replaced)
        is_swap = one[max(row - 2, 0) : row] == other[max(column - 2, 0) : column][::-1]
        if row > 1 and column > 1 and is_swap:
            best = min(best, table[row - 2, column - 2] + 1)
        table[row, column] = best
    return table[len(one), len(other)]


@pytest.mark.parametrize("most", [1, 2])
def test_edits_are_counted_as_in_a_table_of_all_letters(most: int) -> None:
    words = ["".join(letters) for length in range(5) for letters in product("ab", repeat=length)]
    words += ["abc", "acb", "cab", "bcab"]
    pairs = list(product(words, words))

    counted = [edit_distance(one, other, most) for one, other in pairs]

    assert counted == [min(table_distance(one, other), most + 1) for one, other in pairs]


def test_a_word_that_more_skills_use_is_preferred(connection: apsw.Connection) -> None:
    count_words(connection, {"dicker": 1, "docker": 5})

    assert relax_texts(connection, ["dacker"]) == [[RelaxedText("docker")]]


def test_a_closer_word_is_preferred_to_one_that_more_skills_use(
    connection: apsw.Connection,
) -> None:
    count_words(connection, {"kuberneten": 1, "kubernetes": 5})

    assert relax_texts(connection, ["kubernetem", "kubernete"]) == [
        [RelaxedText("kubernetes")], [RelaxedText("kubernetes")],
    ]  # fmt: skip
    assert relax_texts(connection, ["qkuberneten"]) == [[RelaxedText("kuberneten")]]


@pytest.fixture
def crowded(connection: apsw.Connection) -> apsw.Connection:
    """Thousands of words with one beginning and the same letters."""
    count_words(connection, {f"abcabcab{''.join(end)}": 1 for end in product("abc", repeat=8)})
    return connection


def test_a_word_with_many_similar_ones_takes_none_away_from_other_words(
    crowded: apsw.Connection,
) -> None:
    typed = " ".join(f"abcabcab{letter}abcabc{letter}" for letter in "pqrst")

    (relaxed,) = relax_texts(crowded, [f"{typed} qocker"])

    assert relaxed[0].text.split()[-1] == "docker"


def test_a_beginning_that_many_words_have_takes_none_away_from_an_ending(
    crowded: apsw.Connection,
) -> None:
    count_words(crowded, {"abcaacabxabcabcx": 1})

    assert relax_texts(crowded, ["abcabcabxabcabcx"]) == [[RelaxedText("abcaacabxabcabcx")]]
