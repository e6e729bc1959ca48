"""Pending sign-ins of programs, stored under the digests of their two codes until they expire."""

from datetime import datetime
from typing import Literal

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.model.user import Scope
from vskill_platform.stores.records import Stored, encode, get_record

_DEVICE = "device:"
_USER_CODE = "device-code:"


class DeviceLogin(Record, frozen=True, kw_only=True):
    """A program that waits for a user to approve it."""

    #: The name that the program gave; it is not verified.
    label: str
    #: The scopes that it requests; after the approval, those that were granted.
    scopes: tuple[Scope, ...]
    #: The address from which the request came.
    address: str
    #: The User-Agent of the request.
    program: str
    created_at: datetime
    expires_at: datetime
    #: The digest of the code that the user enters.
    user_code_digest: str
    state: Literal["pending", "approved", "denied"] = "pending"
    #: Who approved or denied it, and that user's epoch: signing out everywhere also ends this.
    user: str = ""
    epoch: int = 0
    #: When the program last asked; None if it has not asked yet.
    polled_at: datetime | None = None


class _DeviceOfCode(Record, frozen=True, kw_only=True):
    device_digest: str


async def get_device_login(digest: str) -> Stored[DeviceLogin] | None:
    return await get_record(_DEVICE + digest, DeviceLogin)


async def get_device_digest(user_code_digest: str) -> str | None:
    """Return the digest of the device code that belongs to a user code."""
    stored = await get_record(_USER_CODE + user_code_digest, _DeviceOfCode)
    return stored.record.device_digest if stored else None


def write_new_device_login(digest: str, login: DeviceLogin) -> list[Operation]:
    pointer = encode(_DeviceOfCode(device_digest=digest))
    return [
        Put(_DEVICE + digest, encode(login), expected=ABSENT, due=NEVER,
            expires_at=login.expires_at),
        Put(_USER_CODE + login.user_code_digest, pointer, expected=ABSENT, due=NEVER,
            expires_at=login.expires_at),
    ]  # fmt: skip


def write_device_login(digest: str, login: DeviceLogin, *, expected: int) -> Operation:
    return Put(
        _DEVICE + digest,
        encode(login),
        expected=expected,
        due=NEVER,
        expires_at=login.expires_at,
    )


def delete_device_login(digest: str, stored: Stored[DeviceLogin]) -> list[Operation]:
    """Mark the codes as used by deleting them; the commit fails if they were already used."""
    return [
        Delete(_DEVICE + digest, expected=stored.revision),
        Delete(_USER_CODE + stored.record.user_code_digest),
    ]
