"""Sessions, stored under the digest of their secret, so a database leak exposes none."""

from datetime import datetime

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.user import Session
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_record,
    list_all_keys,
    read_each,
)
from vskill_platform.stores.user_store import expect_not_deleted

_SESSION = "session:"
#: From a user and the id of a session to the digest of its secret.
_SESSION_ID = "session-id:"
#: When a user last signed in; unlike sessions, this does not expire.
_SIGNED_IN = "signed-in:"


async def get_session(digest: str) -> Stored[Session] | None:
    return await get_record(_SESSION + digest, Session)


async def list_sessions(user_name: str) -> list[Session]:
    """Return a user's sessions, valid or not."""
    digests = await _digests(user_name)
    keys = [_SESSION + digest for digest in digests]
    return await read_each(keys, lambda key, value: decode(key, value, Session))


async def get_session_digest(user_name: str, session_id: str) -> str | None:
    found = await get_record(_id_key(user_name, session_id), str)
    return found.record if found else None


def write_new_session(digest: str, session: Session) -> list[Operation]:
    return [
        _put(digest, session, expected=ABSENT),
        Put(
            _id_key(session.user, session.id),
            encode(digest),
            due=NEVER,
            expires_at=session.expires_at,
        ),
        Put(_SIGNED_IN + session.user, encode(session.created_at), due=NEVER),
        expect_not_deleted(session.user),
    ]


def forget_sign_in(user_name: str) -> Operation:
    return Delete(_SIGNED_IN + user_name)


async def get_last_sign_in(user_name: str) -> datetime | None:
    """Return when a user last signed in; None if never, or before this was recorded."""
    found = await get_record(_SIGNED_IN + user_name, datetime)
    return found.record if found else None


def write_session(digest: str, session: Session, *, expected: int) -> Operation:
    return _put(digest, session, expected=expected)


def delete_session(digest: str, session: Session) -> list[Operation]:
    return [Delete(_SESSION + digest), Delete(_id_key(session.user, session.id))]


async def delete_sessions(user_name: str) -> list[Operation]:
    """Return the operations that delete all sessions of a user."""
    keys = await list_all_keys(f"{_SESSION_ID}{user_name}:")
    digests = await _digests(user_name)
    return [*(Delete(key) for key in keys), *(Delete(_SESSION + digest) for digest in digests)]


async def _digests(user_name: str) -> list[str]:
    keys = await list_all_keys(f"{_SESSION_ID}{user_name}:")
    return await read_each(keys, lambda key, value: decode(key, value, str))


def _put(digest: str, session: Session, *, expected: int) -> Operation:
    return Put(
        _SESSION + digest,
        encode(session),
        expected=expected,
        due=NEVER,
        expires_at=session.expires_at,
    )


def _id_key(user_name: str, session_id: str) -> str:
    return f"{_SESSION_ID}{user_name}:{session_id}"
