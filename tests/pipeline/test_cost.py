"""The database cost of a submission: a few commits and reads, however much is published."""

import dataclasses
from pathlib import Path
from typing import Any, cast

from tests.casts import a_skill_folder
from tests.pipeline.conftest import Process
from tests.probes import ProbingEngine
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.runtime.env import WorkerEnv


async def _publish(process: Process, env: WorkerEnv, folder: Path, name: str) -> ProbingEngine:
    probe = ProbingEngine(env.engine)
    watched = dataclasses.replace(env, engine=cast("Any", probe))

    journey = await process(folder_source(str(a_skill_folder(folder, name))), env=watched)

    assert journey.submission.state is SubmissionState.PUBLISHED
    return probe


async def test_a_message_takes_two_commits_and_as_many_reads_however_much_is_published(
    process: Process, bound: WorkerEnv, tmp_path: Path
) -> None:
    first = await _publish(process, bound, tmp_path, "first-notes")
    for number in range(8):
        await _publish(process, bound, tmp_path, f"other-notes-{number}")
    last = await _publish(process, bound, tmp_path, "last-notes")

    assert (first.commits, last.commits) == (2, 2)  # the claim, and everything at the end
    assert len(last.kv.read) == len(first.kv.read) <= 17, last.kv.read
