"""The policy's limit on submissions: per publisher and day, exact, and for everybody."""

import asyncio
from dataclasses import replace

import pytest

from tests.clocks import ManualClock
from vskill_platform.errors import NotAllowed
from vskill_platform.intake.submit import SubmitKind, SubmitResult, submit
from vskill_platform.model.policy import NamespacePolicy, Policy, PolicyLimits
from vskill_platform.model.source import Source, git_source
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env

TWO_A_DAY = Policy(limits=PolicyLimits(submissions_per_day=2))


def a_source(name: str, owner: str = "ada") -> Source:
    return git_source(f"https://git.example/{owner}/{name}")


async def submitted(env: WorkerEnv, source: Source, policy: Policy = TWO_A_DAY) -> SubmitResult:
    async def work() -> SubmitResult:
        return await submit(source, submitter="cyd")

    return await run_with_worker_env(replace(env, policy=policy), work)


async def test_the_daily_limit_is_enforced_and_reset_the_next_day(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    await submitted(bound, a_source("one"))
    await submitted(bound, a_source("two"))

    with pytest.raises(NotAllowed, match=r"git.example/ada has submitted 2 skills today.*tomorrow"):
        await submitted(bound, a_source("three"))

    assert (await submitted(bound, a_source("one", "ben"))).kind is SubmitKind.CREATED
    clock.advance(days=1)
    assert (await submitted(bound, a_source("three"))).kind is SubmitKind.CREATED


async def test_a_submission_that_starts_no_processing_is_not_counted(bound: WorkerEnv) -> None:
    for _ in range(5):
        await submitted(bound, a_source("one"))

    assert (await submitted(bound, a_source("two"))).kind is SubmitKind.CREATED


async def test_many_at_once_do_not_get_past_the_limit(bound: WorkerEnv) -> None:
    outcomes = await asyncio.gather(
        *(submitted(bound, a_source(f"skill-{number}")) for number in range(8)),
        return_exceptions=True,
    )

    assert sum(isinstance(outcome, SubmitResult) for outcome in outcomes) == 2
    assert sum(isinstance(outcome, NotAllowed) for outcome in outcomes) == 6


async def test_a_namespace_may_have_a_limit_of_its_own(bound: WorkerEnv) -> None:
    one = Policy(limits=PolicyLimits(submissions_per_day=1))
    policy = Policy(namespaces=(NamespacePolicy(match="git.example/ada/*", policy=one),))

    await submitted(bound, a_source("one"), policy)
    with pytest.raises(NotAllowed):
        await submitted(bound, a_source("two"), policy)
    for number in range(3):
        await submitted(bound, a_source(f"skill-{number}", "ben"), policy)
