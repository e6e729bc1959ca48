"""Deleting one's own account takes the password, and the second factor if there is one."""

import pytest

from tests.clocks import ManualClock
from tests.people import PASSWORD, a_user
from vskill_platform.access.delete_own_account import (
    Confirmation,
    delete_own_account,
    what_confirms,
)
from vskill_platform.access.second_factor.factors import begin_totp, confirm_totp
from vskill_platform.access.second_factor.totp import current_step, totp_code
from vskill_platform.access.sessions import begin_session
from vskill_platform.access.users import add_user, find_user
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.rights import Visitor
from vskill_platform.model.user import Role, User
from vskill_platform.runtime.env import WorkerEnv

BY_TOKEN = Visitor(via="token")


async def in_a_session(user: User, *, has_second_factor: bool = False) -> Visitor:
    opened = await begin_session(user, has_second_factor=has_second_factor)
    return Visitor(
        user=user,
        via="session",
        credential=opened.session.id,
        has_second_factor=has_second_factor,
    )


async def test_users_confirm_with_password_and_name(bound: WorkerEnv) -> None:
    ada = await a_user(Role.PUBLISHER, name="ada")

    with pytest.raises(InvalidInput, match="to confirm, type ada"):
        await delete_own_account(ada, BY_TOKEN, Confirmation(confirm="yes", password=PASSWORD))
    with pytest.raises(InvalidInput, match="the password is wrong"):
        await delete_own_account(ada, BY_TOKEN, Confirmation(confirm="ada", password="another"))
    await delete_own_account(ada, BY_TOKEN, Confirmation(confirm="ada", password=PASSWORD))

    with pytest.raises(NotFound):
        await find_user("ada")


async def test_a_second_factor_is_needed_unless_the_session_began_with_it(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    ada = await a_user(Role.PUBLISHER, name="ada")
    proved = await in_a_session(ada, has_second_factor=True)
    secret = await begin_totp(ada, PASSWORD)
    first = totp_code(secret, current_step(clock.now()))
    await confirm_totp(ada, first, session_id=proved.credential)
    given = Confirmation(confirm="ada", password=PASSWORD)

    needed = await what_confirms(ada, BY_TOKEN)
    needed_in_session = await what_confirms(ada, proved)
    with pytest.raises(InvalidInput):
        await delete_own_account(ada, BY_TOKEN, given)
    with pytest.raises(InvalidInput):  # used before
        await delete_own_account(
            ada, BY_TOKEN, Confirmation(confirm="ada", password=PASSWORD, code=first)
        )
    clock.advance(seconds=30)
    code = totp_code(secret, current_step(clock.now()))
    await delete_own_account(
        ada, BY_TOKEN, Confirmation(confirm="ada", password=PASSWORD, code=code)
    )

    assert (needed.password, needed.code, needed.refused) == (True, True, None)
    assert (needed_in_session.password, needed_in_session.code) == (True, False)


async def test_users_without_a_password_must_have_signed_in_just_now(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    ada = await add_user("ada", Role.PUBLISHER, actor="test")
    given = Confirmation(confirm="ada")
    old = await in_a_session(ada)
    clock.advance(minutes=11)
    new = await in_a_session(ada)

    for visitor in (BY_TOKEN, old):
        assert (await what_confirms(ada, visitor)).refused
        with pytest.raises(NotAllowed, match="your account has no password"):
            await delete_own_account(ada, visitor, given)
    await delete_own_account(ada, new, given)

    with pytest.raises(NotFound):
        await find_user("ada")


async def test_the_last_admin_is_refused_before_confirming(bound: WorkerEnv) -> None:
    cyd = await a_user(Role.ADMIN, name="cyd")

    alone = await what_confirms(cyd, BY_TOKEN)
    await a_user(Role.ADMIN, name="dan")
    with_another = await what_confirms(cyd, BY_TOKEN)

    assert alone.refused == "cyd is the last admin; make another user an admin first"
    assert with_another.refused is None
