"""Private skills do not exist for visitors without access."""

from typing import Any

import msgspec
import pytest

from tests.casts import a_published_skill, a_submission
from tests.people import a_user
from vskill_platform.access.namespaces import add_member, add_owner
from vskill_platform.access.visibility import (
    find_visible_skill,
    find_visible_submission,
    list_visible_namespaces,
)
from vskill_platform.errors import NotFound
from vskill_platform.model.rights import Visitor
from vskill_platform.model.source import git_source
from vskill_platform.model.user import Role, Scope
from vskill_platform.stores.db import commit, get_kv
from vskill_platform.stores.skill_store import write_skill
from vskill_platform.stores.submission_store import write_submission

pytestmark = pytest.mark.usefixtures("bound")

SLUG = "git.example/team/notes/tidy-notes"


async def the_skill(*, is_private: bool = True) -> None:
    skill = a_published_skill(SLUG, publisher="git.example/team", is_private=is_private)
    submission = msgspec.structs.replace(
        a_submission(submission_id="sub_1"),
        source=git_source("https://git.example/team/notes"),
        is_private=is_private,
    )
    await commit([write_skill(skill, expected=0), *write_submission(submission, [], expected=0)])


async def sees(visitor: Visitor) -> bool:
    """Look for the skill and for its submission; both are seen or none."""
    seen = []
    for look in (
        lambda: find_visible_skill(visitor, SLUG),
        lambda: find_visible_submission(visitor, "sub_1"),
    ):
        try:
            await look()
        except NotFound:
            seen.append(False)
        else:
            seen.append(True)
    assert len(set(seen)) == 1
    return seen[0]


async def test_everybody_sees_what_is_public() -> None:
    await the_skill(is_private=False)

    assert await sees(Visitor())


async def test_only_those_of_its_namespace_and_reviewers_see_what_is_private() -> None:
    await the_skill()
    users = {role: await a_user(role) for role in Role}
    dan = await a_user(name="dan")
    await add_owner("git.example/team", "ada", actor="cyd")
    await add_member("git.example/team", "dan", actor="cyd")

    seen = {role: await sees(Visitor(user=user, via="session")) for role, user in users.items()}

    assert seen == {
        Role.READER: False,
        Role.PUBLISHER: True,  # who is its owner
        Role.REVIEWER: True,
        Role.ADMIN: True,
    }
    assert await sees(Visitor(user=dan, via="session"))
    assert not await sees(Visitor())


async def test_a_token_sees_what_is_private_only_if_it_is_for_reading() -> None:
    await the_skill()
    ada, rae = await a_user(name="ada"), await a_user(Role.REVIEWER)
    await add_owner("git.example/team", "ada", actor="cyd")

    seen = {
        (user.name, scope)
        for user in (ada, rae)
        for scope in Scope
        if await sees(Visitor(user=user, via="token", scopes=frozenset({scope})))
    }

    assert seen == {
        (name, scope)
        for name in ("ada", "rae")
        for scope in (Scope.READ, Scope.REVIEW, Scope.ADMIN)
    }


async def test_a_hidden_skill_is_answered_like_a_missing_one() -> None:
    await the_skill()
    answers = []

    for slug, submission in ((SLUG, "sub_1"), ("git.example/team/notes/none", "sub_2")):
        for look in (
            lambda slug=slug: find_visible_skill(Visitor(), slug),
            lambda submission=submission: find_visible_submission(Visitor(), submission),
        ):
            with pytest.raises(NotFound) as missing:
                await look()
            answers.append(str(missing.value).replace(slug, "X").replace(submission, "X"))

    assert answers[:2] == answers[2:]


async def test_a_hidden_skill_takes_as_many_reads_as_a_missing_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So the time of an answer does not tell which private skills exist."""
    await the_skill()
    store = type(get_kv())
    read, keys = store.get, list[str]()

    async def noted(kv: Any, key: str) -> Any:
        keys.append(key.partition(":")[0])
        return await read(kv, key)

    monkeypatch.setattr(store, "get", noted)

    for slug in (SLUG, "git.example/team/notes/none"):
        with pytest.raises(NotFound):
            await find_visible_skill(Visitor(), slug)

    half = len(keys) // 2
    assert half
    assert keys[:half] == keys[half:]


async def test_lists_show_the_private_skills_of_the_given_namespaces() -> None:
    ada = await a_user(name="ada")
    await add_owner("team", "ada", actor="cyd")

    by_session = await list_visible_namespaces(Visitor(user=ada, via="session"))
    to_submit = Visitor(user=ada, via="token", scopes=frozenset({Scope.SUBMIT}))

    assert by_session == {"@ada", "team"}
    assert await list_visible_namespaces(to_submit) == frozenset()
    assert await list_visible_namespaces(Visitor()) == frozenset()
