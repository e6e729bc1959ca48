"""Trusted publishing: only a job of a trusted repository gets a short-lived token."""

import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.oidc_provider import OTHER_KEY, OidcProvider, oidc_provider
from tests.people import a_user
from vskill_platform.access.namespaces import add_owner, may_act_in, remove_owner
from vskill_platform.access.tokens import NewToken, find_open_token
from vskill_platform.access.trusted_publishing import (
    LIFETIME,
    JobFilter,
    add_trusted_publisher,
    exchange_ci_token,
    remove_trusted_publisher,
)
from vskill_platform.access.users import disable_user
from vskill_platform.errors import InvalidInput, NotSignedIn
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.user import Role, Scope, User
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.db import bound_env, get_now, get_settings
from vskill_platform.stores.trusted_publisher_store import (
    TrustedPublisher,
    list_trusted_publishers,
)

HOST = "https://skills.example"
SPACE = "@ada"


@pytest.fixture
async def ci(bound: WorkerEnv, clock: ManualClock) -> AsyncIterator[OidcProvider]:
    """A CI system that signs tokens for its jobs, and has nothing to sign in with."""
    async with oidc_provider(clock.now) as opened:
        opened.metadata = {"authorization_endpoint": "", "token_endpoint": ""}
        settings = msgspec.structs.replace(
            bound.settings,
            public_url=HOST,
            github_actions_issuers=opened.url,
        )
        token = worker_env_storage.set(replace(bound, settings=settings, providers={}))
        yield opened
        worker_env_storage.reset(token)


@pytest.fixture
async def ada(ci: OidcProvider) -> User:
    return await a_user(Role.PUBLISHER)


async def trust(ci: OidcProvider, ada: User, **only: str) -> TrustedPublisher:
    jobs = JobFilter(issuer=ci.url, repository="Acme/Skills", **only)
    return await add_trusted_publisher(SPACE, jobs, user=ada)


def a_job(ci: OidcProvider, **claims: Any) -> str:
    """Return the token of a job, as GitHub signs it."""
    now = int(get_now().timestamp())
    honest = {
        "iss": ci.url,
        "aud": HOST,
        "iat": now,
        "exp": now + 300,
        "jti": secrets.token_hex(8),
        "sub": "repo:Acme/Skills:environment:release",
        "repository": "Acme/Skills",
        "repository_id": "4711",
        "workflow_ref": "Acme/Skills/.github/workflows/publish.yml@refs/heads/main",
        "environment": "release",
        "ref": "refs/heads/main",
        "run_id": "99",
    }
    told = {**honest, **claims}
    return ci.sign({name: value for name, value in told.items() if value is not None})


async def visitor_with(made: NewToken) -> Visitor:
    opened = await find_open_token(made.text)
    assert opened
    return Visitor(
        user=opened.user,
        via="token",
        scopes=frozenset(opened.record.scopes),
        only_in=opened.record.namespace,
    )


async def test_a_trusted_job_gets_a_short_token_for_one_namespace(
    ci: OidcProvider, ada: User
) -> None:
    await trust(ci, ada, workflow="publish.yml", environment="release")

    made = await exchange_ci_token(a_job(ci), namespace=SPACE)

    record = made.record
    assert (record.user, record.namespace, record.label) == (
        "ada",
        SPACE,
        "CI of acme/skills run 99",
    )
    assert record.expires_at == get_now() + LIFETIME
    assert set(record.scopes) == {Scope.READ, Scope.SUBMIT}


async def test_the_token_works_in_its_namespace_and_nowhere_else(
    ci: OidcProvider, ada: User
) -> None:
    await trust(ci, ada)

    visitor = await visitor_with(await exchange_ci_token(a_job(ci), namespace=SPACE))

    assert visitor.may(Right.SUBMIT, get_settings())
    assert await may_act_in(visitor, SPACE)
    for other in ("@local", "acme", "@ben"):
        assert not await may_act_in(visitor, other)
    assert not visitor.may(Right.ACCOUNT, get_settings())
    assert not visitor.can_see_all


async def test_a_reviewer_trusts_no_more_than_the_namespace(ci: OidcProvider, ada: User) -> None:
    rae = await a_user(Role.REVIEWER, "rae")
    jobs = JobFilter(issuer=ci.url, repository="acme/skills")
    await add_trusted_publisher("@rae", jobs, user=rae)

    visitor = await visitor_with(await exchange_ci_token(a_job(ci), namespace="@rae"))

    assert not visitor.can_see_all
    assert not await may_act_in(visitor, SPACE)


