"""1,000 small local skills submitted at once on one node, and where the processor time goes.

The walk should cost what the check costs: the goal is that at least 85 % of the processor time is
spent in the processes that read the skills. The rest is ours: fetching, digests, archives, the
database, the queue. Every submission must come to an explained end.
"""

import asyncio
import collections
import os
import random
import resource
import sys
import time
from pathlib import Path

import msgspec
import uvloop
from anyio import to_process

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.report import print_note, print_table, print_title, print_verdict, scratch
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import Source, SourceKind
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.queue.worker import Worker
from vskill_platform.runtime.open_env import open_worker_env
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import Settings
from vskill_platform.stores.submission_store import get_submissions_fresh

COUNT = 1_000
TARGET = 0.85
WORDS = Path(__file__).parents[1] / "docs"


class Cost(msgspec.Struct):
    wall: float
    #: Processor seconds of this process, and of the ones that it started.
    ours: float
    children: float

    @property
    def share(self) -> float:
        return self.children / (self.ours + self.children)


def write_skills(folder: Path) -> list[Source]:
    """Write skills of the size that most have: some instructions, a few commands, one script."""
    pages = sorted(WORDS.glob("*.md"))
    words = "\n".join(page.read_text().replace("```", "") for page in pages).split()
    sources = []
    for number in range(COUNT):
        place = folder / f"skill-{number:04d}"
        (place / "scripts").mkdir(parents=True)
        body = " ".join(random.Random(number).choices(words, k=700))
        head = f"---\nname: {place.name}\ndescription: Sample number {number}.\n---\n\n# Sample\n\n"
        command = (
            f"\n\n```bash\npython3 scripts/count.py notes-{number}.txt | sort -n | head\n```\n"
        )
        (place / "SKILL.md").write_text(head + body + command)
        (place / "scripts" / "count.py").write_text(_script(number))
        sources.append(Source(kind=SourceKind.FOLDER, url=str(place)))
    return sources


def _script(number: int) -> str:
    functions = "\n\n".join(
        f"def step_{at}(lines):\n    kept = [line for line in lines if len(line) > {at + number}]\n"
        f"    return sorted(kept, key=len)[:{at + 3}]"
        for at in range(12)
    )
    steps = "\n    ".join(f"lines = step_{at}(lines)" for at in range(12))
    return (
        f"import sys\nfrom pathlib import Path\n\n\n{functions}\n\n\n"
        f"def main():\n    lines = Path(sys.argv[1]).read_text().splitlines()\n    {steps}\n"
        "    print(len(lines))\n\n\nmain()\n"
    )


async def walk(folder: Path) -> tuple[Cost, collections.Counter[str]]:
    sources = write_skills(folder / "skills")
    settings = Settings(
        database_url=f"sqlite:///{folder}/bench.db",
        local_folders=str(folder / "skills"),
        scan_processes=os.cpu_count() or 1,
    )
    async with open_worker_env(settings) as env:

        async def submit_all() -> list[str]:
            done = await asyncio.gather(*(submit(source, submitter="bench") for source in sources))
            return [result.submission.id for result in done]

        async def read(ids: list[str]) -> list[Submission]:
            return await get_submissions_fresh(ids)

        started, before = time.perf_counter(), time.process_time()
        ids = await run_with_worker_env(env, submit_all)
        await Worker(env).run(asyncio.Event(), drain=True)
        cost = Cost(time.perf_counter() - started, time.process_time() - before, 0.0)
        found = await run_with_worker_env(env, lambda: read(ids))
    ends = collections.Counter(str(item.state) for item in found)
    explained = all(item.reason for item in found if item.state is not SubmissionState.PUBLISHED)
    if len(found) != COUNT or not explained:
        raise SystemExit(f"not every submission has an explained end: {ends}")
    return cost, ends


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def main() -> None:
    print_title(
        f"{COUNT:,} small local skills, submitted at once, one node",
        "at least 85 % of the processor time goes into the checks",
    )
    with scratch() as folder:
        cost, ends = await walk(folder)
    cost.children = await _end_of_children()
    print_table(
        ("what", "processor time", "share"),
        [
            ("the checks, in their processes", f"{cost.children:.1f} s", f"{cost.share:.0%}"),
            ("everything else", f"{cost.ours:.1f} s", f"{1 - cost.share:.0%}"),
        ],
    )
    print_note(
        f"{COUNT / cost.wall:.0f} skills/s on {os.cpu_count()} cores, {cost.wall:.1f} s in all; "
        f"ends: {dict(ends)}"
    )
    print_verdict(
        "share of the checks",
        figure=f"{cost.share:.0%}",
        target=f"at least {TARGET:.0%}",
        is_reached=cost.share >= TARGET,
    )


async def _end_of_children() -> float:
    """Return what all processes used; they are counted when they have ended."""
    workers = to_process._process_pool_workers.get(set())  # noqa: SLF001 - nothing else names them
    for process in workers:
        process.kill()
        await process.wait()
    return children_seconds()


if __name__ == "__main__":
    uvloop.run(main())
