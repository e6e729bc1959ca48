"""docs/seeds.md and the tests name the same criteria."""

import re
from collections.abc import Iterator

from tests.tables import ROOT, rows_of, unquoted

_TEST = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)
_CASE = re.compile(r"tc(\d{3})")

#: Every id that the seeds use.
SEED_IDS = {
    *(f"US-{n:03}" for n in (1, 2, 3)),
    *(
        f"AC-US{story}-{n:02}"
        for story, last in ((1, 3), (2, 3), (3, 5))
        for n in range(1, last + 1)
    ),
    *(f"FR-{n:03}" for n in (1, 2, 3)),
    *(f"TC-{n:03}" for n in (50, 56, 57, 58, 60, 61, 62, 63, 65, 70, 71, 72, 75, 76, 77)),
}


def all_tests() -> Iterator[tuple[str, str]]:
    for path in (ROOT / "tests").rglob("test_*.py"):
        for name in _TEST.findall(path.read_text()):
            yield path.relative_to(ROOT / "tests").as_posix(), name


def test_every_id_of_the_seeds_has_its_row() -> None:
    assert {row[0] for row in rows_of("docs/seeds.md")} == SEED_IDS


def test_every_row_names_a_module_and_a_test_that_exist() -> None:
    known = {f"{path}::{name}" for path, name in all_tests()}
    for seed_id, _, module, test in rows_of("docs/seeds.md"):
        assert (ROOT / "src/vskill_platform" / unquoted(module)).is_file(), seed_id
        assert f"unit/{unquoted(test)}" in known, seed_id


def test_every_case_is_in_the_name_of_its_test_and_the_other_way_round() -> None:
    in_tests = {(f"TC-{case}", name) for _, name in all_tests() for case in _CASE.findall(name)}
    in_docs = {
        (seed_id, unquoted(test).split("::")[1])
        for seed_id, _, _, test in rows_of("docs/seeds.md")
        if seed_id.startswith("TC-")
    }

    assert in_tests == in_docs


def test_the_case_with_two_meanings_has_two_tests() -> None:
    assert sum("tc063" in name for _, name in all_tests()) == 2
