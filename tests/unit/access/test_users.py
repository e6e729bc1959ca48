"""Users: names, roles, disabling, the last admin, and the audit of all of it."""

import asyncio

import pytest

from tests.people import PASSWORD, a_user
from vskill_platform.access.one_time_links import invite_user, read_one_time_link
from vskill_platform.access.second_factor.sign_in_step import sign_in
from vskill_platform.access.users import (
    add_user,
    disable_user,
    enable_user,
    find_user,
    has_admin,
    set_password,
    set_role,
    sign_out_everywhere,
)
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit

pytestmark = pytest.mark.usefixtures("bound")


async def test_an_added_user_can_sign_in() -> None:
    await add_user("Ada", Role.PUBLISHER, actor="cyd", password=PASSWORD)

    assert (await sign_in("ada", PASSWORD)).user.role is Role.PUBLISHER


@pytest.mark.parametrize(
    "name",
    [
        "", "a", "-ada", "ada-", "a--b", "ada lovelace", "ada@home", "ädä", "a" * 40, "a/b", "a:b",
        "anonymous", "LOCAL", "system", "a\nda",
    ],
    ids=repr,
)  # fmt: skip
async def test_a_name_that_could_be_taken_for_another_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        await add_user(name, Role.READER, actor="cyd")


async def test_a_name_is_given_once_however_it_is_written() -> None:
    await a_user(name="ada")

    with pytest.raises(InvalidInput, match="already"):
        await add_user("ADA", Role.ADMIN, actor="cyd")

    assert (await find_user("ada")).role is Role.PUBLISHER


async def test_a_weak_password_adds_nobody() -> None:
    with pytest.raises(InvalidInput):
        await add_user("ada", Role.READER, actor="cyd", password="short")

    with pytest.raises(NotFound):
        await find_user("ada")


async def test_the_last_admin_stays() -> None:
    await a_user(Role.ADMIN, name="cyd")
    await a_user(Role.ADMIN, name="dan")

    await disable_user("dan", actor="cyd")
    with pytest.raises(NotAllowed, match="last admin"):
        await disable_user("cyd", actor="cyd")
    with pytest.raises(NotAllowed, match="last admin"):
        await set_role("cyd", Role.REVIEWER, actor="cyd")

    assert await has_admin()
    await enable_user("dan", actor="cyd")
    await set_role("cyd", Role.REVIEWER, actor="dan")
    assert (await find_user("cyd")).role is Role.REVIEWER


async def test_of_two_admins_who_remove_each_other_one_stays() -> None:
    names = ("cyd", "dan")
    for name in names:
        await a_user(Role.ADMIN, name=name)

    outcomes = await asyncio.gather(
        *(set_role(name, Role.READER, actor="test") for name in names), return_exceptions=True
    )

    assert sum(isinstance(outcome, NotAllowed) for outcome in outcomes) == 1, outcomes
    assert await has_admin()


@pytest.mark.parametrize("action", ["set_password", "disable", "sign_out"])
async def test_a_link_to_a_password_ends_with_what_it_could_undo(action: str) -> None:
    await a_user(name="ada")
    await a_user(name="ben")
    link = await invite_user("ada", actor="cyd")
    other = await invite_user("ben", actor="cyd")

    if action == "set_password":
        await set_password("ada", PASSWORD + "!", actor="cyd")
    elif action == "disable":
        await disable_user("ada", actor="cyd")
        await enable_user("ada", actor="cyd")
    else:
        await sign_out_everywhere("ada", actor="ada")

    with pytest.raises(NotFound, match="link"):
        await read_one_time_link(link.partition("key=")[2])
    assert (await read_one_time_link(other.partition("key=")[2])).user == "ben"


async def test_a_change_without_effect_is_not_recorded(bound: WorkerEnv) -> None:
    await a_user(name="ada")
    revision = await bound.engine.revision()

    await set_role("ada", Role.PUBLISHER, actor="cyd")
    await enable_user("ada", actor="cyd")

    assert await bound.engine.revision() == revision


async def test_every_action_is_in_the_audit_log_with_its_actor_and_without_a_password() -> None:
    await a_user(name="ada")
    await set_role("ada", Role.REVIEWER, actor="cyd", reason="helps out")
    await set_password("ada", "another long password", actor="cyd")
    await disable_user("ada", actor="cyd", reason="left")
    await enable_user("ada", actor="cyd")

    records = (await list_audit()).records

    assert sorted((record.action, record.actor, record.reason) for record in records) == [
        ("user add", "test", ""),
        ("user disable", "cyd", "left"),
        ("user enable", "cyd", ""),
        ("user set-password", "cyd", ""),
        ("user set-role", "cyd", "helps out"),
    ]
    assert "another long password" not in str(records)
    assert "argon2" not in str(records)


async def test_an_unknown_user_cannot_be_changed() -> None:
    with pytest.raises(NotFound):
        await set_role("ada", Role.READER, actor="cyd")
    with pytest.raises(NotFound):
        await disable_user("ada", actor="cyd")
    with pytest.raises(NotFound):
        await set_password("ada", "another long password", actor="cyd")
