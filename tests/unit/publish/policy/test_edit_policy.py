"""Versions of the policy: saved, restored, compared, and applied from the next decision on."""

import asyncio
from dataclasses import replace

import msgspec
import pytest

from tests.clocks import NOON, ManualClock
from vskill_platform import __version__
from vskill_platform.cron.nodes import find_differences
from vskill_platform.errors import (
    ChangedSinceSeen,
    InvalidInput,
    InvalidTransition,
    NotFound,
    PolicyInvalid,
    PolicyUnavailable,
)
from vskill_platform.model.policy import Level, Policy
from vskill_platform.model.record import RECORD_FORMAT
from vskill_platform.publish.policy.current_policy import with_current_policy
from vskill_platform.publish.policy.edit_policy import (
    MAX_CHARACTERS,
    PolicyDraft,
    check_policy,
    compare_texts,
    current_version,
    restore_policy,
    save_policy,
)
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.node_store import Node, put_node
from vskill_platform.stores.policy_store import (
    PolicyVersion,
    get_current,
    list_policy_versions,
    put_policy_version,
)

STRICT = '[thresholds]\nreview_at = "low"\n'
MILD = '[thresholds]\nreview_at = "high"\n'


def a_draft(text: str = STRICT, *, base: int = 0, reason: str = "agreed in May") -> PolicyDraft:
    return PolicyDraft(text=text, base=base, reason=reason, author="cyd")


async def test_a_saved_policy_applies_to_work_that_begins_afterwards(bound: WorkerEnv) -> None:
    before = await with_current_policy(bound)
    saved = await save_policy(a_draft())
    after = await with_current_policy(bound)
    again = await with_current_policy(bound)

    assert before.policy == Policy()
    assert after.policy.thresholds.review_at is Level.LOW
    assert again.policy is after.policy  # it is parsed once
    assert (saved.number, saved.author, saved.reason) == (1, "cyd", "agreed in May")
    assert bound.policy == Policy()  # work that has started continues with its policy


async def test_every_node_applies_it_without_a_restart(bound: WorkerEnv) -> None:
    other = replace(bound, settings=msgspec.structs.replace(bound.settings, node="node-2"))
    await save_policy(a_draft())

    assert (await with_current_policy(other)).policy.thresholds.review_at is Level.LOW


async def test_the_file_of_the_operator_wins_and_nothing_can_be_saved(bound: WorkerEnv) -> None:
    await save_policy(a_draft())
    settings = msgspec.structs.replace(bound.settings, policy="/etc/policy.toml")
    with_file = replace(bound, settings=settings)

    with pytest.raises(InvalidTransition, match="VSKILL_POLICY is set"):
        await run_with_worker_env(with_file, lambda: save_policy(a_draft(MILD, base=1)))

    assert (await with_current_policy(with_file)).policy == Policy()
    assert len((await list_policy_versions()).versions) == 1


