"""Sign-in with GitHub: no name at GitHub opens an account here that was not linked to it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.casts import a_published_skill
from tests.local_server import local_server
from tests.people import a_user
from vskill_platform.access.github_sign_in import (
    MAX_TOKENS,
    exchange_github_token,
    link_github_account,
    unlink_github_account,
)
from vskill_platform.access.namespaces import add_owner
from vskill_platform.access.tokens import NewToken, find_open_token
from vskill_platform.access.users import disable_user, find_user
from vskill_platform.engines.operations import ABSENT
from vskill_platform.errors import (
    ConfigError,
    GithubUnavailable,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSignedIn,
)
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.secret_settings import Secret
from vskill_platform.settings import Settings, load_settings
from vskill_platform.stores.db import commit
from vskill_platform.stores.skill_store import write_skill
from vskill_platform.stores.token_store import list_tokens
from vskill_platform.stores.user_store import get_user

CLIENT, SECRET = "Iv1.0123", "hush"
#: Token, and whose it is: id and name at GitHub.
OWNERS = {"gho_ada": (7, "ada"), "gho_renamed": (7, "ada-l"), "gho_other": (8, "Ada"),
          "gho_odd": (9, "a_b")}  # fmt: skip


class Github:
    """What GitHub answers about tokens; only those of our application pass its check."""

    def __init__(self) -> None:
        self.url = ""
        self.of_other_apps: dict[str, tuple[int, str]] = {"gho_stolen": (7, "ada")}
        self.status = 200
        self.heard: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).decode()
        headers = {}
        while text := (await reader.readline()).decode().strip():
            name, _, value = text.partition(":")
            headers[name.lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.heard.append(line.split()[1])
        status, answer = self.answer(line, headers, body)
        content = msgspec.json.encode(answer)
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + content)
        await writer.drain()

    def answer(self, line: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        if self.status != 200:
            return self.status, {}
        if line.startswith("POST"):
            assert line.split()[1] == f"/applications/{CLIENT}/token"
            assert headers["authorization"] == "Basic SXYxLjAxMjM6aHVzaA=="
            owner = OWNERS.get(msgspec.json.decode(body)["access_token"])
            return (200, {"user": {"id": owner[0], "login": owner[1]}}) if owner else (404, {})
        token = headers["authorization"].removeprefix("Bearer ")
        owner = {**OWNERS, **self.of_other_apps}.get(token)
        return (200, {"id": owner[0], "login": owner[1]}) if owner else (401, {})


@pytest.fixture
async def github() -> AsyncIterator[Github]:
    found = Github()
    async with local_server(found.serve) as url:
        found.url = url
        yield found


def settings_of(env: WorkerEnv, github: Github, mode: str) -> Settings:
    return msgspec.structs.replace(
        env.settings,
        github_sign_in=mode,
        github_api_url=github.url,
        github_client_id=CLIENT,
        github_client_secret=Secret(SECRET),
    )


async def exchanged(env: WorkerEnv, github: Github, token: str, mode: str = "linked") -> NewToken:
    there = replace(env, settings=settings_of(env, github, mode))
    return await run_with_worker_env(there, lambda: exchange_github_token(token))


async def linked(env: WorkerEnv, github: Github, name: str, token: str) -> None:
    there = replace(env, settings=settings_of(env, github, "linked"))
    user = await find_user(name)
    await run_with_worker_env(there, lambda: link_github_account(user, token))


async def test_a_linked_account_gets_a_token_with_few_scopes(
    bound: WorkerEnv, github: Github
) -> None:
    await a_user(Role.ADMIN, name="ada")
    await linked(bound, github, "ada", "gho_ada")

    made = await exchanged(bound, github, "gho_ada")
    renamed = await exchanged(bound, github, "gho_renamed")

    opened = await find_open_token(made.text)
    assert opened
    assert (opened.user.name, opened.record.scopes) == ("ada", (Scope.READ, Scope.SUBMIT))
    assert renamed.record.user == "ada"  # the id counts, not the name


@pytest.mark.parametrize("mode", ["linked", "anyone"])
async def test_an_account_of_the_same_name_is_never_taken_over(
    bound: WorkerEnv, github: Github, mode: str
) -> None:
    await a_user(Role.ADMIN, name="ada")

    for token in ("gho_ada", "gho_other"):
        with pytest.raises(NotAllowed, match="link it"):
            await exchanged(bound, github, token, mode)

    assert await list_tokens("ada") == []


async def test_a_free_name_gets_an_account_of_its_own_once(
    bound: WorkerEnv, github: Github
) -> None:
    first = await exchanged(bound, github, "gho_ada", "anyone")
    again = await exchanged(bound, github, "gho_renamed", "anyone")
    with pytest.raises(NotAllowed, match="another account ada"):
        await exchanged(bound, github, "gho_other", "anyone")
    with pytest.raises(NotAllowed, match="cannot be a user name"):
        await exchanged(bound, github, "gho_odd", "anyone")

    assert (first.record.user, again.record.user) == ("ada", "ada")
    assert (await find_user("ada")).role is Role.READER


async def test_a_namespace_that_others_own_is_never_taken_over(
    bound: WorkerEnv, github: Github
) -> None:
    await a_user(Role.PUBLISHER, name="bob")
    await add_owner("@ada", "bob", actor="test")

    with pytest.raises(NotAllowed, match="the namespace @ada is used by others"):
        await exchanged(bound, github, "gho_ada", "anyone")

    assert await get_user("ada") is None


async def test_a_namespace_with_skills_is_never_taken_over(
    bound: WorkerEnv, github: Github
) -> None:
    skill = a_published_skill("@ada/notes")
    await commit([write_skill(skill, expected=ABSENT)])

    with pytest.raises(NotAllowed, match="the namespace @ada is used by others"):
        await exchanged(bound, github, "gho_ada", "anyone")

    assert await get_user("ada") is None


async def test_a_token_of_another_application_proves_nothing(
    bound: WorkerEnv, github: Github
) -> None:
    await a_user(Role.PUBLISHER, name="ada")
    await linked(bound, github, "ada", "gho_ada")

    with pytest.raises(NotSignedIn, match="another application"):
        await exchanged(bound, github, "gho_stolen")


async def test_a_github_account_is_linked_to_one_user(bound: WorkerEnv, github: Github) -> None:
    await a_user(Role.PUBLISHER, name="ada")
    await a_user(Role.PUBLISHER, name="ben")
    await linked(bound, github, "ada", "gho_ada")

    with pytest.raises(NotAllowed, match="another account"):
        await linked(bound, github, "ben", "gho_ada")
    await linked(bound, github, "ada", "gho_other")  # instead of the one before
    with pytest.raises(NotAllowed):
        await exchanged(bound, github, "gho_ada")
    await unlink_github_account(await find_user("ada"))
    with pytest.raises(NotAllowed):
        await exchanged(bound, github, "gho_other")
    with pytest.raises(NotFound):
        await unlink_github_account(await find_user("ada"))


async def test_a_disabled_user_gets_no_token(bound: WorkerEnv, github: Github) -> None:
    await a_user(Role.PUBLISHER, name="ada")
    await linked(bound, github, "ada", "gho_ada")
    await disable_user("ada", actor="test")

    with pytest.raises(NotSignedIn, match="disabled"):
        await exchanged(bound, github, "gho_ada")


async def test_old_tokens_make_room_for_new_ones(bound: WorkerEnv, github: Github) -> None:
    await a_user(Role.PUBLISHER, name="ada")
    await linked(bound, github, "ada", "gho_ada")

    made = [await exchanged(bound, github, "gho_ada") for _ in range(MAX_TOKENS + 2)]

    assert len(await list_tokens("ada")) == MAX_TOKENS
    assert await find_open_token(made[-1].text)


@pytest.mark.parametrize("status", [302, 500])
async def test_an_invalid_answer_is_an_outage(
    bound: WorkerEnv, github: Github, status: int
) -> None:
    github.status = status

    with pytest.raises(GithubUnavailable):
        await exchanged(bound, github, "gho_ada")


@pytest.mark.parametrize("token", ["", "  ", "x" * 301, "gho_\nx", "gho_é"])
async def test_nothing_is_asked_about_text_that_is_no_token(
    bound: WorkerEnv, github: Github, token: str
) -> None:
    with pytest.raises(InvalidInput):
        await exchanged(bound, github, token)

    assert github.heard == []


async def test_it_is_off_by_default(bound: WorkerEnv) -> None:
    with pytest.raises(NotAllowed, match="no sign-in with GitHub"):
        await exchange_github_token("gho_ada")


def test_the_settings_name_the_application_whose_tokens_count() -> None:
    whole = {
        "VSKILL_GITHUB_SIGN_IN": "linked",
        "VSKILL_GITHUB_CLIENT_ID": CLIENT,
        "VSKILL_GITHUB_CLIENT_SECRET": SECRET,
    }

    assert load_settings(whole).github_sign_in == "linked"
    for name in ("VSKILL_GITHUB_CLIENT_ID", "VSKILL_GITHUB_CLIENT_SECRET"):
        with pytest.raises(ConfigError, match="VSKILL_GITHUB_CLIENT_ID"):
            load_settings({key: value for key, value in whole.items() if key != name})
    for url in ("http://github.example/api", "https://user@github.example", "nonsense"):
        with pytest.raises(ConfigError, match="VSKILL_GITHUB_API_URL"):
            load_settings({**whole, "VSKILL_GITHUB_API_URL": url})
