"""Every number that we claim, measured with less and in about five minutes, in one table.

    python benchmarks/quick.py [NAME…]

Each benchmark runs as in `make bench`, one after the other, but with fewer records and repetitions.
Of the hostile inputs only a few kinds are tried. What each of them prints goes to a log; the table
at the end has the claims. The exit code is 1 if one was missed or a benchmark did not end.
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
#: Each with its arguments. What 200 open pages cost is measured by `make bench` alone: it is a
#: figure without a claim.
_BENCHMARKS: dict[str, tuple[str, ...]] = {
    "enumeration": (),
    "walk": (),
    "queue": (),
    "wakeup": (),
    "stuck_detection": (),
    "settled_reads": (),
    "likeness": (),
    "search": (),
    "hostile": ("zip-bomb", "deep-nesting"),
}
#: None of them takes a quarter of this on two cores.
_PATIENCE_SECONDS = 300


def main(names: list[str]) -> None:
    chosen = names or list(_BENCHMARKS)
    if unknown := set(chosen) - set(_BENCHMARKS):
        raise SystemExit(f"no such benchmark: {', '.join(unknown)}; there are {_BENCHMARKS.keys()}")
    rows: list[tuple[str, ...]] = []
    log = Path("bench-quick.log").absolute()
    with scratch() as folder, log.open("wb") as output:
        for name in chosen:
            rows += _run(name, folder / name, output.fileno())
    print_table(("claim", "figure", "goal", ""), rows)
    print_note(f"what each benchmark printed is in {log}")
    if any(row[-1] != "held" for row in rows):
        raise SystemExit(1)


def _run(name: str, claims: Path, output: int) -> list[tuple[str, ...]]:
    started = time.perf_counter()
    print(f"{name} …", end=" ", flush=True)
    command = [sys.executable, str(_HERE / f"bench_{name}.py"), *_BENCHMARKS[name]]
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
    rows: list[tuple[str, ...]] = [
        (f"{name}: {one.what}", one.figure, one.target, "held" if one.is_reached else "MISSED")
        for one in found
    ]
    if problem or not rows:
        rows.append((name, problem or "claims nothing", "", "BROKEN"))
    return rows


if __name__ == "__main__":
    main(sys.argv[1:])
