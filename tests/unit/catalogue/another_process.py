"""A process with a separate search index: it reports when ready, then responds line by line."""

import asyncio
import json
import sys
from datetime import timedelta

from anyio import CapacityLimiter

from vskill_platform.base.clock import SystemClock
from vskill_platform.base.telemetry import set_up_logs
from vskill_platform.catalogue.catalogue import open_catalogue
from vskill_platform.catalogue.query import SkillQuery
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.settings import Settings


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main(url: str) -> None:
    set_up_logs(level="INFO", as_json=True)
    say("started")
    engine = await open_engine(url)
    env = WorkerEnv(
        engine=engine,
        settings=Settings(database_url=url),
        clock=SystemClock(),
        scan_slots=CapacityLimiter(1),
    )
    async with open_catalogue(env) as catalogue:
        await catalogue.wait_until_ready()
        say("ready")
        while line := await asyncio.to_thread(sys.stdin.readline):
            revision, _, text = line.rstrip("\n").partition(" ")
            is_there = await catalogue.wait_until(int(revision), within=timedelta(seconds=20))
            answer = await catalogue.search_skills(SkillQuery(text=text))
            say(json.dumps([is_there, *(hit.slug for hit in answer.hits)]))
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
