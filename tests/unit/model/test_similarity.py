"""Sketches of texts: the same on every node, and close for similar texts."""

import random

import pytest

from vskill_platform.model.similarity import (
    MIN_SHINGLES,
    NEAR_COPY,
    SKETCH_VERSION,
    Sketch,
    is_near_copy,
    similarity,
    sketch_words,
    text_marks,
)


def words(count: int, seed: int = 1) -> list[str]:
    source = random.Random(seed)
    return [f"word{source.randrange(5000)}" for _ in range(count)]


def changed(text: list[str], count: int, seed: int = 2) -> list[str]:
    """Return the text with that many words replaced, far from each other where possible."""
    source = random.Random(seed)
    other = list(text)
    for at in source.sample(range(len(text)), count):
        other[at] = f"other{source.randrange(10**6)}"
    return other


def exact(one: list[str], other: list[str]) -> float:
    def shingles(text: list[str]) -> set[tuple[str, ...]]:
        return set(zip(text, text[1:], text[2:], text[3:], strict=False))

    return len(shingles(one) & shingles(other)) / len(shingles(one) | shingles(other))


def test_a_sketch_is_the_same_on_every_machine_and_in_every_release() -> None:
    """What is stored must fit what is computed: who changes this counts the version up."""
    text = sketch_words([f"word{number % 70}" for number in range(100)])

    assert (SKETCH_VERSION, text.size) == (1, 70)
    assert text.hashes()[:3] == (104483044, 260529783, 290879656)
    assert text_marks(text)[:2] == ("t1.03c2b5f1d", "t1.126bfc7c8")


@pytest.mark.parametrize(
    "count", [60, 200, 255, 260, 400, pytest.param(3000, marks=pytest.mark.torture)]
)
def test_a_text_is_like_itself(count: int) -> None:
    text = sketch_words(words(count))

    assert similarity(text, text) == 1.0
    assert is_near_copy(text, text)


@pytest.mark.parametrize(("count", "replaced"), [(50, 1), (200, 3), (250, 8), (100, 40)])
def test_short_texts_are_compared_exactly(count: int, replaced: int) -> None:
    one = words(count)
    other = changed(one, replaced)

    assert similarity(sketch_words(one), sketch_words(other)) == pytest.approx(exact(one, other))


@pytest.mark.parametrize("replaced", [0, 10, 40, 120, 400])
def test_long_texts_are_compared_nearly_exactly(replaced: int) -> None:
    one = words(2000)
    other = changed(one, replaced)

    assert similarity(sketch_words(one), sketch_words(other)) == pytest.approx(
        exact(one, other), abs=0.08
    )


def test_nothing_is_like_nothing() -> None:
    assert similarity(Sketch(), Sketch()) == 0.0
    assert similarity(Sketch(), sketch_words(words(100))) == 0.0
    assert sketch_words(["too", "few", "words"]).size == 0


def test_texts_that_are_too_short_to_recognise_are_no_copies() -> None:
    short = sketch_words(words(MIN_SHINGLES + 2))

    assert short.size == MIN_SHINGLES - 1
    assert not is_near_copy(short, short)
    assert text_marks(short) == ()


def test_a_part_of_a_text_is_no_copy_of_it() -> None:
    text = words(1000)

    assert not is_near_copy(sketch_words(text), sketch_words(text[:700]))


@pytest.mark.parametrize("count", [60, 150, 600, pytest.param(3000, marks=pytest.mark.torture)])
def test_near_copies_share_a_mark(count: int) -> None:
    missed = looked = 0
    for seed in range(200):
        one = words(count, seed)
        other = changed(one, max(1, count // 55), seed)
        if exact(one, other) >= NEAR_COPY:
            looked += 1
            missed += not set(text_marks(sketch_words(one))) & set(text_marks(sketch_words(other)))

    assert looked > 50
    assert missed <= 0.01 * looked


def test_other_texts_share_no_mark() -> None:
    marks = [set(text_marks(sketch_words(words(300, seed)))) for seed in range(200)]

    assert not any(one & other for at, one in enumerate(marks) for other in marks[:at])
