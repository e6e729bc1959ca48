"""Parsing what an operator typed into the subject of a block."""

import pytest

from tests.cases import all_cases
from vskill_platform.errors import InvalidInput
from vskill_platform.model.block import BlockKind
from vskill_platform.publish.moderation.block_subject import read_blocked_source, read_subject

HOST = "github.com"
DIGEST = "ab" * 32


@all_cases(
    ("typed", "kind", "value"),
    [
        ({"digest": f"sha256:{DIGEST.upper()}"}, BlockKind.DIGEST, DIGEST),
        ({"source": "Ada/Notes"}, BlockKind.SOURCE, "https://github.com/ada/notes"),
        (
            {"source": "https://github.com/ada/notes", "path": "skills/x/"},
            BlockKind.SOURCE,
            "https://github.com/ada/notes#skills/x",
        ),
        ({"source": "ada/notes", "name": "x"}, BlockKind.NAME, "https://github.com/ada/notes#x"),
        ({"source": "upload:@ada/x"}, BlockKind.SOURCE, "upload:@ada/x"),
        ({"source": "@local/k28"}, BlockKind.SOURCE, "upload:@local/k28"),
        ({"source": " @local/k28 "}, BlockKind.SOURCE, "upload:@local/k28"),
        ({"source": "/srv/skills"}, BlockKind.SOURCE, "/srv/skills"),
        ({"publisher": "GitHub.com/Ada/"}, BlockKind.PUBLISHER, "github.com/ada"),
        ({"publisher": " Ada "}, BlockKind.PUBLISHER, "github.com/ada"),
        ({"publisher": "@ada", "source": "", "name": "", "path": ""}, BlockKind.PUBLISHER, "@ada"),
    ],
    ids=[
        "digest",
        "repo",
        "folder",
        "name",
        "upload",
        "slug",
        "spaces",
        "here",
        "publisher",
        "publisher here",
        "empty fields",
    ],
)
def test_one_subject_is_read(typed: dict[str, str], kind: BlockKind, value: str) -> None:
    subject = read_subject(**typed, default_host=HOST)

    assert (subject.kind, subject.value) == (kind, value)


@all_cases(
    "typed",
    [
        {},
        {"digest": DIGEST, "publisher": "ada"},
        {"source": "ada/notes", "digest": DIGEST},
        {"digest": DIGEST, "name": "x"},
        {"publisher": "ada", "path": "x"},
        {"source": "ada/notes", "name": "x", "path": "y"},
        {"source": "ada/notes", "path": "../.."},
        {"source": "ada"},
        {"source": "ada/notes/tidy"},
        {"source": "ada notes/x"},
        {"source": "@local"},
        {"source": "@local/"},
        {"source": "@local/a/b"},
        {"source": "upload:"},
        {"source": "upload:notes"},
        {"digest": "abc"},
    ],
    ids=[
        "nothing", "two", "two others", "digest with name", "publisher with path",
        "name and path", "outside", "no repo", "a slug of three", "a sentence", "a space",
        "no name", "too much", "an empty upload", "an upload without a space", "no digest",
    ],
)  # fmt: skip
def test_anything_else_is_refused(typed: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        read_subject(**typed, default_host=HOST)


def test_a_source_that_is_gone_can_still_be_named() -> None:
    source = read_blocked_source("https://git.example/eve/gone", "x", default_host=HOST)

    assert source.key == "https://git.example/eve/gone#x"


@pytest.mark.parametrize("typed", ["k28", "@local", "ada/notes/tidy", "upload:k28"])
def test_an_invalid_source_is_refused_with_the_expected_form(typed: str) -> None:
    with pytest.raises(InvalidInput, match="owner/repo") as told:
        read_blocked_source(typed, default_host=HOST)

    assert "@namespace/name" in str(told.value)
    assert repr(typed) in str(told.value)
