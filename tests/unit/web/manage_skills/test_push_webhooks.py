"""Push webhooks: signed ones make a followed repository due, all others change nothing."""

import hashlib
import hmac
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.git_server import GitServer
from tests.unit.web.api_cast import Registry, open_registry
from tests.unit.web.pages_cast import put_skill
from vskill_platform.cron.schedule import FOLLOW_REPOS
from vskill_platform.errors import ConfigError
from vskill_platform.intake.take_push import MAX_PUSH_BYTES
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.secret_settings import Secret
from vskill_platform.settings import load_settings
from vskill_platform.stores.cron_store import CronRun, get_cron_run, put_cron_run
from vskill_platform.stores.db import bound_env, commit, get_now
from vskill_platform.stores.followed_repo_store import (
    FollowedRepo,
    get_followed_repo,
    list_due_followed_repos,
    write_followed_repo,
)

pytestmark = pytest.mark.usefixtures("one_loop")
SECRET = "a secret of the webhook"
REPO = "https://github.com/ada/notes"
SLUG = "ada/notes/tidy"
GITHUB = msgspec.json.encode(
    {
        "ref": "refs/heads/main",
        "after": "f" * 40,
        "repository": {"clone_url": "https://github.com/Ada/Notes.git", "html_url": REPO},
    }
)
#: A webhook about a tag, as GitHub and Gitea send it.
TAG = msgspec.json.encode(
    {"ref": "refs/tags/v1.2.0", "after": "f" * 40, "repository": {"html_url": REPO}}
)
CREATED_TAG = msgspec.json.encode(
    {"ref": "v1.2.0", "ref_type": "tag", "repository": {"clone_url": f"{REPO}.git"}}
)
GITLAB_TAG = msgspec.json.encode(
    {
        "object_kind": "tag_push",
        "ref": "refs/tags/v1.2.0",
        "project": {"git_http_url": f"{REPO}.git", "web_url": REPO},
    }
)
GITLAB = msgspec.json.encode(
    {"object_kind": "push", "project": {"git_http_url": f"{REPO}.git", "web_url": REPO}}
)


@pytest.fixture
async def registry(git_server: GitServer, tmp_path: Path) -> AsyncIterator[Registry]:
    """A registry with a followed skill that was checked just now."""
    env = bound_env()
    settings = msgspec.structs.replace(env.settings, push_secret=Secret(SECRET))
    token = worker_env_storage.set(replace(env, settings=settings))
    async with open_registry(bound_env()) as opened:
        await put_skill(opened.env, tmp_path)
        await follow()
        yield opened
    worker_env_storage.reset(token)


async def follow(*, is_stopped: bool = False) -> None:
    now = get_now()
    followed = FollowedRepo(
        slug=SLUG,
        repo_url=REPO,
        by="ada",
        at=now,
        commit_sha="0" * 40,
        stopped_at=now if is_stopped else None,
    )
    later = now + bound_env().settings.follow_every
    assert await commit([write_followed_repo(followed, due=later)])


