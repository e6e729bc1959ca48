"""Roles, rights and token scopes, and the visitor who has them."""

import ipaddress
from enum import StrEnum
from typing import Literal

import msgspec

from vskill_platform.model.user import Namespace, Role, Scope, User
from vskill_platform.settings import Settings

__all__ = [
    "ANONYMOUS",
    "RIGHTS",
    "SCOPES_OF",
    "SCOPE_RIGHTS",
    "STAFF",
    "Right",
    "Role",
    "Scope",
    "Visitor",
    "read_address",
]


#: The prefix of the names of visitors without an account; names of users contain no @.
ANONYMOUS = "anonymous@"


class Right(StrEnum):
    #: No sign-in required: public pages, the sign-in form, health, static files.
    ANYONE = "anyone"
    #: Submit, retry and withdraw own submissions; a setting decides which roles have this right.
    SUBMIT = "submit"
    #: Yank, hide and show skills in own namespaces, for signed-in users who may submit.
    MANAGE = "manage"
    #: Report a skill or a problem to the staff; everyone has it, and every token that can write.
    REPORT = "report"
    #: One's own account and tokens.
    ACCOUNT = "account"
    #: List and end one's own sessions, so that a program can sign a lost computer out.
    SESSIONS = "sessions"
    #: Delete one's own account, but no other; this also requires the password.
    DELETE_ACCOUNT = "delete_account"
    #: Reviews, and reports with stored files.
    REVIEW = "review"
    #: Pause and resume, requeue, dead letters, dequeue.
    OPERATE = "operate"
    #: The blocklist; yanking skills of others.
    BLOCK = "block"
    #: Users, roles, namespaces, tokens of others, audit log, policy, rescan.
    ADMINISTER = "administer"


_WITHOUT_ACCOUNT = frozenset({Right.ANYONE, Right.REPORT})
_FOR_ALL = _WITHOUT_ACCOUNT | {Right.ACCOUNT, Right.SESSIONS, Right.DELETE_ACCOUNT}
_FOR_PUBLISHERS = _FOR_ALL | {Right.SUBMIT, Right.MANAGE}
_FOR_REVIEWERS = _FOR_PUBLISHERS | {Right.REVIEW, Right.OPERATE, Right.BLOCK}
#: The rights of each role, independent of the settings.
RIGHTS: dict[Role, frozenset[Right]] = {
    Role.READER: _FOR_ALL,
    Role.PUBLISHER: _FOR_PUBLISHERS,
    Role.REVIEWER: _FOR_REVIEWERS,
    Role.ADMIN: _FOR_REVIEWERS | {Right.ADMINISTER},
}
#: The rights of each token scope, if the user has them. Only the scope `admin` allows creating
#: tokens: otherwise a leaked low-privilege token could create a stronger one.
SCOPE_RIGHTS: dict[Scope, frozenset[Right]] = {
    Scope.READ: frozenset({Right.ANYONE}),
    Scope.SUBMIT: frozenset({Right.ANYONE, Right.REPORT, Right.SUBMIT}),
    Scope.MANAGE: frozenset(
        {Right.ANYONE, Right.REPORT, Right.MANAGE, Right.SESSIONS, Right.DELETE_ACCOUNT}
    ),
    Scope.REVIEW: frozenset({Right.ANYONE, Right.REPORT, Right.MANAGE, Right.REVIEW, Right.BLOCK}),
    Scope.OPERATE: frozenset({Right.ANYONE, Right.REPORT, Right.OPERATE}),
    Scope.ADMIN: frozenset(Right),
}
#: The scopes that each role can give to a token; whether that includes `submit` is a setting.
SCOPES_OF: dict[Role, frozenset[Scope]] = {
    Role.READER: frozenset({Scope.READ, Scope.SUBMIT, Scope.MANAGE}),
    Role.PUBLISHER: frozenset({Scope.READ, Scope.SUBMIT, Scope.MANAGE}),
    Role.REVIEWER: frozenset(Scope) - {Scope.ADMIN},
    Role.ADMIN: frozenset(Scope),
}
#: The roles for which the operator can require a second factor.
STAFF = frozenset({Role.REVIEWER, Role.ADMIN})
#: The scopes that a token for one namespace can have.
_IN_NAMESPACE = frozenset({Right.ANYONE, Right.SUBMIT})
#: A token with one of these scopes sees the private skills that its user sees.
_SEEING = frozenset({Scope.READ, Scope.REVIEW, Scope.ADMIN})


