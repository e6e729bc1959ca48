"""Who may do what, as a separate table, so that rights do not change by accident."""

from itertools import pairwise
from typing import Literal

import msgspec
import pytest

from tests.cases import all_cases
from tests.clocks import NOON
from vskill_platform.model.rights import RIGHTS, SCOPE_RIGHTS, SCOPES_OF, Right, Visitor
from vskill_platform.model.user import Role, Scope, User
from vskill_platform.settings import Settings

R = Right
SubmitBy = Literal["anyone", "signed_in", "publishers"]
_FOR_PUBLISHERS = {
    R.ANYONE, R.REPORT, R.SUBMIT, R.MANAGE, R.ACCOUNT, R.SESSIONS, R.DELETE_ACCOUNT,
}  # fmt: skip
_FOR_REVIEWERS = _FOR_PUBLISHERS | {R.REVIEW, R.OPERATE, R.BLOCK}
#: With a session, if everybody may submit.
TABLE: dict[Role | None, set[Right]] = {
    None: {R.ANYONE, R.REPORT, R.SUBMIT},
    Role.READER: _FOR_PUBLISHERS,
    Role.PUBLISHER: _FOR_PUBLISHERS,
    Role.REVIEWER: _FOR_REVIEWERS,
    Role.ADMIN: _FOR_REVIEWERS | {R.ADMINISTER},
}
#: With a token of an admin.
SCOPES: dict[Scope, set[Right]] = {
    Scope.READ: {R.ANYONE},
    Scope.SUBMIT: {R.ANYONE, R.REPORT, R.SUBMIT},
    Scope.MANAGE: {R.ANYONE, R.REPORT, R.MANAGE, R.SESSIONS, R.DELETE_ACCOUNT},
    Scope.REVIEW: {R.ANYONE, R.REPORT, R.MANAGE, R.REVIEW, R.BLOCK},
    Scope.OPERATE: {R.ANYONE, R.REPORT, R.OPERATE},
    Scope.ADMIN: set(Right),
}


def a_visitor(role: Role | None, *scopes: Scope) -> Visitor:
    if role is None:
        return Visitor(address="203.0.113.7")
    user = User(name="ada", role=role, created_at=NOON)
    via: Literal["session", "token"] = "token" if scopes else "session"
    return Visitor(user=user, via=via, scopes=frozenset(scopes))


def rights_of(visitor: Visitor, settings: Settings | None = None) -> set[Right]:
    return {right for right in Right if visitor.may(right, settings or Settings())}


@pytest.mark.parametrize("role", [None, *Role], ids=str)
def test_each_role_may_what_the_table_says(role: Role | None) -> None:
    assert rights_of(a_visitor(role)) == TABLE[role]


def test_each_role_may_what_the_one_before_may() -> None:
    for lower, higher in pairwise(Role):
        assert RIGHTS[lower] <= RIGHTS[higher]
        assert SCOPES_OF[lower] <= SCOPES_OF[higher]


@pytest.mark.parametrize(
    ("submit_by", "able"),
    [
        ("anyone", {None, *Role}),
        ("signed_in", set(Role)),
        ("publishers", {Role.PUBLISHER, Role.REVIEWER, Role.ADMIN}),
    ],
)
def test_a_setting_decides_who_may_submit(submit_by: SubmitBy, able: set[Role | None]) -> None:
    settings = msgspec.structs.replace(Settings(), submit_by=submit_by)

    may_submit = {
        role for role in (None, *Role) if R.SUBMIT in rights_of(a_visitor(role), settings)
    }

    assert may_submit == able


@all_cases("scope", list(Scope))
def test_a_token_may_what_it_is_for(scope: Scope) -> None:
    assert rights_of(a_visitor(Role.ADMIN, scope)) == SCOPES[scope]


@all_cases("scope", list(Scope))
@all_cases("role", list(Role))
def test_a_token_never_may_more_than_its_user(role: Role, scope: Scope) -> None:
    assert rights_of(a_visitor(role, scope)) <= TABLE[role] & SCOPES[scope]


def test_several_scopes_add_up() -> None:
    visitor = a_visitor(Role.REVIEWER, Scope.SUBMIT, Scope.OPERATE)

    assert rights_of(visitor) == {R.ANYONE, R.REPORT, R.SUBMIT, R.OPERATE}


def test_a_token_without_any_scope_may_nothing() -> None:
    user = User(name="ada", role=Role.ADMIN, created_at=NOON)

    assert rights_of(Visitor(user=user, via="token")) == set()


def test_only_the_scope_admin_makes_other_tokens() -> None:
    able = {scope for scope in Scope if Right.ACCOUNT in SCOPE_RIGHTS[scope]}

    assert able == {Scope.ADMIN}
    assert {role for role in Role if Scope.ADMIN in SCOPES_OF[role]} == {Role.ADMIN}


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("203.0.113.7", "anonymous@203.0.113.x"),
        ("2001:db8:85a3:8d3:1319:8a2e:370:7348", "anonymous@2001:db8:85a3::x"),
        ("::ffff:203.0.113.7", "anonymous@203.0.113.x"),
        ("", "anonymous@nowhere"),
        ("<script>", "anonymous@nowhere"),
    ],
)
def test_a_visitor_is_named_by_part_of_the_address(address: str, name: str) -> None:
    assert Visitor(address=address).name == name


def test_a_signed_in_user_is_named_by_user_name() -> None:
    assert a_visitor(Role.READER).name == "ada"
