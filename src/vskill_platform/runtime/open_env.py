"""Opening and closing all that running work needs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from anyio import CapacityLimiter

from vskill_platform.base.clock import Clock, SystemClock
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.model.policy import Policy
from vskill_platform.model.scanner import ScannerInUse
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.settings import Settings


@asynccontextmanager
async def open_worker_env(
    settings: Settings,
    *,
    clock: Clock | None = None,
    create: bool = True,
    check_for: timedelta = timedelta(0),
    policy: Policy | None = None,
    scanners: tuple[ScannerInUse, ...] = (),
) -> AsyncIterator[WorkerEnv]:
    """Open the database that the settings name; with *create* off it must exist."""
    clock = clock or SystemClock()
    engine = await open_engine(
        settings.database_url, clock=clock, create=create, check_for=check_for
    )
    try:
        yield WorkerEnv(
            engine=engine,
            settings=settings,
            clock=clock,
            scan_slots=CapacityLimiter(settings.scan_processes),
            policy=policy or Policy(),
            scanners=scanners,
        )
    finally:
        await engine.close()
