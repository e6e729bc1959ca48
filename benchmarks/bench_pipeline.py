"""1,000 small local skills submitted at once on one node, and where the processor time goes.

A submission should cost little more than its check: the goal is at most 1.5 times the processor
time of the check alone, which is everything that the scan processes do (including the similarity
marks). The rest is overhead: fetching, digests, archives, the database, the queue, the log. Every
submission must reach a final state with a reason. The best of several runs counts, because other
work on the machine slows all of them; a last run shows where our own time goes.

A few skills are submitted first and not counted, because starting the processes is not part of the
cost of a skill.
"""

import asyncio
import collections
import os
import random
import resource
import shutil
import sys
import time
from contextlib import redirect_stderr
from pathlib import Path

import msgspec
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.meter import Meter, Seconds, thread_seconds
from benchmarks.report import (
    amount,
    duration,
    file_system,
    less_than_claimed,
    print_note,
    print_table,
    print_title,
    print_verdict,
    ratio,
    scratch,
)
from vskill_platform.base.telemetry import set_up_logs
from vskill_platform.fetch import fetch_source, workspace
from vskill_platform.fetch.temporary_folders import fits_into_memory, new_folder
from vskill_platform.intake import submit as intake
from vskill_platform.model.source import Source, SourceKind
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.publish.versions import compare_skill, version_files
from vskill_platform.queue import conclude_submission, process_submission
from vskill_platform.queue.worker import Worker
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.open_env import open_worker_env
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import Settings
from vskill_platform.stores.submission_store import get_submissions_fresh

CLAIMED = 1_000
COUNT, WARM_UP = amount(CLAIMED, quick=250), 20
RUNS = amount(3, quick=3)
TARGET = 1.5
WORDS = Path(__file__).parents[1] / "docs"
_TICKS = os.sysconf("SC_CLK_TCK")
#: The kinds of threads in which the pipeline works, and what they are for.
_LOOP, _REST = "event loop", "what is between"
_THREADS = {
    "MainThread": _LOOP,
    "sqlite-writer": "database, writing",
    "sqlite-reader": "database, reading",
}
_FILES = "files"  # in the threads of the loop's own pool


class Cost(msgspec.Struct, frozen=True):
    wall: float
    #: Processor seconds of this process, and of those that check skills.
    ours: float
    checks: float
    #: Where ours went.
    phases: Seconds

    @property
    def factor(self) -> float:
        """How much a submission costs, in checks."""
        return (self.ours + self.checks) / self.checks


def write_skills(folder: Path, numbers: range) -> list[Source]:
    """Write skills of the size that most have: some instructions, a few commands, one script."""
    pages = sorted(WORDS.glob("*.md"))
    words = "\n".join(page.read_text().replace("```", "") for page in pages).split()
    sources = []
    for number in numbers:
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


def watch_phases(meter: Meter) -> None:
    meter.watch_async("submit", intake, "submit")
    pipeline = process_submission
    meter.watch_async("claim", pipeline, "claim_submission")
    meter.watch_context("fetch", pipeline, "fetched_in_turn")
    meter.watch_async("hand over to the check", pipeline, "check_skill")
    meter.watch_async("compare", pipeline, "apply_registry_rules")
    meter.watch_async("compare", compare_skill, "find_by_marks")
    meter.watch_async("conclude", pipeline, "conclude_submission")
    meter.watch_async("conclude", conclude_submission, "prepare_publication")
    meter.watch_async("last commit", pipeline, "commit")
    meter.watch("log", pipeline, "report_processed")
    meter.watch("copy", fetch_source, "copy_files")
    meter.watch("archive", fetch_source, "pack_contents")
    meter.watch("archive", version_files, "pack")
    meter.watch("remove", workspace, "_remove_few")
    meter.watch("remove", shutil, "rmtree")


async def measure(folder: Path, meter: Meter) -> tuple[Cost, collections.Counter[str]]:
    skills = folder / "skills"
    first = write_skills(skills, range(COUNT, COUNT + WARM_UP))
    sources = write_skills(skills, range(COUNT))
    settings = Settings(
        database_url=f"sqlite:///{folder}/bench.db",
        local_folders=str(skills),
        scan_processes=os.cpu_count() or 1,
    )
    async with open_worker_env(settings) as env:
        await _process_all(env, first)
        meter.reset()
        threads, started = thread_seconds(), time.perf_counter()
        ours, checks = time.process_time(), children_seconds()
        ids = await _process_all(env, sources)
        cost = Cost(
            wall=time.perf_counter() - started,
            ours=time.process_time() - ours,
            checks=children_seconds() - checks,
            phases=_phases(meter, before=threads, after=thread_seconds()),
        )

        async def read() -> list[Submission]:
            return await get_submissions_fresh(ids)

        found = await run_with_worker_env(env, read)
    ends = collections.Counter(str(item.state) for item in found)
    explained = all(item.reason for item in found if item.state is not SubmissionState.PUBLISHED)
    if len(found) != COUNT or not explained:
        raise SystemExit(f"not every submission has an explained end: {ends}")
    return cost, ends


