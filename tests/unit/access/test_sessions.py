"""Sessions end by time, on request, all at once, and with their user."""

import dataclasses
from collections.abc import Sequence

import pytest

from tests.clocks import ManualClock
from tests.people import PASSWORD, a_user
from tests.probes import ProbingEngine
from vskill_platform.access.second_factor.sign_in_step import open_session
from vskill_platform.access.secret_texts import digest_of
from vskill_platform.access.sessions import (
    begin_session,
    end_session,
    find_session,
    list_open_sessions,
)
from vskill_platform.access.users import (
    change_own_password,
    disable_user,
    enable_user,
    find_user,
    set_password,
    sign_out_everywhere,
)
from vskill_platform.engines.operations import ABSENT, Operation
from vskill_platform.errors import InvalidInput, NotFound, Overtaken
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import get_now
from vskill_platform.stores.second_factor_store import SecondFactor, write_second_factor

pytestmark = pytest.mark.usefixtures("bound")


async def test_a_session_is_found_by_its_secret_alone() -> None:
    opened = await begin_session(await a_user())

    found = await find_session(opened.secret)

    assert found
    assert found.user.name == "ada"
    assert await find_session(opened.session.id) is None
    assert await find_session(digest_of(opened.secret)) is None


async def test_the_secret_is_nowhere_in_the_database(bound: WorkerEnv) -> None:
    opened = await begin_session(await a_user())

    keys = (await bound.engine.kv.list_keys("")).keys
    values = [entry.value for key in keys if (entry := await bound.engine.kv.get(key))]

    assert values
    assert not any(opened.secret in key for key in keys)
    assert not any(opened.secret.encode() in value for value in values)


async def test_a_session_ends_after_its_time(clock: ManualClock) -> None:
    opened = await begin_session(await a_user())

    clock.advance(days=6, hours=23)
    before = await find_session(opened.secret)
    clock.advance(hours=2)

    assert before
    assert await find_session(opened.secret) is None


async def test_a_session_that_was_ended_is_gone_and_the_others_stay() -> None:
    user = await a_user()
    first, second = await begin_session(user), await begin_session(user)

    await end_session("ada", first.session.id)

    assert await find_session(first.secret) is None
    assert await find_session(second.secret)
    with pytest.raises(NotFound):
        await end_session("ada", first.session.id)


async def test_nobody_ends_the_session_of_another() -> None:
    opened = await begin_session(await a_user(name="ada"))

    with pytest.raises(NotFound):
        await end_session("ben", opened.session.id)

    assert await find_session(opened.secret)


async def test_signing_out_everywhere_ends_all_of_them() -> None:
    user = await a_user()
    opened = [await begin_session(user) for _ in range(3)]

    changed = await sign_out_everywhere("ada", actor="ada")

    assert [await find_session(item.secret) for item in opened] == [None, None, None]
    assert await list_open_sessions(changed) == []
    assert await find_session((await begin_session(changed)).secret)


async def test_a_session_that_is_begun_while_all_are_ended_does_not_outlive_it() -> None:
    user = await a_user()
    await sign_out_everywhere("ada", actor="ada")

    late = await begin_session(user)  # by somebody who had read the user before

    assert await find_session(late.secret) is None


async def test_a_new_password_ends_every_session() -> None:
    opened = await begin_session(await a_user())

    await set_password("ada", "another long password", actor="cyd")

    assert await find_session(opened.secret) is None


async def test_ones_own_password_needs_the_present_one() -> None:
    user = await a_user()
    opened = await begin_session(user)

    with pytest.raises(InvalidInput, match="wrong"):
        await change_own_password(user, "not the present one", "another long password")
    with pytest.raises(InvalidInput, match="characters"):
        await change_own_password(user, PASSWORD, "short")

    assert await find_session(opened.secret)
    await change_own_password(user, PASSWORD, "another long password")
    assert await find_session(opened.secret) is None


async def test_disabling_a_user_ends_their_sessions_for_good() -> None:
    opened = await begin_session(await a_user())

    await disable_user("ada", actor="cyd")
    out = await find_session(opened.secret)
    await enable_user("ada", actor="cyd")

    assert out is None
    assert await find_session(opened.secret) is None


async def test_it_is_known_when_a_session_was_last_used(clock: ManualClock) -> None:
    opened = await begin_session(await a_user())
    clock.advance(minutes=9)
    await find_session(opened.secret)
    (soon,) = await list_open_sessions(await find_user("ada"))
    clock.advance(minutes=2)

    await find_session(opened.secret)

    (later,) = await list_open_sessions(await find_user("ada"))
    assert soon.seen_at == opened.session.created_at
    assert later.seen_at == clock.now()


class _OtherTab(ProbingEngine):
    """Turns the second factor of ada on before every other commit."""

    async def commit(self, operations: Sequence[Operation]) -> int | None:
        factor = SecondFactor(user="ada", recovery=(), added_at=get_now())
        assert await super().commit([write_second_factor(factor, expected=ABSENT)])
        return await super().commit(operations)


async def test_no_session_without_a_factor_begins_while_the_factor_is_turned_on(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await a_user()
    raced = dataclasses.replace(bound, engine=_OtherTab(bound.engine))
    monkeypatch.setattr("vskill_platform.stores.db.bound_env", lambda: raced)

    with pytest.raises(Overtaken, match="the session could not be started; try again"):
        await open_session(ada)

    monkeypatch.undo()
    assert await list_open_sessions(ada) == []
