"""Tokens: shown once, stored as digests, limited to the rights of their user, revoked."""

import asyncio
from datetime import timedelta

import pytest

from tests.clocks import NOON, ManualClock
from tests.people import a_user
from vskill_platform.access.tokens import (
    MAX_LIFETIME,
    MAX_TOKENS,
    add_token,
    find_open_token,
    revoke_token,
)
from vskill_platform.access.users import disable_user, enable_user, set_role
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.rights import RIGHTS, SCOPES_OF, Right, Visitor
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.settings import Settings
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.token_store import list_tokens

pytestmark = pytest.mark.usefixtures("bound")


async def test_a_token_is_found_by_its_text_alone() -> None:
    await a_user()
    token = await add_token("ada", "the build", [Scope.SUBMIT, Scope.READ], actor="ada")

    found = await find_open_token(token.text)

    assert found
    assert found.user.name == "ada"
    assert found.record.scopes == (Scope.READ, Scope.SUBMIT)
    assert await find_open_token(token.record.id) is None


async def test_the_token_is_nowhere_in_the_database(bound: WorkerEnv) -> None:
    await a_user()
    token = await add_token("ada", "the build", [Scope.READ], actor="ada")

    keys = (await bound.engine.kv.list_keys("")).keys
    values = [entry.value for key in keys if (entry := await bound.engine.kv.get(key))]

    assert values
    assert not any(token.text in key or token.text[4:] in key for key in keys)
    assert not any(token.text[4:].encode() in value for value in values)


async def test_a_misspelt_token_costs_no_look_into_the_database() -> None:
    assert await find_open_token("vsk_" + "a" * 40) is None


async def test_a_token_ends_after_its_time(clock: ManualClock) -> None:
    await a_user()
    token = await add_token("ada", "x", [Scope.READ], actor="ada", lifetime=timedelta(days=7))

    clock.advance(days=6, hours=23)
    before = await find_open_token(token.text)
    clock.advance(hours=2)

    assert before
    assert await find_open_token(token.text) is None
    assert await list_tokens("ada") == []


async def test_a_revoked_token_is_good_for_nothing() -> None:
    await a_user()
    token = await add_token("ada", "x", [Scope.READ], actor="ada")

    await revoke_token(token.record.id, actor="cyd", reason="lost")

    assert await find_open_token(token.text) is None
    with pytest.raises(NotFound):
        await revoke_token(token.record.id, actor="cyd")


async def test_a_use_at_the_moment_of_its_revocation_does_not_bring_it_back() -> None:
    await a_user()
    token = await add_token("ada", "x", [Scope.READ], actor="ada")
    await find_open_token(token.text)
    await revoke_token(token.record.id, actor="ada")

    await find_open_token(token.text)

    assert await list_tokens() == []


async def test_nobody_revokes_the_token_of_another() -> None:
    await a_user(name="ada")
    token = await add_token("ada", "x", [Scope.READ], actor="ada")

    with pytest.raises(NotFound):
        await revoke_token(token.record.id, actor="ben", of="ben")

    assert await find_open_token(token.text)


async def test_its_last_use_is_known_to_the_minute(clock: ManualClock, bound: WorkerEnv) -> None:
    await a_user()
    token = await add_token("ada", "x", [Scope.READ], actor="ada")
    await find_open_token(token.text)
    revision = await bound.engine.revision()
    clock.advance(seconds=59)
    await find_open_token(token.text)
    unwritten = await bound.engine.revision()
    clock.advance(seconds=2)

    await find_open_token(token.text)

    assert unwritten == revision
    (known,) = await list_tokens("ada")
    assert known.last_used_at == NOON + timedelta(seconds=61)


async def test_a_disabled_user_has_no_tokens_until_enabled() -> None:
    await a_user()
    token = await add_token("ada", "x", [Scope.READ], actor="ada")

    await disable_user("ada", actor="cyd")
    out = await find_open_token(token.text)
    await enable_user("ada", actor="cyd")

    assert out is None
    assert await find_open_token(token.text)


@pytest.mark.parametrize("role", list(Role))
async def test_nobody_makes_a_token_for_more_than_the_role(role: Role) -> None:
    user = await a_user(role)
    for scope in Scope:
        if scope in SCOPES_OF[role]:
            await add_token(user.name, "x", [scope], actor=user.name)
        else:
            with pytest.raises(NotAllowed):
                await add_token(user.name, "x", [scope], actor=user.name)


async def test_a_token_loses_the_rights_its_user_loses() -> None:
    user = await a_user(Role.ADMIN)
    await a_user(Role.ADMIN, name="dan")
    token = await add_token(user.name, "x", list(Scope), actor=user.name)
    await set_role(user.name, Role.READER, actor="dan")

    found = await find_open_token(token.text)

    assert found
    visitor = Visitor(user=found.user, via="token", scopes=frozenset(found.record.scopes))
    rights = {right for right in Right if visitor.may(right, Settings())}
    kept = RIGHTS[Role.READER] | {Right.SUBMIT, Right.MANAGE}
    assert rights == kept


@pytest.mark.parametrize(
    ("label", "scopes", "days"),
    [
        ("", [Scope.READ], 1),
        ("  ", [Scope.READ], 1),
        ("x" * 101, [Scope.READ], 1),
        ("a\nb", [Scope.READ], 1),
        ("x", [], 1),
        ("x", [Scope.READ], 0),
        ("x", [Scope.READ], MAX_LIFETIME.days + 1),
    ],
    ids=["no label", "blank", "long", "two lines", "no scope", "no time", "too long a time"],
)
async def test_an_invalid_token_request_is_refused(
    label: str, scopes: list[Scope], days: int
) -> None:
    await a_user()

    with pytest.raises(InvalidInput):
        await add_token("ada", label, scopes, actor="ada", lifetime=timedelta(days=days))


async def test_the_audit_names_tokens_and_never_shows_one() -> None:
    await a_user()
    token = await add_token("ada", "the build", [Scope.READ], actor="ada")
    await revoke_token(token.record.id, actor="cyd", reason="lost")

    records = (await list_audit()).records

    said = {(record.actor, record.action) for record in records}
    assert {("ada", "token add"), ("cyd", "token revoke")} <= said
    assert token.text not in str(records)
    assert token.record.id in str(records)


@pytest.mark.slow
async def test_nobody_has_more_than_fifty_at_once() -> None:
    await a_user(name="ada")

    made = await asyncio.gather(
        *(add_token("ada", "x", [Scope.READ], actor="ada") for _ in range(MAX_TOKENS + 5)),
        return_exceptions=True,
    )

    assert sum(isinstance(one, NotAllowed) for one in made) == 5, made
    assert len(await list_tokens("ada")) == MAX_TOKENS == 50
    await revoke_token((await list_tokens("ada"))[0].id, actor="ada")
    await add_token("ada", "x", [Scope.READ], actor="ada")