def digest(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


async def due() -> list[str]:
    return await list_due_followed_repos(get_now(), limit=10)


async def send(registry: Registry, kind: str, body: bytes, **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await registry.post(f"/api/v1/hooks/push/{kind}", content=body, headers=named)
    return answer.status_code


@pytest.mark.parametrize(
    ("kind", "body", "headers"),
    [
        ("github", GITHUB, {"X_Hub_Signature_256": f"sha256={digest(GITHUB)}"}),
        ("gitlab", GITLAB, {"X_Gitlab_Token": SECRET}),
        ("gitea", GITHUB, {"X_Gitea_Signature": digest(GITHUB)}),
        ("github", TAG, {"X_Hub_Signature_256": f"sha256={digest(TAG)}"}),
        ("github", CREATED_TAG, {"X_Hub_Signature_256": f"sha256={digest(CREATED_TAG)}"}),
        ("gitlab", GITLAB_TAG, {"X_Gitlab_Token": SECRET}),
        ("gitea", TAG, {"X_Gitea_Signature": digest(TAG)}),
    ],
)
async def test_a_signed_push_makes_the_followed_skills_due_and_trusts_no_commit(
    registry: Registry, kind: str, body: bytes, headers: dict[str, str]
) -> None:
    before = await due()

    status = await send(registry, kind, body, **headers)

    assert (status, before, await due()) == (202, [], [SLUG])
    stored = await get_followed_repo(SLUG)
    assert stored
    assert stored.record.commit_sha == "0" * 40


async def test_github_may_send_a_form(registry: Registry) -> None:
    body = urlencode({"payload": GITHUB.decode()}).encode()

    status = await send(
        registry,
        "github",
        body,
        X_Hub_Signature_256=f"sha256={digest(body)}",
        Content_Type="application/x-www-form-urlencoded",
    )

    assert (status, await due()) == (202, [SLUG])


#: None of them is signed with the secret, as this host does.
UNSIGNED: list[tuple[str, dict[str, str]]] = [
    ("github", {}),
    ("github", {"X_Hub_Signature_256": digest(GITHUB)}),
    ("github", {"X_Hub_Signature_256": f"sha256={digest(GITHUB, 'another')}"}),
    ("github", {"X_Hub_Signature_256": f"sha256={digest(GITHUB, '')}"}),
    ("github", {"X_Gitlab_Token": SECRET}),
    ("gitlab", {}),
    ("gitlab", {"X_Gitlab_Token": ""}),
    ("gitlab", {"X_Gitlab_Token": SECRET[:-1]}),
    ("gitea", {"X_Gitea_Signature": ""}),
    ("gitea", {"X_Gitea_Signature": digest(GITHUB[:-1])}),
]


async def test_a_push_without_a_valid_signature_is_refused(registry: Registry) -> None:
    found = [await send(registry, kind, GITHUB, **headers) for kind, headers in UNSIGNED]

    assert (found, await due()) == ([403] * len(UNSIGNED), [])


async def test_an_unknown_repo_gets_the_same_answer(registry: Registry) -> None:
    bodies = [
        msgspec.json.encode({"repository": {"clone_url": url}})
        for url in ("https://github.com/ada/other", "git@github.com:ada/notes", "file:///etc", "")
    ]

    found = [
        await send(registry, "gitea", body, X_Gitea_Signature=digest(body))
        for body in [*bodies, b"{}"]
    ]

    assert (found, await due()) == ([202] * 5, [])


async def test_a_signed_body_that_is_no_push_is_an_invalid_request(registry: Registry) -> None:
    bodies = [b"", b"[]", b"\xff", b"payload=", b'{"repository": 1}', b"[" * 100_000]

    found = [await send(registry, "gitea", body, X_Gitea_Signature=digest(body)) for body in bodies]

    assert found == [400] * len(bodies)


async def test_large_bodies_and_unknown_kinds_are_refused(registry: Registry) -> None:
    large = b" " * (MAX_PUSH_BYTES + 1)

    assert await send(registry, "gitea", large, X_Gitea_Signature=digest(large)) == 413
    assert await send(registry, "other", GITHUB, X_Gitea_Signature=digest(GITHUB)) == 404


async def test_a_push_starts_no_following_that_was_stopped(registry: Registry) -> None:
    await follow(is_stopped=True)

    status = await send(registry, "gitlab", GITLAB, X_Gitlab_Token=SECRET)

    assert (status, await due()) == (202, [])


async def test_a_push_makes_the_job_run_before_its_next_interval(
    registry: Registry, clock: ManualClock
) -> None:
    now = get_now()
    await put_cron_run(CronRun(job=FOLLOW_REPOS.name, node="a", started_at=now, ended_at=now))

    await send(registry, "gitlab", GITLAB, X_Gitlab_Token=SECRET)

    run = await get_cron_run(FOLLOW_REPOS.name)
    assert run
    assert run.record.asked_at == now


async def test_without_a_secret_there_are_no_webhooks(git_server: GitServer) -> None:
    async with open_registry(bound_env()) as registry:
        signature = f"sha256={digest(GITHUB, '')}"

        assert await send(registry, "github", GITHUB, X_Hub_Signature_256=signature) == 404
        assert await send(registry, "gitlab", GITLAB, X_Gitlab_Token="") == 404


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ConfigError, match="VSKILL_PUSH_SECRET must have 16 characters or more"):
        load_settings({"VSKILL_PUSH_SECRET": "short"})
