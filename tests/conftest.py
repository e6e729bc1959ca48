"""What every test may ask for."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.clocks import ManualClock
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.ports import Engine


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
