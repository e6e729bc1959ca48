"""Concurrent requests: each link, code and account is used once."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.people import PASSWORD, a_user
from tests.probes import MeanwhileEngine
from vskill_platform.access.delete_account import delete_account
from vskill_platform.access.oidc.accounts import find_account, link_subject, unlink_account
from vskill_platform.access.second_factor.factors import begin_totp, confirm_totp
from vskill_platform.access.second_factor.sign_in_step import finish_step, sign_in
from vskill_platform.access.second_factor.totp import current_step, totp_code
from vskill_platform.access.sessions import begin_session, list_open_sessions
from vskill_platform.access.users import disable_user, find_user, set_break_glass
from vskill_platform.errors import NotAllowed, NotFound, NotSignedIn, SecondFactorNeeded
from vskill_platform.model.oidc import Identity
from vskill_platform.model.user import Role, User
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.oidc_store import get_oidc_link, get_oidc_link_of
from vskill_platform.stores.user_store import list_users

ISSUER = "https://login.example"
ADA = Identity(issuer=ISSUER, subject="s-1", names=("ada",))


@pytest.fixture
async def engine(bound: WorkerEnv) -> AsyncIterator[MeanwhileEngine]:
    raced = MeanwhileEngine(bound.engine)
    settings = msgspec.structs.replace(
        bound.settings, oidc_issuer=ISSUER, oidc_client_id="registry"
    )
    token = worker_env_storage.set(replace(bound, engine=raced, settings=settings))
    yield raced
    worker_env_storage.reset(token)


async def test_an_account_is_linked_to_one_of_two_users(engine: MeanwhileEngine) -> None:
    await a_user(Role.PUBLISHER, "ada")
    await a_user(Role.PUBLISHER, "ben")
    engine.meanwhile = lambda: link_subject("ben", "s-1", actor="cyd")

    with pytest.raises(NotAllowed, match="linked to another user"):
        await link_subject("ada", "s-1", actor="cyd")

    assert (await find_account(ADA)).name == "ben"
    assert await get_oidc_link_of("ada") is None


async def test_a_user_is_linked_to_one_of_two_accounts(engine: MeanwhileEngine) -> None:
    await a_user(Role.PUBLISHER, "ada")
    engine.meanwhile = lambda: link_subject("ada", "s-2", actor="cyd")

    with pytest.raises(NotAllowed, match="another account is linked"):
        await link_subject("ada", "s-1", actor="cyd")

    assert await get_oidc_link(ISSUER, "s-1") is None


async def test_an_account_that_is_deleted_meanwhile_gets_no_link(engine: MeanwhileEngine) -> None:
    await a_user(Role.PUBLISHER, "ada")
    engine.meanwhile = lambda: delete_account("ada", actor="cyd", reason="left")

    with pytest.raises(NotFound, match="no user"):
        await link_subject("ada", "s-1", actor="cyd")

    assert await get_oidc_link(ISSUER, "s-1") is None


async def test_a_break_glass_account_never_gets_a_link(engine: MeanwhileEngine) -> None:
    await a_user(Role.ADMIN, "rescue")
    engine.meanwhile = lambda: set_break_glass("rescue", is_on=True, actor="cyd")

    with pytest.raises(NotAllowed, match="break-glass"):
        await link_subject("rescue", "s-1", actor="cyd")

    assert await get_oidc_link_of("rescue") is None


async def test_a_linked_account_never_becomes_break_glass(engine: MeanwhileEngine) -> None:
    await a_user(Role.ADMIN, "rescue")
    engine.meanwhile = lambda: link_subject("rescue", "s-1", actor="cyd")

    with pytest.raises(NotAllowed, match="is linked to an account"):
        await set_break_glass("rescue", is_on=True, actor="cyd")

    assert not (await find_user("rescue")).is_break_glass


async def test_a_link_that_was_replaced_meanwhile_is_not_removed_by_halves(
    engine: MeanwhileEngine,
) -> None:
    await a_user(Role.PUBLISHER, "ada")
    await link_subject("ada", "s-1", actor="cyd")

    async def replace_it() -> None:
        await unlink_account("ada", actor="cyd")
        await link_subject("ada", "s-2", actor="cyd")

    engine.meanwhile = replace_it

    await unlink_account("ada", actor="cyd")

    assert await get_oidc_link_of("ada") is None
    assert await get_oidc_link(ISSUER, "s-2") is None


async def test_a_first_sign_in_from_many_browsers_makes_one_user(engine: MeanwhileEngine) -> None:
    users = await asyncio.gather(*(find_account(ADA) for _ in range(8)))

    assert {user.name for user in users} == {"ada"}
    assert [user.name for user in await list_users()] == ["ada"]


async def test_two_people_with_one_name_who_sign_in_first_are_two_users(
    engine: MeanwhileEngine,
) -> None:
    people = [msgspec.structs.replace(ADA, subject=f"s-{number}") for number in range(4)]

    users = await asyncio.gather(*map(find_account, people))

    assert {user.name for user in users} == {"ada", "ada-2", "ada-3", "ada-4"}
    again = [await find_account(one) for one in people]
    assert [user.name for user in again] == [user.name for user in users]


async def test_a_session_that_begins_while_the_user_is_disabled_does_not_work(
    engine: MeanwhileEngine,
) -> None:
    await a_user(Role.ADMIN, "cyd")
    ada = await a_user(Role.PUBLISHER, "ada")
    engine.meanwhile = lambda: disable_user("ada", actor="cyd")

    await begin_session(ada)

    assert await list_open_sessions(await find_user("ada")) == []


async def test_one_code_of_the_app_signs_in_one_of_two_who_use_it_at_once(
    engine: MeanwhileEngine, clock: ManualClock
) -> None:
    ada = await a_user(Role.PUBLISHER, "ada")
    secret, recovery = await _with_app(ada, clock)
    clock.advance(seconds=60)
    for code in (totp_code(secret, current_step(clock.now())), recovery):
        steps = [await _begin() for _ in range(4)]

        done = await asyncio.gather(
            *(finish_step(step, code) for step in steps), return_exceptions=True
        )

        refused = [one for one in done if isinstance(one, NotSignedIn)]
        assert len(refused) == 3, done


async def test_a_step_becomes_one_session(engine: MeanwhileEngine, clock: ManualClock) -> None:
    ada = await a_user(Role.PUBLISHER, "ada")
    secret, recovery = await _with_app(ada, clock)
    clock.advance(seconds=60)
    codes = (totp_code(secret, current_step(clock.now())), recovery)
    step = await _begin()

    done = await asyncio.gather(
        *(finish_step(step, code) for code in codes), return_exceptions=True
    )

    assert len([one for one in done if isinstance(one, NotSignedIn)]) == 1, done


async def _with_app(ada: User, clock: ManualClock) -> tuple[str, str]:
    """Turn the second factor on; return the secret of the app and a recovery code."""
    opened = await begin_session(ada)
    secret = await begin_totp(ada, PASSWORD)
    code = totp_code(secret, current_step(clock.now()))
    recovery = await confirm_totp(ada, code, session_id=opened.session.id)
    return secret, recovery[0]


async def _begin() -> str:
    with pytest.raises(SecondFactorNeeded) as needed:
        await sign_in("ada", PASSWORD)
    return needed.value.secret
