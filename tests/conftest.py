"""What every test may ask for."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from anyio import CapacityLimiter
from hypothesis import settings

from tests.clocks import ManualClock
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.ports import Engine
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.settings import Settings

#: For `make fuzz`, which has the time.
settings.register_profile("fuzz", max_examples=5_000, deadline=None)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["sqlite"])
def engine_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Every engine that we ship, one after the other, each on an empty database."""
    assert request.param == "sqlite"
    return f"sqlite:///{tmp_path / 'skills.db'}"


@pytest.fixture
async def engine(engine_url: str, clock: ManualClock) -> AsyncIterator[Engine]:
    engine = await open_engine(engine_url, clock=clock)
    yield engine
    await engine.close()


@pytest.fixture
async def env(engine: Engine, engine_url: str, clock: ManualClock, tmp_path: Path) -> WorkerEnv:
    """Return a worker env on a real database, with a clock that the test moves."""
    return WorkerEnv(
        engine=engine,
        settings=Settings(database_url=engine_url, node="node-1", local_folders=str(tmp_path)),
        clock=clock,
        scan_slots=CapacityLimiter(2),
    )


@pytest.fixture
async def bound(env: WorkerEnv) -> AsyncIterator[WorkerEnv]:
    """Run the test as work with the env in reach."""
    token = worker_env_storage.set(env)
    yield env
    worker_env_storage.reset(token)


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    """What was logged, one mapping an event."""
    with structlog.testing.capture_logs() as events:
        yield events
