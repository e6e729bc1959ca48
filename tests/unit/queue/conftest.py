"""Submissions in the queue, and batches of them."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from vskill_platform.engines.operations import Delivery
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import Submission
from vskill_platform.runtime.env import WorkerEnv

SubmitSkill = Callable[[str], Awaitable[Submission]]
Receive = Callable[[], Awaitable[list[Delivery]]]


@pytest.fixture
def submit_skill(bound: WorkerEnv, tmp_path: Path) -> SubmitSkill:
    """Write a good skill of that name and submit it."""

    async def submit_one(name: str) -> Submission:
        folder = a_skill_folder(tmp_path / "skills", name)
        return (await submit(folder_source(str(folder)), submitter="ada")).submission

    return submit_one


@pytest.fixture
def receive(bound: WorkerEnv) -> Receive:
    async def receive_batch() -> list[Delivery]:
        return await bound.engine.queue.receive(3, lease=bound.settings.lease)

    return receive_batch
