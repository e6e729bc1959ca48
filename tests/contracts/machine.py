"""A state machine that drives a real engine, one step after the other."""

import asyncio
import tempfile
from collections.abc import Coroutine
from datetime import datetime
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine

from tests.clocks import ManualClock
from vskill_platform.engines.open_engine import open_engine

Result = TypeVar("Result")

#: How many steps a run has; how many runs there are, the profile says.
FORTY_STEPS = settings(stateful_step_count=40, suppress_health_check=[HealthCheck.too_slow])


class EngineMachine(RuleBasedStateMachine):
    """Each run has its own loop, its own clock and an empty database."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self._runner = asyncio.Runner()
        self._folder = tempfile.TemporaryDirectory()
        url = f"sqlite:///{self._folder.name}/skills.db"
        self.engine = self.run(open_engine(url, clock=self.clock))

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._runner.run(work)

    def teardown(self) -> None:
        self.run(self.engine.close())
        self._runner.close()
        self._folder.cleanup()