async def test_a_token_of_a_job_is_exchanged_once(ci: OidcProvider, ada: User) -> None:
    await trust(ci, ada)
    text = a_job(ci)
    await exchange_ci_token(text, namespace=SPACE)

    with pytest.raises(NotSignedIn, match="used already"):
        await exchange_ci_token(text, namespace=SPACE)


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "https://other.example"},
        {"iss": "https://evil.example"},
        {"exp": 0},
        {"jti": None},
        {"repository": "acme/other"},
        {"repository": None},
        {"repository_id": None},
        {"workflow_ref": "acme/skills/.github/workflows/other.yml@refs/heads/main"},
        {"environment": "staging"},
        {"environment": None},
        {"ref": "refs/heads/feature"},
        {"repository": ["acme/skills"]},
    ],
    ids=str,
)
async def test_a_token_that_says_anything_else_is_refused(
    ci: OidcProvider, ada: User, claims: dict[str, Any]
) -> None:
    await trust(ci, ada, workflow="publish.yml", environment="release", ref="refs/heads/main")

    with pytest.raises(NotSignedIn):
        await exchange_ci_token(a_job(ci, **claims), namespace=SPACE)


async def test_a_token_with_another_signature_is_refused(ci: OidcProvider, ada: User) -> None:
    await trust(ci, ada)
    ci.key = OTHER_KEY  # which it does not publish

    with pytest.raises(NotSignedIn, match="unknown key"):
        await exchange_ci_token(a_job(ci), namespace=SPACE)


@pytest.mark.parametrize("text", ["", "x", "a.b.c", "é.é.é", "e30.e30.", "x" * 70_000])
async def test_what_is_no_token_is_refused(ci: OidcProvider, text: str) -> None:
    with pytest.raises(NotSignedIn):
        await exchange_ci_token(text, namespace=SPACE)


async def test_a_repository_that_was_created_again_is_another_one(
    ci: OidcProvider, ada: User
) -> None:
    await trust(ci, ada)
    await exchange_ci_token(a_job(ci), namespace=SPACE)

    with pytest.raises(NotSignedIn, match="created again"):
        await exchange_ci_token(a_job(ci, repository_id="4712"), namespace=SPACE)


async def test_the_right_ends_with_that_of_the_owner(ci: OidcProvider, ada: User) -> None:
    jobs = JobFilter(issuer=ci.url, repository="acme/skills")
    await add_trusted_publisher("@ada", jobs, user=ada)
    await a_user(Role.ADMIN, "cyd")
    await disable_user("ada", actor="cyd")

    with pytest.raises(NotSignedIn, match="disabled"):
        await exchange_ci_token(a_job(ci), namespace=SPACE)


async def test_a_removed_publisher_is_no_longer_trusted(ci: OidcProvider, ada: User) -> None:
    made = await trust(ci, ada)
    await remove_trusted_publisher(made.id, actor="ada")

    with pytest.raises(NotSignedIn, match="no trusted publisher of @ada matches"):
        await exchange_ci_token(a_job(ci), namespace=SPACE)

    assert await list_trusted_publishers(SPACE) == []
    audited = {record.action for record in (await list_audit()).records}
    assert {"trusted-publisher add", "trusted-publisher remove"} <= audited


async def test_the_same_publisher_is_added_once(ci: OidcProvider, ada: User) -> None:
    first, second = await trust(ci, ada), await trust(ci, ada)

    assert first == second
    assert await list_trusted_publishers(SPACE) == [first]


