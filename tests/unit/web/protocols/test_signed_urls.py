"""Signed URLs: for one subject, for a short time."""

import pytest

from tests.clocks import ManualClock
from vskill_platform.web.protocols.signed_urls import find_signer, is_signed


async def a_signature(subject: str) -> str:
    return (await find_signer()).sign(subject)


@pytest.mark.usefixtures("bound")
async def test_a_signature_is_for_its_subject_alone() -> None:
    signature = await a_signature("zip @acme/demo 1.0.0")

    assert await is_signed("zip @acme/demo 1.0.0", signature)
    assert not await is_signed("zip @acme/demo 1.0.1", signature)
    assert not await is_signed("git @acme/demo", signature)


@pytest.mark.usefixtures("bound")
async def test_signatures_stay_the_same_for_ten_minutes_and_end_within_twenty(
    clock: ManualClock,
) -> None:
    first = await a_signature("a")
    clock.advance(minutes=9)
    same = await a_signature("a")
    clock.advance(minutes=2)
    other = await a_signature("a")
    still = await is_signed("a", first)
    clock.advance(minutes=9)

    assert first == same != other
    assert still
    assert not await is_signed("a", first)
    assert await is_signed("a", other)


@pytest.mark.parametrize("forged", ["", "-", "9999999", "9999999-", "x-abc", "²-0", "-1-00"])
@pytest.mark.usefixtures("bound")
async def test_other_text_is_no_signature(forged: str) -> None:
    assert not await is_signed("a", forged)


@pytest.mark.usefixtures("bound")
async def test_a_later_expiry_needs_another_signature() -> None:
    number, _, mac = (await a_signature("a")).partition("-")

    assert not await is_signed("a", f"{int(number) + 1}-{mac}")
