"""Other engines that a contract may need besides `engine`."""

from collections.abc import AsyncIterator

import pytest

from tests.clocks import ManualClock
from tests.contracts.machine import a_database
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.ports import Engine


@pytest.fixture(autouse=True)
def as_installed(all_readers: None) -> None:
    """Read through as many connections as the program."""


@pytest.fixture(params=["sqlite", "postgres"])
async def engine_url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """Every engine that we ship, one after the other, each on an empty database."""
    async with a_database(request.param) as url:
        yield url


@pytest.fixture
async def other_engine(
    engine_url: str, engine: Engine, clock: ManualClock
) -> AsyncIterator[Engine]:
    """A second engine on the database of `engine`, as another process would open it."""
    assert engine is not None
    other = await open_engine(engine_url, clock=clock)
    yield other
    await other.close()


@pytest.fixture
async def live_engine(engine_url: str) -> AsyncIterator[Engine]:
    """An engine for which time passes by itself."""
    engine = await open_engine(engine_url)
    yield engine
    await engine.close()
