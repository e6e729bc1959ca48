"""A fixed part of `make bench-evasion`: disguised attacks are flagged, harmless variants pass."""

from argparse import ArgumentTypeError

import pytest

from benchmarks.evasion.samples import Form, load_behaviours
from benchmarks.scan_evasion import (
    CARRIERS,
    WRAPPINGS,
    Variant,
    all_variants,
    load_unknowable,
    scan_variant,
    shard_of,
)
from tests.cases import all_cases
from tests.evasions import some_variants
from vskill_platform.model.verdict import Verdict

BEHAVIOURS = load_behaviours()
#: The same few of each behaviour every time.
EVERY = 401


def variants(*, is_malicious: bool) -> list[Variant]:
    known = load_unknowable()
    found = [
        variant
        for variant in some_variants()
        if variant.is_malicious is is_malicious
        and not any(reason.covers(variant) for reason in known)
    ]
    return found[::EVERY]


@all_cases("variant", lambda: variants(is_malicious=False), ids=lambda variant: variant.name)
def test_a_harmless_twin_passes(variant: Variant) -> None:
    outcome = scan_variant(variant)

    assert outcome.verdict is Verdict.PASS, outcome.rules


def test_every_known_miss_names_a_wrapping_or_a_place() -> None:
    too_broad = [one for one in load_unknowable() if not (one.wrapping or one.carrier)]

    assert too_broad == []


def in_the_manual(*, behaviour: str = "", wrapping: str = "") -> list[Variant]:
    return [
        variant
        for variant in some_variants()
        if variant.is_malicious
        and variant.carrier == "manual"
        and behaviour in {"", variant.behaviour}
        and wrapping in {"", variant.wrapping}
    ]


@all_cases("variant", lambda: in_the_manual(wrapping="plain"), ids=lambda variant: variant.name)
def test_every_behaviour_is_flagged_in_plain_instructions(variant: Variant) -> None:
    assert scan_variant(variant).is_flagged


@all_cases(
    "variant",
    lambda: in_the_manual(behaviour="credential-theft"),
    ids=lambda variant: variant.name,
)
def test_no_wrapping_hides_the_theft_of_credentials(variant: Variant) -> None:
    assert scan_variant(variant).is_flagged


def test_the_variants_are_the_same_each_time() -> None:
    again = [variant.name for variant in all_variants(BEHAVIOURS, is_full=False)]

    assert again == [variant.name for variant in some_variants()]


@pytest.mark.parametrize("form", Form)
def test_every_wrapping_and_carrier_is_tried(form: Form) -> None:
    wrappings = {wrapping.name for wrapping in WRAPPINGS[form]}
    carriers = {carrier.name for carrier in CARRIERS[form]}
    assert wrappings <= {variant.wrapping for variant in some_variants()}
    assert carriers <= {variant.carrier for variant in some_variants()}


@all_cases("text", ["0/4", "5/4", "3", "a/b", "1/0", "-1/2"])
def test_a_part_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="not a part such as 3/20"):
        shard_of(text)


def test_a_part_is_a_number_of_how_many() -> None:
    assert shard_of("3/20") == (3, 20)


def test_there_are_at_least_eighteen_behaviours_each_with_a_twin() -> None:
    assert len(BEHAVIOURS) >= 18
    assert all(sample.good for sample in BEHAVIOURS.values())
