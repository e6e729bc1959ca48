"""Every number that we claim, measured with fewer records in about five minutes, in one table.

    python benchmarks/quick.py [NAME…]

Each benchmark runs as in `make bench`, one after the other, but most with fewer records and
repetitions; the last column of the table says how many. The output of each goes to a log. The exit
code is 1 if a claim was missed or a benchmark did not finish.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.report import Claim, duration, print_note, print_table, scratch

_HERE = Path(__file__).parent
#: The script of each, with its arguments. The cost of 200 open pages is left to `make bench`: no
#: goal is set for it.
_BENCHMARKS: dict[str, tuple[str, ...]] = {
    "enumeration": ("bench_enumeration.py",),
    "pipeline": ("bench_pipeline.py",),
    "queue": ("bench_queue.py",),
    "wakeup": ("bench_wakeup.py",),
    "backlog": ("bench_backlog.py",),
    "stuck_detection": ("bench_stuck_detection.py",),
    "settled_reads": ("bench_settled_reads.py",),
    "similarity": ("bench_similarity.py",),
    "search": ("bench_search.py",),
    "protocols": ("bench_protocols.py",),
    "client_install": ("bench_client_install.py",),
    "hostile": ("bench_hostile.py", "zip-bomb", "deep-nesting"),
    "evasion": ("scan_evasion.py", "--quiet"),
}
#: None of them takes a quarter of this on two cores.
_PATIENCE_SECONDS = 300
#: Where a row of the table says whether the claim was held.
_RESULT = 5


def main(names: list[str]) -> None:
    chosen = names or list(_BENCHMARKS)
    if unknown := set(chosen) - set(_BENCHMARKS):
        raise SystemExit(
            f"no such benchmark: {', '.join(unknown)}; choose from {', '.join(_BENCHMARKS)}"
        )
    rows: list[tuple[str, ...]] = []
    log = Path("bench-quick.log").absolute()
    with scratch() as folder, log.open("wb") as output:
        for name in chosen:
            rows += _run(name, folder / name, output.fileno())
    print_table(("claim", "ours", "peer or limit", "ratio", "goal", "", "measured with"), rows)
    print_note(f"load of the last 15 minutes: {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores")
    print_note("not here: the comparison with Cisco's scanner (make bench-scan needs its corpus)")
    print_note(f"what each benchmark printed is in {log}")
    if any(row[_RESULT] != "held" for row in rows):
        raise SystemExit(1)


def _run(name: str, claims: Path, output: int) -> list[tuple[str, ...]]:
    started = time.perf_counter()
    print(f"{name} …", end=" ", flush=True)
    script, *arguments = _BENCHMARKS[name]
    command = [sys.executable, str(_HERE / script), *arguments]
    environment = {**os.environ, "VSKILL_BENCH_CLAIMS": str(claims)}
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdout=output,
            stderr=output,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
        problem = f"ended with {done.returncode}" if done.returncode else ""
    except subprocess.TimeoutExpired:
        problem = f"did not end within {_PATIENCE_SECONDS} s"
    print(duration(time.perf_counter() - started))
    lines = claims.read_bytes().splitlines() if claims.exists() else []
    found = [msgspec.json.decode(line, type=Claim) for line in lines]
    rows = [_row(name, one) for one in found]
    if problem or not rows:
        rows.append((name, problem or "claims nothing", "", "", "", "BROKEN", ""))
    return rows


def _row(name: str, claim: Claim) -> tuple[str, ...]:
    return (
        f"{name}: {claim.what}",
        claim.ours,
        claim.other,
        claim.figure,
        claim.target,
        "held" if claim.is_reached else "MISSED",
        claim.less,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
