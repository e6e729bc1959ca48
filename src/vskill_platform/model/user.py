"""Records of users, namespaces and tokens; none contains a secret."""

import re
from datetime import datetime
from enum import StrEnum

from vskill_platform.errors import InvalidInput
from vskill_platform.model.record import Reasoned, Record
from vskill_platform.model.source import LOCAL_NAMESPACE

_NAME = re.compile(r"[a-z0-9](?:-?[a-z0-9]){1,38}")
#: Names with another meaning in histories and the audit log, or that own a shared namespace.
_RESERVED = frozenset({"anonymous", "cron", "local", "nobody", "serve", "system"})


class Role(StrEnum):
    """Each role includes the rights of the one before."""

    READER = "reader"
    PUBLISHER = "publisher"
    REVIEWER = "reviewer"
    ADMIN = "admin"


class Scope(StrEnum):
    """The purpose of a token."""

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
    #: Sessions with another epoch are invalid, so one write signs a user out everywhere.
    epoch: int = 0
    #: Signs in with a password even if the settings turn that off, for an outage of the provider.
    is_break_glass: bool = False


class ApiToken(Record, frozen=True, kw_only=True):
    #: Identifies it in lists and the audit log; not secret.
    id: str
    user: str
    #: Its name, chosen by the owner.
    label: str
    scopes: tuple[Scope, ...]
    created_at: datetime
    expires_at: datetime
    #: Accurate to the minute; None if it was never used.
    last_used_at: datetime | None = None
    #: The only namespace in which it may do anything; empty for all of its user's.
    namespace: str = ""


class Session(Record, frozen=True, kw_only=True):
    #: Identifies it in lists; not secret.
    id: str
    user: str
    epoch: int
    created_at: datetime
    expires_at: datetime
    #: Accurate to ten minutes.
    seen_at: datetime
    #: Where it was created: the address and the browser's name.
    address: str = ""
    browser: str = ""
    #: Whether it began with a second factor, or at a provider, which asks for one itself.
    has_second_factor: bool = False


class DeletedNamespace(Reasoned, Record, frozen=True, kw_only=True):
    by: str
    at: datetime
    reason: str


class Namespace(Record, frozen=True, kw_only=True):
    """The first part of a slug, with its owners and members."""

    name: str
    owners: tuple[str, ...] = ()
    #: They see its private skills but cannot change anything.
    members: tuple[str, ...] = ()
    #: Whether it stays closed without owners, because they come from groups of the sign-on provider
    #: or the last one left private skills behind.
    is_managed: bool = False
    #: No one can submit to it until an admin adds an owner.
    deleted: DeletedNamespace | None = None

    @property
    def is_known(self) -> bool:
        """Return whether it has owners or members, or gets them from the sign-on provider."""
        return bool(self.owners or self.members) or self.is_managed

    @property
    def is_owned(self) -> bool:
        """Return whether it has an owner; a namespace of uploads always belongs to its user."""
        is_closed = bool(self.owners) or self.is_managed or self.deleted is not None
        return is_closed or (self.name.startswith("@") and self.name != LOCAL_NAMESPACE)

    def is_owner(self, user_name: str) -> bool:
        return user_name in self.owners or self.name == own_namespace(user_name)

    def is_insider(self, user_name: str) -> bool:
        return self.is_owner(user_name) or user_name in self.members


def own_namespace(user_name: str) -> str:
    return f"@{user_name}"


def checked_user_name(text: str) -> str:
    """Validate a user name; refuse reserved names."""
    name = text.strip().lower()
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{text!r} cannot be a user name: use 2 to 39 letters a-z, digits and single hyphens"
        )
    if name in _RESERVED:
        raise InvalidInput(f"{name!r} is reserved by the platform; choose another name")
    return name
