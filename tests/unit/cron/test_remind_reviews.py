"""Reminders of overdue reviews: once a day, and never lost silently."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cases import all_cases
from tests.casts import a_submission, stored
from tests.clocks import NOON, ManualClock
from vskill_platform.cron.remind_reviews import remind_reviews
from vskill_platform.errors import ConfigError, NotifyFailed
from vskill_platform.model.submission import SubmissionState
from vskill_platform.queue.health import check_health
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import load_settings

WRITE_INPUT = (
    "import os, sys; open(sys.argv[1], 'a').write(sys.stdin.read() + str(dict(os.environ)))"
)


@pytest.fixture
async def one_waits(bound: WorkerEnv) -> str:
    submission = a_submission(SubmissionState.NEEDS_REVIEW, reason="somebody has to look")
    await stored(bound.engine, submission, a_submission(SubmissionState.PUBLISHED))
    return submission.id


def telling(env: WorkerEnv, *command: str) -> WorkerEnv:
    settings = msgspec.structs.replace(env.settings, notify_command=json.dumps(command))
    return replace(env, settings=settings)


async def test_nobody_is_reminded_of_what_has_just_come(
    bound: WorkerEnv, one_waits: str, clock: ManualClock, logs: list[Any]
) -> None:
    clock.advance(hours=23)

    assert await remind_reviews() == "no review is overdue"
    assert logs == []


async def test_once_a_day_the_log_says_what_waits(
    bound: WorkerEnv, one_waits: str, clock: ManualClock, logs: list[Any]
) -> None:
    clock.advance(hours=24)

    first, second = await remind_reviews(), await remind_reviews()
    clock.advance(hours=24)
    third = await remind_reviews()

    assert first == third == "reminded of 1, in the log only"
    assert second == "1 waiting, a reminder was sent today"
    assert [(item["event"], item["count"], item["oldest"]) for item in logs] == [
        ("reviews overdue", 1, one_waits)
    ] * 2


async def test_the_notify_program_runs_without_a_shell_and_without_our_secrets(
    bound: WorkerEnv, one_waits: str, clock: ManualClock, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("VSKILL_JUDGE_KEY", "hush")
    clock.advance(hours=25)
    heard = tmp_path / "heard $(id);x"
    env = telling(bound, sys.executable, "-c", WRITE_INPUT, str(heard))

    outcome = await run_with_worker_env(env, remind_reviews)

    assert outcome == "reminded of 1, by the program"
    line, _, environment = heard.read_text().partition("\n")
    message = json.loads(line)
    assert (message["event"], message["count"]) == ("reviews_waiting", 1)
    assert message["reviews"][0]["id"] == one_waits
    assert message["reviews"][0]["why"] == "somebody has to look"
    assert "hush" not in environment


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (("/nowhere/to-be-found",), "cannot be run: No such file"),
        (
            (sys.executable, "-c", "import sys; sys.exit('no route')"),
            "exited with 1: no route",
        ),
    ],
    ids=["missing", "failing"],
)
async def test_a_program_that_fails_is_a_failure_and_tried_again(
    bound: WorkerEnv, one_waits: str, clock: ManualClock, command: tuple[str, ...], complaint: str
) -> None:
    clock.advance(hours=25)
    for _ in range(2):
        with pytest.raises(NotifyFailed, match=complaint):
            await run_with_worker_env(telling(bound, *command), remind_reviews)

    assert await remind_reviews() == "reminded of 1, in the log only"


@all_cases("value", ["mail -s x", "[]", '[""]', "[1]", '{"a": 1}', '["a\\u0000b"]'])
def test_a_shell_line_stops_the_start(value: str) -> None:
    with pytest.raises(ConfigError, match="VSKILL_NOTIFY_COMMAND must"):
        load_settings({"VSKILL_NOTIFY_COMMAND": value})


async def test_health_says_how_many_wait_and_since_when(
    bound: WorkerEnv, one_waits: str, clock: ManualClock
) -> None:
    clock.advance(days=3)

    health = await check_health()

    assert (health.reviews.count, health.reviews.oldest) == (1, NOON)
    assert health.problems == ()
