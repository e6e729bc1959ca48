"""Subjects of blocks, and which submissions they match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from vskill_platform.errors import InvalidInput
from vskill_platform.model.block import (
    BlockKind,
    BlockSubject,
    digest_subject,
    name_subject,
    publisher_subject,
    source_subject,
    subjects_of,
)
from vskill_platform.model.source import Source, git_source, upload_source

REPO = git_source("https://git.example/ada/box", "skills/notes")
DIGEST = "ab" * 32


@all_cases(
    "subject",
    [
        digest_subject(f"sha256:{DIGEST.upper()}"),
        source_subject(REPO),
        source_subject(git_source("https://git.example/ada/box")),
        source_subject(git_source("https://git.example/ada/box", ref="main")),
        name_subject(git_source("https://git.example/ada/box"), "notes"),
        publisher_subject("Git.Example/Ada/"),
    ],
    ids=lambda subject: subject.in_words(),
)
def test_a_skill_matches_each_kind_of_block(subject: BlockSubject) -> None:
    assert subject in subjects_of(REPO, name="notes", digest=DIGEST)


@pytest.mark.parametrize(
    "source",
    [
        git_source("https://git.example/ada/box2", "skills/notes"),
        git_source("https://git.example/ben/box", "skills/notes"),
        upload_source("notes", "0" * 64),
    ],
    ids=lambda source: source.url,
)
def test_the_same_name_elsewhere_is_another_skill(source: Source) -> None:
    common = set(subjects_of(REPO, name="notes")) & set(subjects_of(source, name="notes"))

    assert {subject.kind for subject in common} <= {BlockKind.PUBLISHER}


def test_another_folder_of_the_repo_is_met_only_by_what_holds_for_all() -> None:
    other = git_source("https://git.example/ada/box", "skills/weather")

    common = set(subjects_of(REPO, name="notes")) & set(subjects_of(other, name="weather"))

    assert {subject.value for subject in common} == {
        "https://git.example/ada/box",
        "git.example/ada",
    }


@given(one=st.text(max_size=40), other=st.text(max_size=40))
def test_only_equal_subjects_have_equal_ids_that_fit_into_a_key(one: str, other: str) -> None:
    first, second = BlockSubject(BlockKind.NAME, one), BlockSubject(BlockKind.NAME, other)

    assert (first.id == second.id) == (one == other)
    assert first.id.isascii()
    assert BlockSubject(BlockKind.SOURCE, one).id != first.id


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "0" * 63])
def test_an_invalid_digest_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a digest"):
        digest_subject(text)


@pytest.mark.parametrize("text", ["", "/", "https://git.example/ada", "a\nb"])
def test_an_invalid_publisher_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a publisher"):
        publisher_subject(text)


@pytest.mark.parametrize("text", ["", "a#b", "a\0"])
def test_an_invalid_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name"):
        name_subject(REPO, text)
