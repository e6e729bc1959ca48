"""Namespaces: their owners and members, and the rights of everyone else."""

import pytest

from tests.casts import a_published_skill
from tests.people import a_user
from vskill_platform.access.delete_account import delete_account
from vskill_platform.access.namespaces import (
    add_member,
    add_owner,
    check_may_act_in,
    may_act_in,
    remove_member,
    remove_owner,
)
from vskill_platform.engines.operations import ABSENT
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.rights import Visitor
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.namespace_store import (
    get_namespace,
    list_namespaces,
    list_namespaces_of,
)
from vskill_platform.stores.skill_store import write_skill

pytestmark = pytest.mark.usefixtures("bound")


async def visiting(name: str, role: Role = Role.PUBLISHER) -> Visitor:
    return Visitor(user=await a_user(role, name=name), via="session")


async def test_a_namespace_without_owners_is_everybodys() -> None:
    ada = await visiting("ada")

    assert await may_act_in(ada, "git.example/team")
    assert await may_act_in(Visitor(), "git.example/team")
    assert await may_act_in(Visitor(), "@local")


async def test_from_its_first_owner_on_it_is_nobody_elses() -> None:
    ada, ben = await visiting("ada"), await visiting("ben")
    rae = await visiting("rae", Role.REVIEWER)

    await add_owner("Git.Example/Team", "ada", actor="cyd")

    assert await may_act_in(ada, "git.example/team")
    assert await may_act_in(rae, "git.example/team")
    for other in (ben, Visitor()):
        with pytest.raises(NotAllowed, match=r"git\.example/team"):
            await check_may_act_in(other, "git.example/team")


async def test_a_reviewers_token_that_only_submits_has_no_say_in_what_is_others() -> None:
    rae = await a_user(Role.REVIEWER)
    await a_user(name="ada")
    await add_owner("team", "ada", actor="cyd")

    small = Visitor(user=rae, via="token", scopes=frozenset({Scope.SUBMIT}))
    great = Visitor(user=rae, via="token", scopes=frozenset({Scope.REVIEW}))

    assert not await may_act_in(small, "team")
    assert await may_act_in(great, "team")


async def test_an_upload_under_a_user_name_belongs_to_that_user() -> None:
    ada, ben = await visiting("ada"), await visiting("ben")

    assert await may_act_in(ada, "@ada")
    assert not await may_act_in(ben, "@ada")
    assert not await may_act_in(Visitor(), "@ada")
    assert not await may_act_in(ben, "@not-there-yet")


async def test_a_namespace_may_have_more_owners_and_is_found_from_each() -> None:
    ada, ben = await visiting("ada"), await visiting("ben")
    await add_owner("@ada", "ben", actor="cyd")
    await add_owner("team", "ben", actor="cyd")

    assert await may_act_in(ada, "@ada")
    assert await may_act_in(ben, "@ada")
    assert await list_namespaces_of("ben") == ["@ben", "@ada", "team"]
    assert [item.name for item in await list_namespaces()] == ["@ada", "team"]


async def test_a_removed_member_cannot_act_in_the_namespace() -> None:
    ada, ben = await visiting("ada"), await visiting("ben")
    await add_owner("team", "ada", actor="cyd")
    await add_owner("team", "ben", actor="cyd")

    await remove_owner("team", "ben", actor="cyd")

    assert await may_act_in(ada, "team")
    assert not await may_act_in(ben, "team")
    assert await list_namespaces_of("ben") == ["@ben"]
    with pytest.raises(NotFound):
        await remove_owner("team", "ben", actor="cyd")


async def test_a_member_sees_and_changes_nothing() -> None:
    ben = await visiting("ben")
    await a_user(name="ada")
    await add_owner("team", "ada", actor="cyd")

    await add_member("team", "ben", actor="ada")

    namespace = (await get_namespace("team")).record
    assert ben.can_see_namespace(namespace)
    assert not await may_act_in(ben, "team")
    await remove_member("team", "ben", actor="ada")
    assert not ben.can_see_namespace((await get_namespace("team")).record)


async def test_a_namespace_is_named_as_in_slugs() -> None:
    await a_user(name="ada")

    await add_owner("github.com/Ada-Lovelace", "ada", actor="cyd")

    assert [item.name for item in await list_namespaces()] == ["ada-lovelace"]
    for odd in ("", "a/b/c", "@", "@a/b", "a b", "https://git.example/x", "x" * 300):
        with pytest.raises(InvalidInput):
            await add_owner(odd, "ada", actor="cyd")


async def test_an_unknown_user_cannot_own_a_namespace() -> None:
    with pytest.raises(NotFound):
        await add_owner("team", "ada", actor="cyd")
    with pytest.raises(NotFound):
        await add_member("team", "ada", actor="cyd")


async def test_every_act_is_in_the_audit() -> None:
    await a_user(name="ada")
    await add_owner("team", "ada", actor="cyd")
    await add_owner("team", "ada", actor="cyd")
    await add_member("team", "ada", actor="cyd")
    await remove_member("team", "ada", actor="cyd")
    await remove_owner("team", "ada", actor="cyd")

    records = [item for item in (await list_audit()).records if item.actor == "cyd"]

    assert sorted((item.action, item.subject) for item in records) == [
        ("namespace add-member", "team ada"),
        ("namespace add-owner", "team ada"),
        ("namespace remove-member", "team ada"),
        ("namespace remove-owner", "team ada"),
    ]


@pytest.mark.parametrize("is_private", [True, False])
async def test_a_namespace_with_private_skills_is_not_opened_by_its_last_owner_who_leaves(
    bound: WorkerEnv, *, is_private: bool
) -> None:
    await a_user(Role.PUBLISHER, name="ada")
    ben = await visiting("ben", Role.READER)
    skill = a_published_skill("acme/notes/tidy", publisher="github.com/acme", is_private=is_private)
    assert await bound.engine.commit([write_skill(skill, expected=ABSENT)])
    await add_owner("acme", "ada", actor="test")

    await remove_owner("acme", "ada", actor="test")
    may_act = await may_act_in(ben, "acme")
    await add_owner("acme", "ada", actor="test")
    await delete_account("ada", actor="test", reason="left")
    may_act_later = await may_act_in(ben, "acme")

    assert (may_act, may_act_later) == (not is_private, not is_private)