async def test_a_version_is_kept_with_author_reason_and_audit_entry(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    await save_policy(a_draft())
    clock.advance(minutes=1)
    await save_policy(a_draft(MILD, base=1, reason="too many reviews"))
    clock.advance(minutes=1)
    restored = await restore_policy(1, base=2, reason="not so", author="ada")

    page = await list_policy_versions()
    audit = await list_audit()
    assert [one.number for one in page.versions] == [3, 2, 1]
    assert (restored.text, restored.restored) == (STRICT, 1)
    assert [(one.actor, one.action, one.subject, one.reason) for one in audit.records] == [
        ("ada", "policy restore", "policy version 3", "not so"),
        ("cyd", "policy save", "policy version 2", "too many reviews"),
        ("cyd", "policy save", "policy version 1", "agreed in May"),
    ]
    assert [one.outcome for one in audit.records] == [
        "version 1 restored; 1 line added, 1 removed",
        "1 line added, 1 removed",
        "2 lines added, 0 removed",
    ]


async def test_versions_are_listed_page_by_page(bound: WorkerEnv) -> None:
    for base in range(3):
        await save_policy(a_draft(f"# {base}\n", base=base))

    first = await list_policy_versions(limit=2)
    second = await list_policy_versions(limit=2, before=first.before)

    assert [one.number for one in first.versions] == [3, 2]
    assert [one.number for one in second.versions] == [1]
    assert second.before is None


async def test_of_two_who_edit_the_same_version_the_second_gets_a_conflict(
    bound: WorkerEnv,
) -> None:
    await save_policy(a_draft(STRICT))

    with pytest.raises(ChangedSinceSeen, match="cyd saved version 1 of the policy on"):
        await save_policy(a_draft(MILD))

    newest = await current_version()
    assert newest
    assert newest.text == STRICT


async def test_of_many_who_save_at_once_one_succeeds(bound: WorkerEnv) -> None:
    drafts = [a_draft(f"# {number}\n") for number in range(5)]

    done = await asyncio.gather(*map(save_policy, drafts), return_exceptions=True)

    assert sum(isinstance(one, PolicyVersion) for one in done) == 1
    assert sum(isinstance(one, ChangedSinceSeen) for one in done) == 4
    assert len((await list_policy_versions()).versions) == 1
    assert len((await list_audit()).records) == 1


@pytest.mark.parametrize(
    ("draft", "error", "message"),
    [
        (a_draft(reason="  "), InvalidInput, "give a reason"),
        (a_draft(reason="x" * 501), InvalidInput, "at most 500"),
        (a_draft("\r\n"), InvalidInput, "nothing was changed"),
        (a_draft("[x]"), PolicyInvalid, '"x" is unknown'),
        (a_draft("[limits]\nmax_files = 5000\n"), PolicyInvalid, "built-in limit of 1,000"),
        (a_draft("[[scanners]]\nname = 'nobody'\n"), PolicyInvalid, "not defined"),
        (a_draft("#" * (MAX_CHARACTERS + 1)), PolicyInvalid, "at most 200,000 characters"),
        (a_draft(base=7), ChangedSinceSeen, "there is no version 7"),
    ],
)
async def test_what_cannot_be_saved_is_refused_and_nothing_changes(
    bound: WorkerEnv, draft: PolicyDraft, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        await save_policy(draft)

    assert await get_current() is None
    assert (await list_audit()).records == []


async def test_the_line_ends_of_a_browser_are_those_of_a_file(bound: WorkerEnv) -> None:
    saved = await save_policy(a_draft(STRICT.replace("\n", "\r\n").rstrip()))

    assert saved.text == STRICT


async def test_an_unknown_version_is_not_found(bound: WorkerEnv) -> None:
    for number in (1, 0, -1, 10**9):
        with pytest.raises(NotFound):
            await restore_policy(number, base=0, reason="x", author="cyd")


async def test_a_node_of_an_older_release_must_be_updated_first(bound: WorkerEnv) -> None:
    await put_node(a_node("old", record_format=RECORD_FORMAT - 1))

    with pytest.raises(InvalidTransition, match="old runs an older release"):
        await save_policy(a_draft())


async def test_a_policy_that_this_node_cannot_apply_stops_its_work_and_not_its_repair(
    bound: WorkerEnv,
) -> None:
    odd = PolicyVersion(
        number=1, text="[from_the_future]\n", digest="", at=NOON, author="ada", reason="x"
    )
    await put_policy_version(odd, replaces=None, also=[])

    with pytest.raises(PolicyUnavailable, match="version 1 of the policy cannot be applied"):
        await with_current_policy(bound)
    await save_policy(a_draft(base=1))

    assert (await with_current_policy(bound)).policy.thresholds.review_at is Level.LOW


async def test_a_rule_that_this_release_does_not_have_stops_nothing(bound: WorkerEnv) -> None:
    text = (
        '[[suppressions]]\nrule = "OLD-001"\npath = "a"\nreason = "known"\nexpires = 2099-01-01\n'
    )
    old = PolicyVersion(number=1, text=text, digest="", at=NOON, author="ada", reason="x")
    await put_policy_version(old, replaces=None, also=[])

    policy = (await with_current_policy(bound)).policy

    assert [one.rule for one in policy.suppressions] == ["OLD-001"]
    with pytest.raises(PolicyInvalid, match='no rule "OLD-001"'):
        await check_policy(text)


async def test_very_long_texts_are_not_compared(bound: WorkerEnv) -> None:
    found = await compare_texts("#\n" * 3_000, "")

    assert (found.lines, found.note) == ((), "too many lines to compare")


def test_a_node_that_has_not_reported_since_a_policy_was_saved_is_no_difference() -> None:
    nodes = [a_node("a"), a_node("b", policy="new", hour=13)]

    assert find_differences(nodes, policy_saved_at=NOON.replace(hour=12, minute=30)) == []
    assert len(find_differences(nodes)) == 1


def a_node(
    name: str, *, policy: str = "", hour: int = 12, record_format: int = RECORD_FORMAT
) -> Node:
    return Node(
        node=name,
        started_at=NOON,
        beat_at=NOON.replace(hour=hour),
        roles=("worker",),
        version=__version__,
        rules="r",
        policy=policy,
        record_format=record_format,
    )
