"""Open and close everything that running work needs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from anyio import CapacityLimiter

from vskill_platform.base.clock import Clock
from vskill_platform.blob_settings import blob_options
from vskill_platform.engines.copy_database import refuse_unfinished_copy
from vskill_platform.engines.open_engine import open_engine, open_engine_to_read
from vskill_platform.engines.ports import Engine
from vskill_platform.engines.server_options import ServerOptions
from vskill_platform.errors import EngineError
from vskill_platform.mirror_settings import read_mirrors
from vskill_platform.model.policy import Policy
from vskill_platform.model.scanner import ScannerInUse
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.fetch_limits import FetchLimits, message_slots
from vskill_platform.settings import Settings

#: How long `serve` and `work` wait for a database server: it may restart, or start after them.
_WAIT_AT_START = timedelta(minutes=5)


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
    """Open the database of the settings; without *create* it must exist."""
    engine = await open_engine(
        settings.database_url,
        clock=clock,
        create=create,
        check_for=check_for,
        # When they start, long-running programs wait for a database server that is restarting.
        options=_server_options(settings, wait=_WAIT_AT_START if check_for else timedelta(0)),
        blobs=blob_options(settings),
    )
    try:
        await _check_complete(engine)
        yield _an_env(engine, settings, policy, scanners)
    finally:
        await engine.close()


@asynccontextmanager
async def open_reading_env(
    settings: Settings, *, policy: Policy | None = None
) -> AsyncIterator[WorkerEnv]:
    """Open the database read-only, even if it could not be written to."""
    engine = await open_engine_to_read(
        settings.database_url, options=_server_options(settings), blobs=blob_options(settings)
    )
    try:
        await _check_complete(engine)
        yield _an_env(engine, settings, policy, ())
    finally:
        await engine.close()


def _server_options(settings: Settings, *, wait: timedelta = timedelta(0)) -> ServerOptions:
    return ServerOptions(
        listen_url=settings.database_listen_url, pool_size=settings.database_pool_size, wait=wait
    )


async def _check_complete(engine: Engine) -> None:
    with suppress(EngineError):  # requests and /readyz report a database that is down
        await refuse_unfinished_copy(engine)


def _an_env(
    engine: Engine,
    settings: Settings,
    policy: Policy | None,
    scanners: tuple[ScannerInUse, ...],
) -> WorkerEnv:
    return WorkerEnv(
        engine=engine,
        settings=settings,
        clock=engine.clock,  # the database's clock, so that all nodes agree
        scan_slots=CapacityLimiter(settings.scan_processes),
        fetch_limits=_fetch_limits(settings),
        policy=policy or Policy(),
        scanners=scanners,
        mirrors=read_mirrors(settings.mirrors),
    )


def _fetch_limits(settings: Settings) -> FetchLimits:
    """Leave half of the worker's slots to other hosts and submitters, and one to uploads."""
    slots = message_slots(settings, scan_slots=settings.scan_processes)
    half = max(slots // 2, 1)
    return FetchLimits(
        per_host=min(settings.fetches_per_host, half),
        per_group=min(settings.fetches_per_submitter, half),
        in_all=max(slots - 1, 1),
    )
