"""Sign-in: the same error for every failure, and a new session for every success."""

from typing import Any

import argon2
import pytest

from tests.people import PASSWORD, a_user
from vskill_platform.access.second_factor.sign_in_step import sign_in
from vskill_platform.access.sign_in import WRONG
from vskill_platform.access.users import add_user, disable_user
from vskill_platform.errors import NotSignedIn
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.user_store import Password, get_password, write_password

pytestmark = pytest.mark.usefixtures("bound")


async def test_name_and_password_begin_a_session() -> None:
    await a_user(name="ada")

    opened = await sign_in(" Ada ", PASSWORD, address="203.0.113.7", browser="Firefox")

    assert opened.user.name == "ada"
    assert (opened.session.address, opened.session.browser) == ("203.0.113.7", "Firefox")


async def test_each_sign_in_has_a_secret_of_its_own() -> None:
    await a_user(name="ada")

    first, second = await sign_in("ada", PASSWORD), await sign_in("ada", PASSWORD)

    assert first.secret != second.secret
    assert first.session.id != second.session.id


async def test_unknown_disabled_without_password_and_wrong_get_the_same_answer() -> None:
    await a_user(name="ada")
    await a_user(name="ben")
    await disable_user("ben", actor="test")
    await add_user("cyd", Role.READER, actor="test")

    answers = set()
    for name, password in (
        ("ada", "wrong password"),
        ("ben", PASSWORD),
        ("cyd", PASSWORD),
        ("nobody-at-all", PASSWORD),
        ("", ""),
    ):
        with pytest.raises(NotSignedIn) as refused:
            await sign_in(name, password)
        answers.add(str(refused.value))

    assert answers == {WRONG}


async def test_a_try_is_written_down_without_its_password(logs: list[Any]) -> None:
    with pytest.raises(NotSignedIn):
        await sign_in("ada", "my secret word", address="203.0.113.7")

    (event,) = logs
    assert event["event"] == "sign-in refused"
    assert event["address"] == "203.0.113.7"
    assert "my secret word" not in str(event)


@pytest.mark.usefixtures("real_passwords")
async def test_an_outdated_digest_is_replaced_at_sign_in(bound: WorkerEnv) -> None:
    user = await add_user("ada", Role.READER, actor="test")
    cheap = argon2.PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash(PASSWORD)
    await commit([write_password(user.name, Password(digest=cheap, changed_at=get_now()))])

    await sign_in("ada", PASSWORD)

    kept = await get_password("ada")
    assert kept
    assert kept.record.digest.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    await sign_in("ada", PASSWORD)