class Visitor(msgspec.Struct, frozen=True, kw_only=True):
    """The sender of a request."""

    #: None if the visitor is not signed in.
    user: User | None = None
    via: Literal["session", "token", ""] = ""
    #: The name of the token; empty without one.
    scopes: frozenset[Scope] = frozenset()
    #: The client's address; empty if unknown.
    address: str = ""
    #: The CSRF token that a form must contain.
    csrf: str = ""
    #: Identifies the session or the token; empty without one.
    credential: str = ""
    #: Whether the session began with a second factor.
    has_second_factor: bool = False
    #: Whether staff rights are withheld, because the session has no second factor.
    needs_second_factor: bool = False
    #: The only namespace in which the token may do anything; empty for all of its user's.
    only_in: str = ""

    @property
    def name(self) -> str:
        """Return the name for histories and the audit log; IP addresses are truncated."""
        return self.user.name if self.user else f"{ANONYMOUS}{_label(self.address)}"

    def may(self, right: Right, settings: Settings) -> bool:
        if self.only_in and right not in _IN_NAMESPACE:
            return False
        if self.user is None:
            return right in _WITHOUT_ACCOUNT or (
                right is Right.SUBMIT and settings.submit_by == "anyone"
            )
        if self.via == "token" and not any(right in SCOPE_RIGHTS[item] for item in self.scopes):
            return False
        if right in {Right.SUBMIT, Right.MANAGE} and settings.submit_by != "publishers":
            return True
        return right in RIGHTS[self.user.role]

    def owns(self, namespace: Namespace) -> bool:
        """Return whether this visitor acts as an owner; a token for another namespace does not."""
        if self.only_in not in {"", namespace.name}:
            return False
        return self.user is not None and namespace.is_owner(self.user.name)

    def may_act_in(self, namespace: Namespace, settings: Settings) -> bool:
        """Return whether this visitor may submit, withdraw, yank and hide in this namespace."""
        if self.only_in not in {"", namespace.name} or namespace.deleted:
            return False
        if not namespace.is_owned or self.may(Right.REVIEW, settings):
            return True
        return self.owns(namespace)

    @property
    def can_see_all(self) -> bool:
        """Return whether this visitor sees all private skills."""
        if self.user is None or self.only_in or not self.can_see_own:
            return False
        return Right.REVIEW in RIGHTS[self.user.role]

    def can_see_namespace(self, namespace: Namespace) -> bool:
        """Return whether this visitor sees the private skills of this namespace."""
        if self.can_see_all:
            return True
        if self.only_in not in {"", namespace.name}:
            return False
        is_insider = self.user is not None and namespace.is_insider(self.user.name)
        return self.can_see_own and is_insider

    @property
    def can_see_own(self) -> bool:
        """Return whether this visitor sees the private skills of their own namespaces."""
        return self.via == "session" or not _SEEING.isdisjoint(self.scopes)


def read_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address of a visitor; None if it is invalid.

    A server that listens on IPv4 and IPv6 reports 203.0.113.7 as `::ffff:203.0.113.7`.
    """
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def _label(address: str) -> str:
    """Truncate an address so that it does not identify one household."""
    found = read_address(address)
    if found is None:
        return "nowhere"
    if isinstance(found, ipaddress.IPv4Address):
        return f"{str(found).rpartition('.')[0]}.x"
    network = ipaddress.ip_network((found, 48), strict=False)
    return f"{network.network_address}x"
