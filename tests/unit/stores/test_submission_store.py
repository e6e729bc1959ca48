"""Submissions: concurrent reads that fail independently (seeds US-001)."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.casts import a_submission, stored
from tests.clocks import NOON, ManualClock
from tests.probes import ProbingEngine
from vskill_platform.engines.operations import Put
from vskill_platform.errors import EngineError
from vskill_platform.model.submission import (
    IN_PROGRESS_STATES,
    STUCK_THRESHOLD,
    StuckSubmission,
    SubmissionState,
)
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.follow_submissions import follow_submission
from vskill_platform.stores.records import encode
from vskill_platform.stores.submission_store import (
    get_stuck_submissions,
    get_submission,
    get_submission_index,
    get_submissions_fresh,
    new_submission_id,
    write_submission,
)

LONG_AGO = NOON - timedelta(hours=1)


async def test_tc050_fresh_submissions_are_read_all_at_once(probed: ProbingEngine) -> None:
    submissions = [a_submission() for _ in range(5)]
    await stored(probed, *submissions)

    fresh = await get_submissions_fresh([submission.id for submission in submissions])

    assert fresh == submissions
    assert probed.kv.most_at_once == 5


async def test_fresh_submissions_leave_out_what_is_gone(probed: ProbingEngine) -> None:
    here = a_submission()
    await stored(probed, here)

    assert await get_submissions_fresh(["sub_gone", here.id]) == [here]


async def test_tc056_tc070_reads_all_submissions_at_once(probed: ProbingEngine) -> None:
    await stored(probed, *(a_submission(updated_at=LONG_AGO) for _ in range(5)))

    await get_stuck_submissions(NOON)

    assert probed.kv.most_at_once == 5


async def test_tc071_a_malformed_record_is_skipped(probed: ProbingEngine, logs: list[Any]) -> None:
    good = a_submission(updated_at=LONG_AGO)
    await stored(probed, good)
    await probed.commit([Put("sub:broken", b"{not json"), Put("sub:odd", b'{"id": 1}')])

    found = await get_stuck_submissions(NOON)

    assert [submission.id for submission in found] == [good.id]
    assert [event["key"] for event in logs if "key" in event] == ["sub:broken", "sub:odd"]


async def test_a_read_that_fails_or_finds_nothing_is_skipped(probed: ProbingEngine) -> None:
    good, gone, failing = (a_submission(updated_at=LONG_AGO) for _ in range(3))
    await stored(probed, good, gone, failing)
    real_get = probed.kv._kv.get

    async def lose_one(key: str) -> object:
        return None if key.endswith(gone.id) else await real_get(key)

    probed.kv._kv.get = lose_one  # type: ignore[assignment, method-assign]  # a record that vanished between the list and the read
    probed.kv.fails = lambda key: EngineError("no") if key.endswith(failing.id) else None

    found = await get_stuck_submissions(NOON)

    assert [submission.id for submission in found] == [good.id]


async def test_tc072_only_a_submission_past_its_deadline_is_stuck(
    probed: ProbingEngine,
) -> None:
    old = [a_submission(state, updated_at=LONG_AGO) for state in SubmissionState]
    fresh = [
        a_submission(state, updated_at=NOON - STUCK_THRESHOLD + timedelta(microseconds=1))
        for state in SubmissionState
    ]
    just = a_submission(updated_at=NOON - STUCK_THRESHOLD)
    await stored(probed, *old, *fresh, just)

    found = await get_stuck_submissions(NOON)

    expected = {submission.id for submission in old if submission.state in IN_PROGRESS_STATES}
    assert {submission.id for submission in found} == expected | {just.id}


async def test_a_stuck_submission_says_what_it_is_and_for_how_long(probed: ProbingEngine) -> None:
    submission = a_submission(SubmissionState.TIER1_SCANNING, updated_at=LONG_AGO)
    await stored(probed, submission)

    assert await get_stuck_submissions(NOON) == [
        StuckSubmission(
            id=submission.id,
            state=SubmissionState.TIER1_SCANNING,
            repo_url=submission.repo_url,
            skill_name="tidy-notes",
            skill_path="",
            updated_at=LONG_AGO,
            stuck_for=timedelta(hours=1),
        )
    ]


async def test_submissions_that_are_not_due_are_not_read(
    probed: ProbingEngine, clock: ManualClock
) -> None:
    finished = a_submission(SubmissionState.PUBLISHED)
    waiting = a_submission(SubmissionState.RECEIVED)
    for submission in (finished, waiting):
        await probed.commit(write_submission(submission, [], expected=0))

    assert await get_stuck_submissions(clock.now()) == []
    assert probed.kv.read == []

    clock.advance(minutes=6)
    assert [found.id for found in await get_stuck_submissions(clock.now())] == [waiting.id]
    assert probed.kv.read == [f"sub:{waiting.id}"]


async def test_an_outage_is_raised_and_is_no_empty_list(probed: ProbingEngine) -> None:
    await stored(probed, *(a_submission(updated_at=LONG_AGO) for _ in range(3)))
    probed.kv.fails = lambda _: EngineError("the disk is gone")

    with pytest.raises(EngineError, match="none of 3 records"):
        await get_stuck_submissions(NOON)


async def test_a_malformed_record_alone_is_no_outage(probed: ProbingEngine) -> None:
    await probed.commit([Put("sub:broken", b"nonsense")])

    assert await get_stuck_submissions(NOON) == []


async def test_a_submission_dated_ahead_by_a_wrong_clock_is_found(probed: ProbingEngine) -> None:
    ahead = a_submission(updated_at=NOON + timedelta(days=1))
    await stored(probed, ahead)

    (found,) = await get_stuck_submissions(NOON)

    assert found.id == ahead.id
    assert found.stuck_for == timedelta(0)


async def test_the_index_has_the_newest_first_page_by_page(bound: WorkerEnv) -> None:
    ids = [new_submission_id(NOON + timedelta(seconds=n)) for n in range(5)]
    await stored(bound.engine, *(a_submission(submission_id=name) for name in ids))

    first = await get_submission_index(limit=3)
    rest = await get_submission_index(after=first.cursor, limit=3)

    assert [item.id for item in first.submissions + rest.submissions] == ids[::-1]
    assert rest.cursor is None


async def test_a_submission_is_followed_from_where_it_is_to_its_end(bound: WorkerEnv) -> None:
    start = a_submission(SubmissionState.RECEIVED, submission_id="sub_1")
    end = a_submission(SubmissionState.PUBLISHED, submission_id="sub_1")
    await stored(bound.engine, start)
    seen: list[SubmissionState] = []

    async with asyncio.timeout(60):
        async for submission in follow_submission("sub_1"):
            seen.append(submission.state)
            if submission.state is SubmissionState.RECEIVED:
                await bound.engine.commit([Put("sub:other", encode(start))])
                await stored(bound.engine, end)

    assert seen == [SubmissionState.RECEIVED, SubmissionState.PUBLISHED]


async def test_an_unknown_submission_is_none(bound: WorkerEnv) -> None:
    assert await get_submission("sub_unknown") is None
    assert [seen async for seen in follow_submission("sub_unknown")] == []
