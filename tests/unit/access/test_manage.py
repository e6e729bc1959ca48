"""Who may yank and change visibility: owners, and users with the right to block."""

from dataclasses import replace

import msgspec
import pytest

from tests.casts import a_published_skill
from tests.people import a_user
from vskill_platform.access.namespaces import add_member, add_owner, check_may_manage, may_manage
from vskill_platform.errors import NotAllowed
from vskill_platform.model.rights import Visitor
from vskill_platform.model.user import Role, Scope, User
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env

SKILL = a_published_skill("ada/notes/tidy", publisher="github.com/ada")
UPLOAD = a_published_skill("@ada/tidy", publisher="@ada")
LOCAL = a_published_skill("@local/tidy", publisher="@local")


async def test_owners_and_reviewers_manage_and_members_and_strangers_do_not(
    bound: WorkerEnv,
) -> None:
    ada, ben = await a_user(Role.PUBLISHER), await a_user(Role.READER)
    rae, cyd = await a_user(Role.REVIEWER), await a_user(Role.ADMIN)
    await add_owner("ada", "ada", actor="test")
    await add_member("ada", "ben", actor="test")

    async def may(user: User | None) -> bool:
        return await may_manage(Visitor(user=user, via="session"), SKILL)

    assert [await may(user) for user in (ada, rae, cyd)] == [True] * 3
    assert [await may(user) for user in (ben, None)] == [False] * 2
    with pytest.raises(NotAllowed, match="ada/notes/tidy"):
        await check_may_manage(Visitor(user=ben, via="session"), SKILL)


async def test_only_reviewers_manage_skills_without_an_owner(bound: WorkerEnv) -> None:
    ada, rae = await a_user(Role.PUBLISHER), await a_user(Role.REVIEWER)

    for skill in (SKILL, LOCAL):
        assert not await may_manage(Visitor(user=ada, via="session"), skill)
        assert await may_manage(Visitor(user=rae, via="session"), skill)
    assert await may_manage(Visitor(user=ada, via="session"), UPLOAD)


async def test_a_token_manages_only_with_a_scope_for_it(bound: WorkerEnv) -> None:
    ada, rae = await a_user(Role.PUBLISHER), await a_user(Role.REVIEWER)

    def token(user: User, scope: Scope) -> Visitor:
        return Visitor(user=user, via="token", scopes=frozenset({scope}))

    assert await may_manage(token(ada, Scope.MANAGE), UPLOAD)
    assert not await may_manage(token(ada, Scope.SUBMIT), UPLOAD)
    assert not await may_manage(token(ada, Scope.READ), UPLOAD)
    assert await may_manage(token(rae, Scope.REVIEW), UPLOAD)
    assert not await may_manage(token(rae, Scope.OPERATE), UPLOAD)


async def test_an_owner_who_may_not_submit_manages_nothing(bound: WorkerEnv) -> None:
    ben = await a_user(Role.READER)
    own = a_published_skill("@ben/tidy", publisher="@ben")
    settings = msgspec.structs.replace(bound.settings, submit_by="publishers")

    async def may() -> bool:
        return await may_manage(Visitor(user=ben, via="session"), own)

    assert await may()
    assert not await run_with_worker_env(replace(bound, settings=settings), may)
