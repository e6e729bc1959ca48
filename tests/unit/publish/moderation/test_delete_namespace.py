"""Deleting a namespace: what is deleted, what stays reserved, and who can open it again."""

from pathlib import Path

import msgspec
import pytest

from tests.casts import add_installs
from tests.clocks import NOON, ManualClock
from tests.people import a_user, close_namespace
from tests.unit.events.happenings import moved, submitted
from tests.unit.publish.versions.test_move_skill import prepare
from tests.unit.web.pages_cast import change_skill, put_skill
from vskill_platform.access.namespaces import add_member, add_owner, check_may_act_in
from vskill_platform.access.tokens import TokenLimits, add_token
from vskill_platform.errors import InvalidInput, NamespaceDeleted, NotAllowed, NotFound
from vskill_platform.model.rights import Visitor
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role, Scope
from vskill_platform.publish.moderation.delete_namespace import (
    delete_namespace,
    preview_namespace_deletion,
)
from vskill_platform.publish.moderation.delete_skill import OWNER_DELETES_WITHIN
from vskill_platform.publish.moderation.review_skill import why_not_approve
from vskill_platform.publish.versions.move_skill import transfer_skill
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.db import commit
from vskill_platform.stores.deleted_skill_store import get_deleted_skill
from vskill_platform.stores.namespace_store import (
    get_namespace,
    list_namespaces_of,
)
from vskill_platform.stores.scan_store import get_report
from vskill_platform.stores.skill_store import get_skill, list_slugs_in
from vskill_platform.stores.submission_store import (
    get_submission,
    get_waiting_reviews,
    write_submission,
)
from vskill_platform.stores.token_store import list_tokens

TIDY, OTHER = "ada/notes/tidy", "ada/lists/sort"


@pytest.fixture
async def ada(bound: WorkerEnv, tmp_path: Path) -> Visitor:
    """Ada owns the namespace ada, which has two skills, a member, and its own token."""
    ada = await a_user(Role.PUBLISHER)
    await a_user(Role.READER)
    await add_owner("ada", "ada", actor="test")
    await add_member("ada", "ben", actor="ada")
    await put_skill(bound, tmp_path)
    await put_skill(bound, tmp_path, OTHER)
    await put_skill(bound, tmp_path, "adamant/notes/tidy")
    return Visitor(user=ada, via="session")


async def test_everything_in_it_goes_and_its_names_stay_taken(
    ada: Visitor, bound: WorkerEnv, tmp_path: Path
) -> None:
    limits = TokenLimits(namespace="ada")
    await add_token("ada", "ci", [Scope.SUBMIT], actor="ada", limits=limits)
    under_way = await prepare(
        tmp_path / "under-way", git_source("https://github.com/ada/notes", "new"), "new"
    )
    preview = await preview_namespace_deletion("ada")

    done = await delete_namespace("ada", actor="ada", reason="we moved")

    assert [one.slug for one in done.skills] == sorted([TIDY, OTHER])
    assert (preview, preview.tokens, preview.members) == (done, 1, ("ben",))
    assert await list_slugs_in("ada") == []
    assert await get_skill("adamant/notes/tidy")
    assert await list_tokens("ada") == []
    assert [await list_namespaces_of(name) for name in ("ada", "ben")] == [["@ada"], ["@ben"]]
    mark = await get_deleted_skill(TIDY)
    assert mark
    assert mark.record.reason == "we moved"
    assert await bound.engine.commit(under_way.operations) is None
    with pytest.raises(NotAllowed, match="ada was deleted; only an admin can open it again"):
        await check_may_act_in(ada, "ada")
    with pytest.raises(NamespaceDeleted, match="the namespace ada was deleted"):
        await prepare(tmp_path / "late", git_source("https://github.com/ada/new"), "new")
    with pytest.raises(NotFound):
        await preview_namespace_deletion("ada")
    (audit,) = [one for one in (await list_audit()).records if one.action == "namespace delete"]
    assert (audit.subject, audit.actor, audit.outcome) == ("ada", "ada", "2 skills deleted")


async def test_an_admin_opens_it_again_by_adding_an_owner(ada: Visitor) -> None:
    await delete_namespace("ada", actor="ada", reason="we moved")

    await add_owner("ada", "ada", actor="cyd")

    await check_may_act_in(ada, "ada")
    assert (await get_namespace("ada")).record.deleted is None


async def test_an_owner_deletes_nothing_if_others_rely_on_one_skill(
    ada: Visitor, clock: ManualClock
) -> None:
    await add_installs({OTHER: 3})
    clock.advance(seconds=OWNER_DELETES_WITHIN.total_seconds() + 1)

    with pytest.raises(NotAllowed, match="1 skill cannot be deleted by an owner"):
        await delete_namespace("ada", actor="ada", reason="we moved")

    assert len(await list_slugs_in("ada")) == 2
    await check_may_act_in(ada, "ada")
    await delete_namespace("ada", actor="cyd", reason="the law", is_admin=True)
    assert await list_slugs_in("ada") == []


