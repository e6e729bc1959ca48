"""A state machine that drives a real engine, one step after the other."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine

from tests.clocks import ManualClock
from tests.empty_database import write_empty_database
from tests.postgres import an_empty_database
from vskill_platform.engines.open_engine import open_engine

Result = TypeVar("Result")

#: How many steps a run has; how many runs there are, the profile says.
FORTY_STEPS = settings(stateful_step_count=40, suppress_health_check=[HealthCheck.too_slow])


def steps_for(kind: str) -> settings:
    """Return how much to try: a run has forty steps, which take a server several times as long."""
    share = {"sqlite": 2, "postgres": 8}[kind]
    return settings(FORTY_STEPS, max_examples=max(settings().max_examples // share, 1))


class EngineMachine(RuleBasedStateMachine):
    """Each run has its own loop, its own clock and an empty database."""

    #: Which engine it drives.
    kind: ClassVar[str] = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self._runner = asyncio.Runner()
        self._database = a_database(self.kind)
        url = self.run(self._database.__aenter__())
        self.engine = self.run(open_engine(url, clock=self.clock))

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._runner.run(work)

    def teardown(self) -> None:
        self.run(self.engine.close())
        self.run(self._database.__aexit__(None, None, None))
        self._runner.close()


@asynccontextmanager
async def a_database(kind: str) -> AsyncIterator[str]:
    """Yield the URL of an empty database of an engine."""
    if kind == "postgres":
        async with an_empty_database() as url:
            yield url
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "skills.db"
        write_empty_database(file)
        yield f"sqlite:///{file}"
