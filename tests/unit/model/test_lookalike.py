"""Names that are taken for one another, and names that are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vskill_platform.model.lookalike import (
    NameLikeness,
    compare_names,
    fold_name,
    name_marks,
    skeleton,
)

SLIP, HOMOGLYPH = NameLikeness.SLIP, NameLikeness.HOMOGLYPH
names = st.from_regex(r"[a-z0-9]{1,12}(-[a-z0-9]{1,8}){0,2}", fullmatch=True)


@pytest.mark.parametrize(
    ("name", "other", "likeness"),
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
    name: str, other: str, likeness: NameLikeness | None
) -> None:
    assert compare_names(name, other) is likeness


def test_a_name_that_is_all_affixes_is_left_alone() -> None:
    assert fold_name("my-skill") == "myskil"
    assert fold_name("skill") == "skil"


def test_a_skeleton_is_how_a_name_looks() -> None:
    assert skeleton("M\u043edern-1") == skeleton("modem-l")


@given(names, names)
def test_whoever_resembles_shares_a_mark(name: str, other: str) -> None:
    if compare_names(name, other):
        assert set(name_marks(name)) & set(name_marks(other))


@given(names, st.data())
def test_one_slip_is_always_found(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 1))
    slipped = name[:at] + data.draw(st.sampled_from("abcxyz")) + name[at + 1 :]
    if compare_names(name, slipped):
        assert set(name_marks(name)) & set(name_marks(slipped))


@given(names, names)
def test_likeness_is_mutual(name: str, other: str) -> None:
    assert compare_names(name, other) is compare_names(other, name)


@given(st.text(max_size=80))
def test_any_text_has_marks_that_a_key_can_hold(name: str) -> None:
    assert all(mark.isascii() and ":" not in mark for mark in name_marks(name))
