"""One-time codes, by the test vectors of RFC 6238."""

import base64
from datetime import UTC, datetime

import pytest

from vskill_platform.access.second_factor.totp import (
    current_step,
    matching_step,
    new_totp_secret,
    totp_code,
    totp_uri,
)

SECRET = base64.b32encode(b"12345678901234567890").decode()


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "287082"),
        (1111111109, "081804"),
        (1111111111, "050471"),
        (1234567890, "005924"),
        (2000000000, "279037"),
        (20000000000, "353130"),
    ],
)
def test_the_codes_are_those_of_the_rfc(seconds: int, code: str) -> None:
    now = datetime.fromtimestamp(seconds, UTC)

    assert totp_code(SECRET, current_step(now)) == code
    assert matching_step(SECRET, f" {code[:3]} {code[3:]}", now=now, after=0) == current_step(now)


def test_a_code_is_valid_one_step_around_and_once() -> None:
    now = datetime.fromtimestamp(2000000000, UTC)
    here = current_step(now)
    codes = {step: totp_code(SECRET, here + step) for step in (-2, -1, 0, 1, 2)}

    found = {
        step: matching_step(SECRET, code, now=now, after=0) is not None
        for step, code in codes.items()
    }

    assert found == {-2: False, -1: True, 0: True, 1: True, 2: False}
    assert matching_step(SECRET, codes[0], now=now, after=here) is None
    assert matching_step(SECRET, codes[-1], now=now, after=here) is None


@pytest.mark.parametrize("code", ["", "12345", "1234567", "28708x", "٢٨٧٠٨٢", "-28708"])
def test_what_is_not_a_code_is_refused(code: str) -> None:
    now = datetime.fromtimestamp(59, UTC)

    assert matching_step(SECRET, code, now=now, after=0) is None


def test_an_app_can_read_the_address() -> None:
    secret = new_totp_secret()

    uri = totp_uri(secret, user="ada", registry="skills.example")

    assert len(base64.b32decode(secret)) == 20
    assert uri.startswith(f"otpauth://totp/skills.example%3Aada?secret={secret}&issuer=skills")
