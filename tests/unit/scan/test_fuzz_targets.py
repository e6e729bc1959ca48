"""What `make fuzz` checks for long, checked for a second: nothing breaks or hangs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz import seeds
from fuzz.bounded import TooSlow, allowed_seconds, failure_of, name_of
from fuzz.skill_from_bytes import NAMES, PACKS, pieces_of, to_bytes
from fuzz.targets import TARGETS, Broken, FuzzTarget
from tests.timing import taking_less_than

PIECES = [
    *seeds.shell(), *seeds.python(), *seeds.javascript(), *seeds.powershell(), *seeds.markdown(),
    *seeds.encoded(), *seeds.hidden(), *seeds.secrets(), *seeds.frontmatter(),
]  # fmt: skip
contents = st.lists(st.sampled_from(PIECES) | st.binary(max_size=60), max_size=5).map(b"".join)
files = st.tuples(st.sampled_from(NAMES), st.integers(0, len(PACKS) - 1), contents)
skills = st.lists(files, min_size=1, max_size=6).map(lambda parts: to_bytes(*parts))


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_withstands_its_seeds(name: str) -> None:
    for seed in list(TARGETS[name].seeds())[:30]:
        with taking_less_than(20):
            assert failure_of(TARGETS[name], seed, seconds=20) is None, seed


def test_the_fuzzer_knows_the_words_that_the_scanner_looks_for() -> None:
    words = set(seeds.dictionary())

    assert {"ignore", "previous", "AKIA", "curl"} <= words


@given(skills)
def test_any_skill_can_be_scanned_and_nothing_sealed_is_passed_over(raw: bytes) -> None:
    TARGETS["skill"].check(raw)


@given(skills)
def test_any_result_can_be_reported(raw: bytes) -> None:
    TARGETS["reports"].check(raw)


@given(st.sampled_from(sorted(set(TARGETS) - {"skill", "reports", "pumped"})), contents)
def test_any_text_can_be_read_by_any_part(name: str, raw: bytes) -> None:
    TARGETS[name].check(raw)


def test_a_skill_is_written_in_bytes_and_read_back() -> None:
    raw = to_bytes(("SKILL.md", 0, b"# A"), ("run.sh", 0, b"ls"), ("kit.zip", 17, b"x"))

    assert [(piece.name, piece.is_sealed) for piece in pieces_of(raw)] == [
        ("SKILL.md", False), ("run.sh", False), ("kit.zip", True),
    ]  # fmt: skip


def test_a_hanging_target_is_stopped_and_equal_failures_have_one_name() -> None:
    def hang(_raw: bytes) -> None:
        while True:
            pass

    def fail(raw: bytes) -> None:
        raise Broken(raw)

    stuck = failure_of(FuzzTarget(check=hang, seeds=list), b"", seconds=0.05)
    broken = [
        failure_of(FuzzTarget(check=fail, seeds=list), raw, seconds=1) for raw in (b"a", b"b")
    ]

    assert isinstance(stuck, TooSlow)
    assert len({name_of(failure) for failure in broken if failure}) == 1


def test_more_time_is_allowed_for_more_bytes() -> None:
    target = TARGETS["shell"]

    assert allowed_seconds(target, b"") == 0.5
    assert allowed_seconds(target, bytes(64 * 1024)) == 2
