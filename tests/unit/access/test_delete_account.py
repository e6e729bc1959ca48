"""Deleting an account: personal data is deleted, skills stay, and nobody gets the name."""

import pytest

from tests.casts import a_published_skill
from tests.people import a_user
from tests.unit.events.happenings import submitted
from vskill_platform.access.delete_account import (
    delete_account,
    preview_account_deletion,
)
from vskill_platform.access.namespaces import add_member, add_owner
from vskill_platform.access.sessions import begin_session
from vskill_platform.access.tokens import add_token
from vskill_platform.access.trusted_publishing import JobFilter, add_trusted_publisher, issuers
from vskill_platform.access.users import add_user, find_user
from vskill_platform.engines.operations import ABSENT
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.events.manage_webhooks import EndpointChange, add_endpoint
from vskill_platform.model.rights import Visitor
from vskill_platform.model.source import git_source, upload_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.namespace_store import get_namespace, list_namespaces_of
from vskill_platform.stores.records import list_all_keys
from vskill_platform.stores.skill_store import get_skill, write_skill
from vskill_platform.stores.submission_store import get_submission


async def test_nothing_personal_stays_and_skills_do(bound: WorkerEnv) -> None:
    ada = await a_user(Role.PUBLISHER, name="ada")
    await a_user(Role.PUBLISHER, name="ben")
    await begin_session(ada, address="203.0.113.7", browser="Firefox/1")
    await add_token("ada", "CI", [Scope.READ], actor="ada")
    for namespace, owners in {"acme": ("ada",), "shared": ("ada", "ben")}.items():
        for owner in owners:
            await add_owner(namespace, owner, actor="test")
    await add_member("@ben", "ada", actor="test")
    by_ada = Visitor(user=ada, via="session")
    await add_endpoint(
        "https://hooks.example/x", namespace="acme", owner=by_ada, chosen=EndpointChange()
    )
    jobs = JobFilter(issuer=next(iter(issuers())), repository="acme/skills")
    await add_trusted_publisher("acme", jobs, user=ada)
    skill = a_published_skill("@ada/tidy")
    assert await bound.engine.commit([write_skill(skill, expected=ABSENT)])

    preview = await preview_account_deletion("ada")
    done = await delete_account("ada", actor="cyd", reason="asked by mail")

    assert preview == done
    assert (done.tokens, done.sessions) == (1, 1)
    assert (done.webhooks, done.trusted_publishers) == (1, 1)
    assert (done.ownerless, done.shared) == ({"@ada": 1, "acme": 0}, ("shared",))
    keys = await list_all_keys("")
    left = {key.partition(":")[0] for key in keys if "ada" in key.split(":")[1:2]}
    assert left == {"deleted-user"}
    assert [key for key in keys if key.startswith(("session", "token"))] == []
    assert await get_skill("@ada/tidy")
    assert (await get_namespace("shared")).record.owners == ("ben",)
    assert (await get_namespace("@ben")).record.members == ()
    assert await list_namespaces_of("ada") == ["@ada"]
    (record,) = [one for one in (await list_audit()).records if one.action == "user delete"]
    assert (record.actor, record.subject, record.reason) == ("cyd", "ada", "asked by mail")


async def test_nothing_is_published_in_its_namespace_afterwards(bound: WorkerEnv) -> None:
    await a_user(Role.PUBLISHER, name="ada")
    own = await submitted(source=upload_source("tidy", "ab" * 32, namespace="@ada"))
    other = await submitted(source=git_source("https://github.com/acme/notes"))

    await delete_account("ada", actor="cyd", reason="asked by mail")

    ended, kept = await get_submission(own.record.id), await get_submission(other.record.id)
    assert ended
    assert kept
    assert ended.record.state is SubmissionState.DEQUEUED
    assert ended.record.reason == "withdrawn: the account ada was deleted"
    assert kept.record.state is SubmissionState.RECEIVED


async def test_nobody_gets_the_name_again(bound: WorkerEnv) -> None:
    await a_user(Role.PUBLISHER, name="ada")
    await delete_account("ada", actor="cyd", reason="")

    with pytest.raises(InvalidInput, match="was deleted, so nobody can use this name"):
        await add_user("ada", Role.READER, actor="cyd")
    with pytest.raises(NotFound):
        await delete_account("ada", actor="cyd", reason="")


async def test_the_last_admin_stays(bound: WorkerEnv) -> None:
    await a_user(Role.ADMIN, name="cyd")

    with pytest.raises(NotAllowed, match="the last admin"):
        await delete_account("cyd", actor="cyd", reason="")

    assert (await find_user("cyd")).role is Role.ADMIN
