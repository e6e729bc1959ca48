"""Requirements on passwords, and that checking one does not reveal whether a user exists."""

import asyncio

import argon2
import pytest

from tests.cases import all_cases
from vskill_platform.access import passwords
from vskill_platform.access.passwords import (
    check_password,
    digest_password,
    is_outdated,
    verify_password,
)
from vskill_platform.errors import Busy, InvalidInput


@all_cases(
    "password",
    [
        "short", "a" * 11, "a" * 1001, "aaaaaaaaaaaaaaaaaa", "ada-lovelaceada-lovelace",
        "passwordpassword", "Passwordpassword", "123412341234", "qwertyqwerty", "hunter2hunter2",
        "qwertyuiop123", "1qaz2wsx3edc", "abcdefghijkl", "0987654321098", "asdfghjkl;qwe",
        "qwerty1qwerty2", "1111abcdefgh", "aaaaabbbbbccccc",
        "password1234", "P@ssw0rd1234", "administrator", "Administrator1!", "adm1n1str@t0r",
        "Passw0rd2024!", "Summer2024!!!", "letmeinplease", "L3tm31n12345", "welcome12345",
        "iloveyou1234", "changeme2026", "vskill-admin-1", "ada-lovelace1", "Lovelace2026!",
        "pass-word-1234", "admin-admin-admin-1", "pässwörd-1234", "\uff50\uff41ssword1234",
        "superuser!!!", "rootrootroot1", "$ecret$ecret1", "p4$$w0rd!!!!", "passwordpassword1",
    ],
    ids=lambda password: password[:20],
)  # fmt: skip
def test_a_password_that_is_easily_guessed_is_refused(password: str) -> None:
    with pytest.raises(InvalidInput):
        check_password(password, name="ada-lovelace")


@all_cases(
    "password",
    [
        "correct horse battery",
        "pässwörter sind läng",
        "properties of dew",
        "x7!kQ2#pW9abcd",
        "password of a quiet river",
        "tr0ub4dor&3-mx",
        "zebra quilt 2024 lamp",
    ],
)
def test_a_long_password_is_accepted(password: str) -> None:
    check_password(password, name="ada")


@pytest.mark.usefixtures("real_passwords")
async def test_a_digest_is_argon2id_with_todays_costs_and_fits_its_password_alone() -> None:
    digest = await digest_password("correct horse battery")

    assert digest.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert not is_outdated(digest)
    assert await verify_password(digest, "correct horse battery")
    assert not await verify_password(digest, "correct horse battery ")


@pytest.mark.usefixtures("real_passwords")
async def test_an_unknown_user_is_checked_at_the_same_cost_and_refused() -> None:
    known = argon2.extract_parameters(await digest_password("correct horse battery"))

    assert argon2.extract_parameters(passwords.DUMMY_DIGEST) == known
    assert not await verify_password(None, "correct horse battery")


async def test_a_dummy_that_fits_lets_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = await digest_password("correct horse battery")
    monkeypatch.setattr(passwords, "DUMMY_DIGEST", digest)

    assert not await verify_password(None, "correct horse battery")


@pytest.mark.usefixtures("real_passwords")
def test_a_digest_of_other_costs_is_outdated() -> None:
    cheap = argon2.PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash("x")

    assert is_outdated(cheap)


async def test_only_some_wait_for_their_password_to_be_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(passwords._TURNS, "_limit", 3)
    tries = [verify_password(None, "x" * 12) for _ in range(6)]

    found = await asyncio.gather(*tries, return_exceptions=True)

    assert [isinstance(one, Busy) for one in found] == [False] * 3 + [True] * 3
    assert not await verify_password(None, "x" * 12)