async def test_skills_of_a_host_with_the_same_name_stay(
    ada: Visitor, bound: WorkerEnv, tmp_path: Path
) -> None:
    on_host = "ada/team/notes/tidy"  # of https://ada/team/notes
    await put_skill(bound, tmp_path, on_host)

    await delete_namespace("ada", actor="ada", reason="we moved")

    assert await get_skill(on_host)
    assert await list_slugs_in("ada/team") == [on_host]


async def test_the_audit_log_also_has_the_begin_of_a_deletion(ada: Visitor) -> None:
    await delete_namespace("ada", actor="ada", reason="we moved")

    (begun,) = [one for one in (await list_audit()).records if one.action == "namespace close"]
    assert (begun.subject, begun.actor, begun.reason) == ("ada", "ada", "we moved")


async def test_no_skill_leaves_a_namespace_that_is_being_deleted(
    ada: Visitor,
) -> None:
    await close_namespace("ada")

    with pytest.raises(NotAllowed, match="ada is being deleted"):
        await transfer_skill(TIDY, "@ben", actor="ben")

    assert await get_skill(TIDY)


@pytest.mark.parametrize("name", ["@ada", "@local", "@hub_acme", "not a name"])
async def test_namespaces_of_accounts_and_of_the_registry_are_not_deleted(
    ada: Visitor, name: str
) -> None:
    with pytest.raises(InvalidInput):
        await delete_namespace(name, actor="cyd", reason="so", is_admin=True)


async def test_an_owner_completes_a_deletion_although_a_skill_was_installed_meanwhile(
    ada: Visitor, clock: ManualClock
) -> None:
    await close_namespace("ada")
    await add_installs({OTHER: 1})
    clock.advance(seconds=OWNER_DELETES_WITHIN.total_seconds() + 1)

    done = await delete_namespace("ada", actor="ada", reason="we moved")

    assert (len(done.skills), done.refused) == (2, "")
    assert await list_slugs_in("ada") == []
    assert (await get_namespace("ada")).record.owners == ()


async def test_a_skill_that_was_taken_down_meanwhile_is_left_to_an_admin(
    ada: Visitor, bound: WorkerEnv, clock: ManualClock
) -> None:
    await close_namespace("ada")
    down = TakenDown(by="rae", reason="malware", at=clock.now())
    await change_skill(bound, TIDY, down=down)

    with pytest.raises(NotAllowed, match="was taken down, so only an admin can delete it"):
        await delete_namespace("ada", actor="ada", reason="we moved")

    await delete_namespace("ada", actor="cyd", reason="the law", is_admin=True)
    assert await list_slugs_in("ada") == []


@pytest.mark.parametrize("last", [SubmissionState.NEEDS_REVIEW, SubmissionState.TIER2_SCANNING])
async def test_submissions_without_a_decision_are_withdrawn_with_the_reason(
    ada: Visitor, last: SubmissionState
) -> None:
    needs_review = (SubmissionState.TIER1_SCANNING, SubmissionState.NEEDS_REVIEW)
    waiting = (await moved(await submitted(), SubmissionState.TIER1_SCANNING, last)).record
    source = git_source("https://github.com/adamant/notes", "new")
    elsewhere = (await moved(await submitted(source=source), *needs_review)).record

    await delete_namespace("ada", actor="ada", reason="we moved")

    ended = await get_submission(waiting.id)
    assert ended
    assert ended.record.state is SubmissionState.DEQUEUED
    why = "the namespace ada was deleted by ada: we moved"
    assert ended.record.reason == f"withdrawn: {why}"
    report = await get_report(waiting.id)
    assert report
    assert [(item.rule, item.message) for item in report.findings] == [
        ("RUN-WITHDRAWN", f"It was withdrawn: {why}")
    ]
    assert [one.id for one in await get_waiting_reviews()] == [elsewhere.id]


async def test_a_reviewer_learns_why_nothing_in_a_closed_namespace_can_be_approved(
    ada: Visitor,
) -> None:
    waiting = await moved(
        await submitted(), SubmissionState.TIER1_SCANNING, SubmissionState.NEEDS_REVIEW
    )
    await close_namespace("ada")

    why = await why_not_approve(waiting.record, "rae")

    assert why == (
        "the namespace ada was deleted; only an admin can open it again, by adding an owner"
    )


async def test_the_review_of_a_skill_that_was_transferred_before_goes_on(
    ada: Visitor, bound: WorkerEnv
) -> None:
    review = await moved(
        await submitted(), SubmissionState.TIER1_SCANNING, SubmissionState.NEEDS_REVIEW
    )
    await change_skill(
        bound,
        "adamant/notes/tidy",
        publisher="github.com/adamant",
        submission_id=review.record.id,
        digest="0" * 64,
        down=TakenDown(reason="rescanned", by="cyd", at=NOON),
    )
    reviewed = msgspec.structs.replace(review.record, slug="adamant/notes/tidy", digest="0" * 64)
    assert await commit(write_submission(reviewed, [], expected=review.revision))

    await delete_namespace("ada", actor="ada", reason="we moved")

    stored = await get_submission(review.record.id)
    assert stored
    assert stored.record.state is SubmissionState.NEEDS_REVIEW
    assert await why_not_approve(stored.record, "rae") == ""
