"""Stores read through a probe that counts."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.probes import ProbingEngine
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage


@pytest.fixture
async def probed(env: WorkerEnv) -> AsyncIterator[ProbingEngine]:
    """Bind an env whose engine is watched."""
    engine = ProbingEngine(env.engine)
    token = worker_env_storage.set(replace(env, engine=engine))
    yield engine
    worker_env_storage.reset(token)
