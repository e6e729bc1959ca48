"""What running work has in reach: its database, settings, clock and places to scan."""

from dataclasses import dataclass

from anyio import CapacityLimiter

from vskill_platform.base.clock import Clock
from vskill_platform.engines.ports import Engine
from vskill_platform.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEnv:
    engine: Engine
    settings: Settings
    clock: Clock
    #: Bounds how many skills are checked at once.
    scan_slots: CapacityLimiter
