"""A server with a search process, whose id it prints; then it does nothing."""

import asyncio
import sys

from anyio import CapacityLimiter

from vskill_platform.base.clock import SystemClock
from vskill_platform.base.telemetry import set_up_logs
from vskill_platform.catalogue.catalogue import open_catalogue
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.settings import Settings


async def main(url: str) -> None:
    set_up_logs(level="WARNING", as_json=False)
    env = WorkerEnv(
        engine=await open_engine(url),
        settings=Settings(database_url=url),
        clock=SystemClock(),
        scan_slots=CapacityLimiter(1),
    )
    async with open_catalogue(env, has_search_process=True) as catalogue:
        await catalogue.wait_until_ready()
        process = catalogue.search_process
        if process and await process.wait_until_started():
            sys.stdout.write(f"{process.pid}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
