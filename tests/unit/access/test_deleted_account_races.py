"""An account that is deleted while its data is written: nothing is left."""

from collections.abc import Awaitable, Callable

import msgspec
import pytest

from tests.casts import a_published_skill
from tests.people import a_user
from tests.probes import overtaken
from vskill_platform.access.delete_account import delete_account
from vskill_platform.access.mail_addresses import set_mail_address
from vskill_platform.access.namespaces import add_member, add_owner, transfer_namespace
from vskill_platform.access.one_time_links import invite_user
from vskill_platform.access.sessions import begin_session
from vskill_platform.access.tokens import add_token
from vskill_platform.engines.operations import ABSENT
from vskill_platform.intake.follow_repo import follow_repo, follow_whole_repo
from vskill_platform.model.user import Role, Scope, User
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.github_link_store import GithubLink, write_github_link
from vskill_platform.stores.passkey_store import Passkey, write_new_passkey
from vskill_platform.stores.records import list_all_keys
from vskill_platform.stores.skill_store import write_skill

REPO = "https://github.com/acme/notes"
SKILL = msgspec.structs.replace(a_published_skill("acme/notes/tidy"), repo_url=REPO)
#: What stays: the name, so that nobody gets it, and the audit log.
STAYS = {"deleted-user", "audit"}


async def link_github(ben: User) -> None:
    link = GithubLink(github_id=7, login="ben", user=ben.name, at=get_now())
    await commit(await write_github_link(link))


async def add_passkey(ben: User) -> None:
    passkey = Passkey(
        user=ben.name, name="x", credential_id="c1", public_key="k", sign_count=0,
        created_at=get_now(),
    )  # fmt: skip
    await commit(write_new_passkey(passkey))


WRITES: dict[str, Callable[[User], Awaitable[object]]] = {
    "own": lambda ben: add_owner("acme", ben.name, actor="cyd"),
    "join": lambda ben: add_member("acme", ben.name, actor="cyd"),
    "receive": lambda ben: transfer_namespace("acme", ben.name, actor="cyd"),
    "set an address": lambda ben: set_mail_address(ben.name, "ben@example.org", actor="ben"),
    "get a token": lambda ben: add_token(ben.name, "CI", [Scope.READ], actor="ben"),
    "sign in": lambda ben: begin_session(ben, address="203.0.113.7", browser="Firefox/1"),
    "get a link": lambda ben: invite_user(ben.name, actor="cyd"),
    "follow a skill": lambda ben: follow_repo(SKILL, actor=ben.name),
    "follow a repo": lambda ben: follow_whole_repo(REPO, actor=ben.name),
    "link GitHub": link_github,
    "add a passkey": add_passkey,
}


@pytest.fixture
async def ben(bound: WorkerEnv) -> User:
    await a_user(Role.ADMIN, name="cyd")
    await add_owner("acme", "cyd", actor="test")
    assert await commit([write_skill(SKILL, expected=ABSENT)])
    return await a_user(Role.PUBLISHER, name="ben")


async def delete_ben() -> None:
    await delete_account("ben", actor="cyd", reason="asked by mail")


@pytest.mark.parametrize("what", WRITES)
async def test_what_is_written_during_the_deletion_goes_too(
    bound: WorkerEnv, ben: User, what: str
) -> None:
    refused = await overtaken(bound, delete_ben, lambda: WRITES[what](ben))

    assert refused == []
    assert await records_of(bound, ben) == []


@pytest.mark.parametrize("what", WRITES)
async def test_nothing_is_written_after_the_deletion(
    bound: WorkerEnv, ben: User, what: str
) -> None:
    await overtaken(bound, lambda: WRITES[what](ben), delete_ben)

    assert await records_of(bound, ben) == []


async def records_of(env: WorkerEnv, user: User) -> list[str]:
    """Return the keys of the records that still name a user."""
    found = []
    for key in await list_all_keys(""):
        entry = await env.engine.kv.get(key)
        named = f'"{user.name}"'.encode()
        is_left = user.name in key.split(":") or (entry is not None and named in entry.value)
        if is_left and key.partition(":")[0] not in STAYS:
            found.append(key)
    return found
