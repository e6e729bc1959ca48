"""What running work has in reach: its database, settings, clock and places to scan."""

import asyncio
from dataclasses import dataclass, field

from anyio import CapacityLimiter

from vskill_platform.base.clock import Clock
from vskill_platform.engines.ports import Engine
from vskill_platform.model.policy import Policy
from vskill_platform.model.scanner import ScannerInUse
from vskill_platform.runtime.fetch_limits import FetchLimits
from vskill_platform.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEnv:
    engine: Engine
    settings: Settings
    clock: Clock
    #: Bounds how many skills are checked at once.
    scan_slots: CapacityLimiter
    #: Held by the one submission that is checked with no other beside it.
    one_alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    #: Bounds how much is fetched at once from one host and for one submitter.
    fetch_limits: FetchLimits = field(default_factory=FetchLimits)
    #: What the operator has decided; who walks with submissions reads it at the start.
    policy: Policy = field(default_factory=Policy)
    #: The scanners of other makers that the policy names.
    scanners: tuple[ScannerInUse, ...] = ()
