"""Fuzz every target for a while, one after the other, then check the failures once more.

`python fuzz/run.py [TARGET …] [--seconds N] [--also FOLDER]`. The corpus and the failures stay in
`.fuzz/` for the next run. An input is reported only if it fails again without instrumentation.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from fuzz.seeds import dictionary
from fuzz.targets import TARGETS

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".fuzz"
#: Beyond the time of the run, for what libFuzzer does at its ends.
_GRACE_SECONDS = 120
_REPLAY_SECONDS = 60
_MEMORY_MB = 2048
_EXECUTIONS = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_COVERED = re.compile(r"cov: (\d+)")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    target: str
    executions: int
    covered: int
    found: tuple[Path, ...]


def main() -> int:
    options = _options()
    names = options.targets or list(TARGETS)
    for name in names:
        _plant(name, options.also)
    outcomes = []
    for name in names:
        outcomes.append(_fuzz(name, options.seconds))
        _print(outcomes[-1])
    return 1 if any(outcome.found or not outcome.executions for outcome in outcomes) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--also", type=Path, help="a folder whose files are further seeds")
    return parser.parse_args()


def _plant(name: str, also: Path | None) -> None:
    for folder in ("corpus", "found"):
        (KEPT / name / folder).mkdir(parents=True, exist_ok=True)
    target = TARGETS[name]
    for number, seed in enumerate(target.seeds()):
        (KEPT / name / "corpus" / f"seed-{number:04}").write_bytes(seed)
    further = sorted((also / name).iterdir()) if also and (also / name).is_dir() else []
    for path in further:
        (KEPT / name / "corpus" / path.name).write_bytes(path.read_bytes()[: target.max_bytes])
    (KEPT / "dictionary").write_text("".join(_quoted(sorted(set(dictionary())))))


def _quoted(words: Iterable[str]) -> Iterable[str]:
    for word in words:
        if word.isascii() and word.isprintable():
            escaped = word.replace("\\", "\\\\").replace('"', '\\"')
            yield f'"{escaped}"\n'


def _fuzz(name: str, seconds: int) -> Outcome:
    folder = KEPT / name
    command = [
        sys.executable, str(ROOT / "fuzz/harness.py"), name, str(folder / "found"),
        f"-max_total_time={seconds}", f"-max_len={TARGETS[name].max_bytes}",
        f"-dict={KEPT / 'dictionary'}", f"-rss_limit_mb={_MEMORY_MB}", "-timeout=120",
        f"-artifact_prefix={folder / 'found'}/", "-print_final_stats=1", str(folder / "corpus"),
    ]  # fmt: skip
    log = folder / "log"
    with log.open("wb") as out, suppress(subprocess.TimeoutExpired):  # then it has no executions
        subprocess.run(
            command, stdout=out, stderr=out, timeout=seconds + _GRACE_SECONDS, check=False
        )
    text = log.read_text(errors="replace")
    covered = [int(found) for found in _COVERED.findall(text)]
    return Outcome(
        target=name,
        executions=sum(int(found) for found in _EXECUTIONS.findall(text)),
        covered=max(covered, default=0),
        found=tuple(path for path in sorted((folder / "found").iterdir()) if _fails(name, path)),
    )


def _fails(name: str, path: Path) -> bool:
    """Run a kept input once more; forget it if it is fine without the instruments."""
    command = [sys.executable, str(ROOT / "fuzz/replay.py"), name, str(path)]
    try:
        code = subprocess.run(
            command, capture_output=True, timeout=_REPLAY_SECONDS, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return True
    if code == 0:
        path.unlink()
    return code != 0


def _print(outcome: Outcome) -> None:
    print(
        f"{outcome.target:12} {outcome.executions:>9,} executions, {outcome.covered:>6,} branches,"
        f" {len(outcome.found)} found",
        flush=True,
    )
    for path in outcome.found:
        print(f"             {path.relative_to(ROOT)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
