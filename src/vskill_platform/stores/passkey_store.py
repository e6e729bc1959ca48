"""Passkeys of users, found by user and by credential, and pending challenges."""

import hashlib
from datetime import datetime

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_record,
    list_all_keys,
    read_each,
)
from vskill_platform.stores.user_store import expect_not_deleted

_PASSKEY = "passkey:"
#: From a credential to its user.
_PASSKEY_ID = "passkey-id:"
_CHALLENGE = "passkey-challenge:"


class Passkey(Record, frozen=True, kw_only=True):
    user: str
    #: Chosen by the user.
    name: str
    #: In base64url, as browsers send it.
    credential_id: str
    public_key: str
    #: Its signature counter, if it has one; a lower number means that it was copied.
    sign_count: int
    created_at: datetime
    used_at: datetime | None = None

    @property
    def id(self) -> str:
        """Identify it in lists and forms."""
        return passkey_id(self.credential_id)


class PasskeyChallenge(Record, frozen=True, kw_only=True):
    """A challenge for one use of a passkey."""

    #: The user who adds a passkey; empty at a sign-in.
    adds_for: str = ""
    expires_at: datetime


def passkey_id(credential_id: str) -> str:
    return hashlib.sha256(credential_id.encode()).hexdigest()[:32]


async def get_passkey(user_name: str, key_id: str) -> Stored[Passkey] | None:
    return await get_record(f"{_PASSKEY}{user_name}:{key_id}", Passkey)


async def find_passkey(credential_id: str) -> Stored[Passkey] | None:
    """Return the passkey with this credential, of any user."""
    key_id = passkey_id(credential_id)
    user = await get_record(_PASSKEY_ID + key_id, str)
    return await get_passkey(user.record, key_id) if user else None


async def list_passkeys(user_name: str) -> list[Passkey]:
    """Return the passkeys of a user, oldest first."""
    keys = await list_all_keys(f"{_PASSKEY}{user_name}:")
    found = await read_each(keys, lambda key, value: decode(key, value, Passkey))
    return sorted(found, key=lambda one: (one.created_at, one.id))


def write_new_passkey(passkey: Passkey) -> list[Operation]:
    """Return the operations that store it; they fail if the credential is known."""
    return [
        Put(_PASSKEY_ID + passkey.id, encode(passkey.user), expected=ABSENT, due=NEVER),
        Put(_key(passkey), encode(passkey), expected=ABSENT, due=NEVER),
        expect_not_deleted(passkey.user),
    ]


def change_passkey(before: Stored[Passkey], after: Passkey) -> Operation:
    return Put(_key(after), encode(after), expected=before.revision, due=NEVER)


def delete_passkey(passkey: Passkey) -> list[Operation]:
    return [Delete(_key(passkey)), Delete(_PASSKEY_ID + passkey.id)]


async def get_challenge(digest: str) -> Stored[PasskeyChallenge] | None:
    return await get_record(_CHALLENGE + digest, PasskeyChallenge)


def write_challenge(digest: str, challenge: PasskeyChallenge) -> Operation:
    return Put(
        _CHALLENGE + digest, encode(challenge), expected=ABSENT, due=NEVER,
        expires_at=challenge.expires_at,
    )  # fmt: skip


def delete_challenge(digest: str, stored: Stored[PasskeyChallenge]) -> Operation:
    """Mark a challenge as used by deleting it; the commit fails if it was already used."""
    return Delete(_CHALLENGE + digest, expected=stored.revision)


def _key(passkey: Passkey) -> str:
    return f"{_PASSKEY}{passkey.user}:{passkey.id}"
