"""Names that are easily confused, and names that are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from vskill_platform.model.lookalike import (
    CONFUSABLES,
    NameSimilarity,
    compare_names,
    fold_name,
    name_marks,
    skeleton,
)

SLIP, HOMOGLYPH = NameSimilarity.SLIP, NameSimilarity.HOMOGLYPH
#: Six different letters or more, none of which looks like another, alone or in a pair.
plain_words = st.permutations("abcdeghjkopqstuxyz").flatmap(
    lambda letters: st.integers(6, 12).map(lambda size: "".join(letters[:size]))
)
names = st.from_regex(r"[a-z0-9]{1,12}(-[a-z0-9]{1,8}){0,2}", fullmatch=True)


def look_alikes(letter: str) -> list[str]:
    """Return the letters of other scripts that look like this one."""
    return [chr(code) for code, plain in CONFUSABLES.items() if plain == letter]


@all_cases(
    ("name", "other", "expected"),
    [
        ("clawhub", "clawhub", None),
        ("clawhubb", "clawhub", SLIP),
        ("cllawhub", "clawhub", SLIP),
        ("clawhib", "clawhub", SLIP),
        ("calwhub", "clawhub", SLIP),
        ("claw-hub", "clawhub", SLIP),
        ("nanobanana-pro", "nanobanana", SLIP),
        ("official-clawhub-skill", "clawhub", SLIP),
        ("pdf-tool", "pdf-tools", SLIP),
        ("c1awhub", "clawhub", HOMOGLYPH),
        ("g0ogle-docs", "google-docs", HOMOGLYPH),
        ("learn-git", "leam-git", HOMOGLYPH),
        ("\uff43lawhub", "clawhub", HOMOGLYPH),
        ("cl\u0430whub", "clawhub", HOMOGLYPH),
        ("cl\u0430whubs", "clawhub", HOMOGLYPH),
        ("clawhouse", "clawhub", None),
        ("pdf", "pda", None),
        ("jira", "jora", None),
        ("code-review", "code-renew", None),
        ("skill", "agent", None),
        ("my-skill", "the-skill", None),
        ("weather", "notes", None),
    ],
)
def test_names_are_compared_as_people_read_them(
    name: str, other: str, expected: NameSimilarity | None
) -> None:
    assert compare_names(name, other) is expected


def test_a_name_that_is_all_affixes_is_left_alone() -> None:
    assert fold_name("my-skill") == "myskil"
    assert fold_name("skill") == "skil"


def test_a_skeleton_is_how_a_name_looks() -> None:
    assert skeleton("M\u043edern-1") == skeleton("modem-l")


@given(plain_words, st.data())
@pytest.mark.parametrize("slip", ["too many", "too few", "wrong", "swapped"])
def test_one_slip_is_always_found(slip: str, word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 2))
    slipped = {
        "too many": word[:at] + "w" + word[at:],
        "too few": word[:at] + word[at + 1 :],
        "wrong": word[:at] + "w" + word[at + 1 :],
        "swapped": word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    }[slip]

    assert compare_names(word, slipped) is SLIP
    assert set(name_marks(word)) & set(name_marks(slipped))


@given(plain_words, st.sampled_from(["my-{}", "{}-pro", "official-{}-skill", "{}-tool"]))
def test_a_name_with_an_affix_is_always_found(word: str, shape: str) -> None:
    dressed = shape.format(word)

    assert compare_names(word, dressed) is SLIP
    assert set(name_marks(word)) & set(name_marks(dressed))


@given(plain_words, st.data())
def test_a_letter_of_another_script_is_always_found(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 1))
    foreign = data.draw(st.sampled_from(look_alikes(word[at])))
    dressed = word[:at] + foreign + word[at + 1 :]

    assert compare_names(word, dressed) is HOMOGLYPH
    assert set(name_marks(word)) & set(name_marks(dressed))


@given(names, names)
def test_similarity_is_mutual(name: str, other: str) -> None:
    assert compare_names(name, other) is compare_names(other, name)


@given(st.text(max_size=80))
def test_any_text_has_marks_that_a_key_can_hold(name: str) -> None:
    assert all(mark.isascii() and ":" not in mark for mark in name_marks(name))


def test_a_letter_that_normalising_would_turn_into_another_one_is_found() -> None:
    assert compare_names("abcdeg", "ab\u03f2deg") is HOMOGLYPH