async def test_a_job_of_gitlab_is_recognised_by_its_own_claims(ci: OidcProvider, ada: User) -> None:
    env, issuer = bound_env(), ci.url
    settings = msgspec.structs.replace(env.settings, gitlab_issuers=issuer)
    worker_env_storage.set(replace(env, settings=settings))
    jobs = JobFilter(
        issuer=issuer, repository="group/sub/skills", workflow=".gitlab-ci.yml", ref="refs/tags/v1"
    )
    await add_trusted_publisher(SPACE, jobs, user=ada)
    claims = {
        "iss": issuer,
        "project_path": "Group/Sub/Skills",
        "project_id": 12,
        "ci_config_ref_uri": "gitlab.example/group/sub/skills//.gitlab-ci.yml@refs/tags/v1",
        "ref": "v1",
        "ref_type": "tag",
        "job_id": "7",
    }

    made = await exchange_ci_token(a_job(ci, **claims), namespace=SPACE)
    with pytest.raises(NotSignedIn):
        await exchange_ci_token(a_job(ci, **{**claims, "ref_type": "branch"}), namespace=SPACE)

    assert made.record.label == "CI of group/sub/skills job 7"


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "https://ci.example"},
        {"repository": "skills"},
        {"repository": "a/b/c"},
        {"repository": "../x/y"},
        {"workflow": "../publish.yml"},
        {"environment": "a\nb"},
        {"ref": "main"},
    ],
    ids=str,
)
async def test_conditions_that_no_job_can_meet_are_refused(
    ci: OidcProvider, ada: User, wrong: dict[str, str]
) -> None:
    jobs = JobFilter(**{"issuer": ci.url, "repository": "acme/skills", **wrong})

    with pytest.raises(InvalidInput):
        await add_trusted_publisher(SPACE, jobs, user=ada)


async def test_an_owner_who_left_the_namespace_is_trusted_no_longer(
    ci: OidcProvider, ada: User
) -> None:
    await a_user(Role.PUBLISHER, "ben")
    for name in ("ada", "ben"):
        await add_owner("acme", name, actor="test")
    jobs = JobFilter(issuer=ci.url, repository="acme/skills")
    await add_trusted_publisher("acme", jobs, user=ada)
    await remove_owner("acme", "ada", actor="test")

    with pytest.raises(NotSignedIn, match="may no longer publish"):
        await exchange_ci_token(a_job(ci), namespace="acme")


async def test_a_stranger_who_trusts_the_repository_gets_nothing_of_it(
    ci: OidcProvider, ada: User
) -> None:
    ben = await a_user(Role.PUBLISHER, "ben")
    await trust(ci, ada)
    jobs = JobFilter(issuer=ci.url, repository="acme/skills")
    await add_trusted_publisher("@ben", jobs, user=ben)

    made = await exchange_ci_token(a_job(ci), namespace=SPACE)

    assert (made.record.user, made.record.namespace) == ("ada", SPACE)


@pytest.mark.parametrize(
    "claims",
    [
        {"event_name": "pull_request", "ref": "refs/pull/7/merge"},
        {"event_name": "pull_request_target"},
        {"event_name": "pull_request_review", "ref": "refs/pull/7/merge"},
        {"ref": "refs/pull/7/merge"},
    ],
)
async def test_a_job_for_a_pull_request_gets_no_token(
    ci: OidcProvider, ada: User, claims: dict[str, str]
) -> None:
    await trust(ci, ada)

    with pytest.raises(NotSignedIn, match="pull request"):
        await exchange_ci_token(a_job(ci, **claims), namespace=SPACE)


@pytest.mark.parametrize(
    "claims",
    [
        {"pipeline_source": "merge_request_event"},
        {"pipeline_source": "external_pull_request_event"},
        {"pipeline_source": "push", "ref": "refs/merge-requests/7/head"},
    ],
)
async def test_a_pipeline_for_a_merge_request_gets_no_token(
    ci: OidcProvider, ada: User, claims: dict[str, str]
) -> None:
    settings = msgspec.structs.replace(
        bound_env().settings, github_actions_issuers="", gitlab_issuers=ci.url
    )
    token = worker_env_storage.set(replace(bound_env(), settings=settings))
    await trust(ci, ada)
    job = {
        "project_path": "Acme/Skills",
        "project_id": "4711",
        "ref_type": "branch",
        "ref": "main",
        "job_id": "3",
    }

    try:
        with pytest.raises(NotSignedIn, match="merge request"):
            await exchange_ci_token(a_job(ci, **{**job, **claims}), namespace=SPACE)
        made = await exchange_ci_token(a_job(ci, **job), namespace=SPACE)
    finally:
        worker_env_storage.reset(token)

    assert made.record.namespace == SPACE


async def test_a_workflow_of_another_repository_is_not_the_one_that_is_trusted(
    ci: OidcProvider, ada: User
) -> None:
    await trust(ci, ada, workflow="publish.yml")
    elsewhere = "Acme/Central/.github/workflows/publish.yml@refs/heads/main"
    similar = "Acme/Skills/.github/workflows/x/publish.yml@refs/heads/main"

    for workflow in (elsewhere, similar):
        with pytest.raises(NotSignedIn, match="no trusted publisher"):
            await exchange_ci_token(a_job(ci, workflow_ref=workflow), namespace=SPACE)