async def _process_all(env: WorkerEnv, sources: list[Source]) -> list[str]:
    async def submit_all() -> list[str]:
        done = await asyncio.gather(
            *(intake.submit(source, submitter="bench") for source in sources)
        )
        return [result.submission.id for result in done]

    ids = await run_with_worker_env(env, submit_all)
    await Worker(env).run(asyncio.Event(), drain=True)
    return ids


def _phases(meter: Meter, *, before: Seconds, after: Seconds) -> Seconds:
    """Take apart what each kind of thread did; what no phase owns is named too."""
    phases: Seconds = collections.defaultdict(float)
    for kind, seconds in after.items():
        place = _THREADS.get(kind, _FILES)
        known = meter.seconds_in(kind)
        for phase, used in known.items():
            phases[f"{place}: {phase}"] += used
        rest = seconds - before[kind] - sum(known.values())
        phases[f"{place}: {_REST}" if known else place] += rest
    return phases


def children_seconds() -> float:
    """Return what the processes used that we started, those that live and those that ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(map(_used_by_child, _processes()))


def _processes() -> list[Path]:
    return [entry for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _used_by_child(process: Path) -> float:
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return 0.0
    parent, user, system = (int(fields[at]) for at in (1, 11, 12))
    return (user + system) / _TICKS if parent == os.getpid() else 0.0


async def main() -> None:
    print_title(
        f"{COUNT:,} small local skills, submitted at once, one node",
        f"a submission costs at most {ratio(TARGET)} the processor time of its check",
    )
    meter = Meter()
    costs = []
    for _ in range(RUNS):
        cost, ends = await _run(meter)
        costs.append(cost)
        each, check = (seconds / COUNT * 1000 for seconds in (cost.ours, cost.checks))
        print_note(
            f"{each:.2f} ms beside {check:.2f} ms of check: {ratio(cost.factor)}; "
            f"{COUNT / cost.wall:.0f} skills/s; ends: {dict(ends)}"
        )
    watch_phases(meter)  # which costs something too
    _print((await _run(meter))[0])
    kind, _ = file_system(new_folder(in_memory=fits_into_memory(0)).parent)
    print_note(f"small workspaces on {kind}, the database as in the title")
    best = min(costs, key=lambda cost: cost.factor)
    print_verdict(
        "a submission against its check alone",
        ours=duration((best.ours + best.checks) / COUNT),
        other=f"check alone {duration(best.checks / COUNT)}",
        figure=f"{ratio(best.factor)} the processor time",
        target=f"≤ {ratio(TARGET)}",
        is_reached=best.factor <= TARGET,
        less=less_than_claimed(COUNT, CLAIMED, "skills"),
    )


async def _run(meter: Meter) -> tuple[Cost, collections.Counter[str]]:
    with scratch() as folder, (folder / "log").open("w") as log, redirect_stderr(log):
        set_up_logs(level="INFO", as_json=False)  # as a worker does that nobody has configured
        return await measure(folder, meter)


def _print(cost: Cost) -> None:
    print_table(
        ("processor time", "in all", "a skill", "share"),
        [
            _row("reading and judging, in the processes of the checks", cost.checks, cost),
            _row("everything else", cost.ours, cost),
            _row("sum", cost.ours + cost.checks, cost),
        ],
    )
    print_table(
        ("everything else, by phase", "in all", "a skill", "share"),
        [
            _row(phase, seconds, cost)
            for phase, seconds in sorted(cost.phases.items(), key=lambda item: -item[1])
        ],
    )


def _row(what: str, seconds: float, cost: Cost) -> tuple[str, str, str, str]:
    return (
        what,
        f"{seconds:.2f} s",
        f"{seconds / COUNT * 1000:.2f} ms",
        f"{seconds / (cost.ours + cost.checks):.0%}",
    )


if __name__ == "__main__":
    uvloop.run(main())
