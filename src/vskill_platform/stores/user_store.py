"""Users and, in separate records, their password hashes."""

from datetime import datetime

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Expect, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.model.user import User
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_record,
    list_all_keys,
    read_each,
)

_USER = "user:"
_ADMINS = "admins:taken"
_DELETED = "deleted-user:"
#: Separate from the user's record, which appears in pages and responses.
_PASSWORD = "password:"  # noqa: S105 - a prefix of keys


class Password(Record, frozen=True, kw_only=True):
    #: The hash with its salt and cost parameters; never the password.
    digest: str
    changed_at: datetime


async def get_user(name: str) -> Stored[User] | None:
    return await get_record(_USER + name, User)


async def list_users() -> list[User]:
    """Return all users, ordered by name."""
    keys = await list_all_keys(_USER)
    return await read_each(keys, lambda key, value: decode(key, value, User))


def write_user(user: User, *, expected: int) -> Operation:
    return Put(_USER + user.name, encode(user), expected=expected, due=NEVER)


def delete_user(stored: Stored[User]) -> list[Operation]:
    """Delete a user and the password; the name stays reserved."""
    name = stored.record.name
    return [
        Delete(_USER + name, expected=stored.revision),
        Delete(_PASSWORD + name),
        Put(_DELETED + name, encode(name), due=NEVER),
    ]


def expect_user(stored: Stored[User]) -> Operation:
    """Make a commit fail if the user was changed or deleted."""
    return Expect(_USER + stored.record.name, stored.revision)


async def is_deleted_user(name: str) -> bool:
    return await get_record(_DELETED + name, str) is not None


def expect_not_deleted(name: str) -> Operation:
    """Make a commit fail if an account with this name was deleted."""
    return Expect(_DELETED + name, ABSENT)


async def get_admins_mark() -> int:
    """Return the revision of the record that every removal of an admin writes."""
    stored = await get_record(_ADMINS, str)
    return stored.revision if stored else ABSENT


def write_admins_mark(taken: str, *, expected: int) -> Operation:
    """Record the removal of an admin; the commit fails if another was removed meanwhile.

    Two admins who remove each other change two different user records. Only a record that both
    write detects that no admin would be left.
    """
    return Put(_ADMINS, encode(taken), expected=expected, due=NEVER)


async def get_password(name: str) -> Stored[Password] | None:
    return await get_record(_PASSWORD + name, Password)


def write_password(name: str, password: Password, *, expected: int | None = None) -> Operation:
    return Put(_PASSWORD + name, encode(password), expected=expected, due=NEVER)
