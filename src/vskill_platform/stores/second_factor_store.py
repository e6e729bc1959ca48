"""Second factors of users, and sign-ins that wait for one."""

from datetime import datetime

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Expect, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.records import Stored, encode, get_record, list_all_keys

#: Separate from the user's record, which appears in pages and responses.
_FACTOR = "second-factor:"
#: A secret for an app, until a code of the app confirms it.
_NEW_TOTP = "second-factor-new:"
_STEP = "sign-in-step:"


class SecondFactor(Record, frozen=True, kw_only=True):
    user: str
    #: The secret shared with the user's app; empty without an app.
    totp_secret: str = ""
    #: The step of the last used code; its code and earlier ones are refused.
    last_step: int = 0
    #: Digests of the unused recovery codes.
    recovery: tuple[str, ...] = ()
    added_at: datetime


class SignInStep(Record, frozen=True, kw_only=True):
    """A sign-in that waits for the second factor after a correct password."""

    user: str
    #: The user's epoch: signing out everywhere and a new password also end this step.
    epoch: int
    #: The page to return to.
    next: str
    expires_at: datetime
    #: The number of wrong codes so far.
    tries: int = 0


async def get_second_factor(user_name: str) -> Stored[SecondFactor] | None:
    return await get_record(_FACTOR + user_name, SecondFactor)


async def list_users_with_factor() -> set[str]:
    return {key.removeprefix(_FACTOR) for key in await list_all_keys(_FACTOR)}


def write_second_factor(factor: SecondFactor, *, expected: int) -> Operation:
    return Put(_FACTOR + factor.user, encode(factor), expected=expected, due=NEVER)


def expect_no_second_factor(user_name: str) -> Operation:
    """Make a commit fail if the user has meanwhile turned on a second factor."""
    return Expect(_FACTOR + user_name, ABSENT)


def delete_second_factor(stored: Stored[SecondFactor]) -> Operation:
    return Delete(_FACTOR + stored.record.user, expected=stored.revision)


async def get_new_totp(user_name: str) -> str | None:
    found = await get_record(_NEW_TOTP + user_name, str)
    return found.record if found else None


def write_new_totp(user_name: str, secret: str, *, expires_at: datetime) -> Operation:
    return Put(_NEW_TOTP + user_name, encode(secret), due=NEVER, expires_at=expires_at)


def delete_new_totp(user_name: str) -> Operation:
    return Delete(_NEW_TOTP + user_name)


async def get_sign_in_step(digest: str) -> Stored[SignInStep] | None:
    return await get_record(_STEP + digest, SignInStep)


def write_sign_in_step(digest: str, step: SignInStep, *, expected: int = ABSENT) -> Operation:
    return Put(
        _STEP + digest, encode(step), expected=expected, due=NEVER, expires_at=step.expires_at
    )


def delete_sign_in_step(digest: str, stored: Stored[SignInStep]) -> Operation:
    """Mark a step as used by deleting it; the commit fails if it was already used."""
    return Delete(_STEP + digest, expected=stored.revision)
