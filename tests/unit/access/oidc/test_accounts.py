"""Links between users and accounts of the provider, by the operator; break-glass accounts."""

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from tests.people import PASSWORD, a_user
from vskill_platform.access.namespaces import add_owner, may_act_in
from vskill_platform.access.oidc.accounts import find_account, link_subject, unlink_account
from vskill_platform.access.oidc.group_rights import close_managed_namespaces
from vskill_platform.access.one_time_links import invite_admin, invite_user, use_one_time_link
from vskill_platform.access.users import find_user, set_break_glass
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.oidc import Identity
from vskill_platform.model.rights import Visitor
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.namespace_store import get_namespace

ISSUER = "https://login.example"
ADA = Identity(issuer=ISSUER, subject="s-1", names=("ada",))


@pytest.fixture(autouse=True)
async def with_a_provider(bound: WorkerEnv) -> AsyncIterator[None]:
    settings = msgspec.structs.replace(
        bound.settings,
        oidc_issuer=ISSUER,
        oidc_client_id="registry",
        oidc_namespace_groups='{"acme": {"owners": ["leads"]}, "open": {"members": ["all"]}}',
    )
    token = worker_env_storage.set(replace(bound, settings=settings))
    yield
    worker_env_storage.reset(token)


def turn_passwords_off() -> None:
    env = worker_env_storage.get()
    assert env
    settings = msgspec.structs.replace(env.settings, password_sign_in=False)
    worker_env_storage.set(replace(env, settings=settings))


async def test_the_operator_links_a_user_and_removes_the_link() -> None:
    await a_user(Role.PUBLISHER, "ada")

    await link_subject("ada", "s-1", actor="operator", reason="same person")
    signed_in = await find_account(ADA)
    await unlink_account("ada", actor="operator")

    assert signed_in.name == "ada"
    with pytest.raises(NotAllowed, match="another account ada"):
        await find_account(ADA)
    with pytest.raises(NotFound, match="no account"):
        await unlink_account("ada", actor="operator")
    actions = [(one.action, one.reason) for one in (await list_audit()).records]
    assert ("oidc link", "same person") in actions


async def test_an_account_is_linked_to_one_user_and_a_user_to_one_account() -> None:
    await a_user(Role.PUBLISHER, "ada")
    await a_user(Role.PUBLISHER, "ben")
    await link_subject("ada", "s-1", actor="operator")

    for name, subject in (("ben", "s-1"), ("ada", "s-2"), ("ben", ""), ("ben", "a\nb")):
        with pytest.raises((NotAllowed, InvalidInput)):
            await link_subject(name, subject, actor="operator")


async def test_a_break_glass_account_needs_no_provider() -> None:
    await a_user(Role.ADMIN, "cyd")
    await a_user(Role.PUBLISHER, "ada")
    await link_subject("ada", "s-1", actor="operator")

    cyd = await set_break_glass("cyd", is_on=True, actor="operator")

    assert cyd.is_break_glass
    with pytest.raises(NotAllowed, match="break-glass"):
        await link_subject("cyd", "s-2", actor="operator")
    with pytest.raises(NotAllowed, match="unlink it first"):
        await set_break_glass("ada", is_on=True, actor="operator")


async def test_with_passwords_turned_off_links_set_only_those_of_break_glass_accounts() -> None:
    await a_user(Role.PUBLISHER, "ada")
    turn_passwords_off()
    key_of_ada = (await invite_user("ada", actor="cyd")).partition("key=")[2]
    key_of_admin = (await invite_admin(actor="operator")).partition("key=")[2]

    admin = await use_one_time_link(key_of_admin, name="root", password=PASSWORD)

    assert (admin.role, admin.is_break_glass) == (Role.ADMIN, True)
    with pytest.raises(NotAllowed, match="turned off"):
        await use_one_time_link(key_of_ada, name="", password=PASSWORD)


async def test_a_namespace_of_groups_is_closed_before_anybody_signs_in() -> None:
    visitor = Visitor(user=await a_user(Role.PUBLISHER, "ada"), via="session")
    before = await may_act_in(visitor, "acme")

    await close_managed_namespaces()

    assert (before, await may_act_in(visitor, "acme")) == (True, False)
    assert await may_act_in(visitor, "open")


async def test_an_admin_takes_a_namespace_back_from_the_groups() -> None:
    await close_managed_namespaces()
    await a_user(Role.PUBLISHER, "ada")

    await add_owner("acme", "ada", actor="cyd")

    found = (await get_namespace("acme")).record
    assert (found.owners, found.is_managed) == (("ada",), False)
    assert (await find_user("ada")).role is Role.PUBLISHER
