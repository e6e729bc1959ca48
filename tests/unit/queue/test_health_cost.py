"""A health check costs the same however many submissions are pending."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.casts import a_submission
from tests.unit.engines.sqlite.counted_steps import counted_steps
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import ABSENT
from vskill_platform.engines.sqlite import engine as sqlite_engine
from vskill_platform.model.submission import SubmissionState
from vskill_platform.queue import health
from vskill_platform.queue.health import check_health
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.submission_messages import queue_submission
from vskill_platform.stores.submission_store import write_submission


async def _pend(count: int, *, state: SubmissionState = SubmissionState.RECEIVED) -> None:
    """Store so many submissions in a state, and queue those that a worker should take."""
    operations = []
    for _ in range(count):
        one = a_submission(state, updated_at=get_now())
        operations += write_submission(one, [], expected=ABSENT)
        if state is SubmissionState.RECEIVED:
            operations.append(queue_submission(one))
    assert await commit(operations)


async def steps_with(count: int, env: WorkerEnv, path: Path) -> int:
    with counted_steps() as steps:
        engine = await open_engine(f"sqlite:///{path}", clock=env.clock)

        async def work() -> int:
            await _pend(count)
            await _pend(3, state=SubmissionState.NEEDS_REVIEW)
            return min([await steps_of_a_check() for _ in range(10)])

        async def steps_of_a_check() -> int:
            """Count one; the first on each connection has to read the schema too."""
            before = steps.count
            assert (await check_health()).queue.ready == count
            return steps.count - before

        taken = await run_with_worker_env(replace(env, engine=engine), work)
        await engine.close()
    return taken


@pytest.mark.slow
async def test_a_health_check_does_not_read_what_is_pending(
    env: WorkerEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_engine, "LOOK_EVERY_SECONDS", 3600)  # not part of the check
    few = await steps_with(100, env, tmp_path / "few.db")
    many = await steps_with(10_000, env, tmp_path / "many.db")

    assert many == few > 0


async def test_reviews_are_counted_up_to_a_bound(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "MAX_COUNTED_REVIEWS", 5)
    await _pend(5, state=SubmissionState.NEEDS_REVIEW)
    at_the_bound = (await check_health()).reviews
    more = a_submission(SubmissionState.NEEDS_REVIEW,
                        updated_at=get_now() + timedelta(hours=1))  # fmt: skip
    await commit(write_submission(more, [], expected=ABSENT))

    beyond = (await check_health()).reviews

    assert (at_the_bound.shown, beyond.shown) == ("5", "more than 5")
    assert beyond.oldest == get_now()
