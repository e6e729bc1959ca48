"""Users, what they own, and the tokens of their programs; none of it contains a secret."""

import re
from datetime import datetime
from enum import StrEnum

from vskill_platform.errors import InvalidInput
from vskill_platform.model.record import Record
from vskill_platform.model.source import LOCAL_NAMESPACE

_NAME = re.compile(r"[a-z0-9](?:-?[a-z0-9]){1,38}")
#: Names that histories and the audit use for something else, or that own a namespace of everybody.
_RESERVED = frozenset({"anonymous", "cron", "local", "nobody", "serve", "system"})


class Role(StrEnum):
    """Each may what the one before may."""

    READER = "reader"
    PUBLISHER = "publisher"
    REVIEWER = "reviewer"
    ADMIN = "admin"


class Scope(StrEnum):
    """What a token is for."""

    READ = "read"
    SUBMIT = "submit"
    MANAGE = "manage"
    REVIEW = "review"
    OPERATE = "operate"
    ADMIN = "admin"


class User(Record, frozen=True, kw_only=True):
    name: str
    role: Role
    created_at: datetime
    is_disabled: bool = False
    #: Sessions of another epoch have ended: one write signs somebody out everywhere.
    epoch: int = 0


class ApiToken(Record, frozen=True, kw_only=True):
    #: Names it in lists and in the audit; it is no secret.
    id: str
    user: str
    #: What it is for, in its owner's words.
    label: str
    scopes: tuple[Scope, ...]
    created_at: datetime
    expires_at: datetime
    #: Known to the minute; None if it was never used.
    last_used_at: datetime | None = None


class Session(Record, frozen=True, kw_only=True):
    #: Names it in lists; it is no secret.
    id: str
    user: str
    epoch: int
    created_at: datetime
    expires_at: datetime
    #: Known to ten minutes.
    seen_at: datetime
    #: Where it was begun: the address, and what the browser calls itself.
    address: str = ""
    browser: str = ""


class Namespace(Record, frozen=True, kw_only=True):
    """The first part of a slug, and who has a say in it."""

    name: str
    owners: tuple[str, ...] = ()
    #: They see what is private in it, and change nothing.
    members: tuple[str, ...] = ()

    @property
    def is_owned(self) -> bool:
        """Tell whether somebody has a say; a namespace of uploads always belongs to its user."""
        return bool(self.owners) or (self.name.startswith("@") and self.name != LOCAL_NAMESPACE)

    def is_owner(self, user_name: str) -> bool:
        return user_name in self.owners or self.name == own_namespace(user_name)

    def is_insider(self, user_name: str) -> bool:
        return self.is_owner(user_name) or user_name in self.members


def own_namespace(user_name: str) -> str:
    return f"@{user_name}"


def checked_user_name(text: str) -> str:
    """Take a name that reads the same everywhere; refuse one that could be taken for another."""
    name = text.strip().lower()
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{text!r} cannot be a user's name: 2 to 39 letters a-z, digits and single hyphens"
        )
    if name in _RESERVED:
        raise InvalidInput(f"{name!r} is a name that the platform itself uses; choose another")
    return name
