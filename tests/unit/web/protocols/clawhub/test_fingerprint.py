"""Fingerprints of ClawHub clients; tests/clients compares the order with Node's own."""

import pytest

from vskill_platform.model.skill import SkillFile
from vskill_platform.web.protocols.clawhub.fingerprint import (
    fingerprint,
    fingerprints_of,
    locale_key,
)

#: As `localeCompare` of Node 22 sorts them.
SORTED = [
    "a_b.txt", "a-b.txt", "A-b.txt", "Readme.md", "ref 1.md", "ref/1.md", "ref10.md", "ref2.md",
    "scripts/run.sh", "SKILL.md",
]  # fmt: skip
#: What `buildSkillFingerprint` of clawhub 0.23.3 returns for these files.
DIGESTS = {
    "SKILL.md": "a", "scripts/run.sh": "b", "Readme.md": "c", "a_b.txt": "d", "a-b.txt": "e",
    "A-b.txt": "f", "ref 1.md": "1", "ref/1.md": "2", "ref10.md": "3", "ref2.md": "4",
}  # fmt: skip
EXPECTED = "a7478188a437a3bb8947a60fb5deaedb7bbd5467532f78ecd03079bfcf827713"


def a_file(path: str, digit: str = "a") -> SkillFile:
    return SkillFile(path=path, size=1, sha256=digit * 64, is_executable=False)


def test_paths_are_sorted_as_javascript_sorts_them() -> None:
    assert sorted(DIGESTS, key=locale_key) == SORTED


@pytest.mark.parametrize(
    "words",
    [["a", "A", "b", "B"], ["aB", "Ab", "b"], ["é", "f"], ["e", "é", "ea"], ["z", "日"]],
)
def test_case_and_accents_decide_after_the_letters(words: list[str]) -> None:
    assert sorted(set(words), key=locale_key) == words


def test_the_fingerprint_is_the_one_that_clients_compute() -> None:
    assert fingerprint((path, digit * 64) for path, digit in DIGESTS.items()) == EXPECTED


def test_files_that_clients_leave_out_do_not_count() -> None:
    plain = [a_file(path, digit) for path, digit in DIGESTS.items()]
    hidden = [a_file(".env"), a_file("x/.cache/y"), a_file("node_modules/z/index.js")]

    assert EXPECTED in fingerprints_of([*plain, *hidden])


def test_the_generated_card_counts_for_an_update_but_not_for_a_publication() -> None:
    plain = [a_file(path, digit) for path, digit in DIGESTS.items()]

    found = fingerprints_of([*plain, a_file("skill-card.md")])

    assert EXPECTED in found
    assert len(found) == 2
