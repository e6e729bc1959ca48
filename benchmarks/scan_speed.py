"""Skills per second, compared with Cisco's scanner: same skills, same cores, including the start.

Each uses the fastest mode of its command line. Ours distributes the skills over two processes by
itself; Cisco's has one process, so two of them run with half of the skills each.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from benchmarks.report import duration, print_note, print_table, print_verdict, ratio
from benchmarks.scan_cisco import ENVIRONMENT, cisco_command, copy_skills, install
from benchmarks.scan_corpus import KINDS, Skill

#: Of each kind: all of the corpus would keep Cisco's busy for a quarter of an hour.
SAMPLE = 30
FASTER = 20
PROCESSES = 2


class Took(msgspec.Struct, frozen=True):
    seconds: float
    #: Busy neighbours distort it less.
    cpu_seconds: float


def print_speed(skills: Sequence[Skill]) -> None:
    chosen = sample(skills)
    with tempfile.TemporaryDirectory(prefix="vskill-speed-") as scratch:
        ours = time_ours(chosen, Path(scratch) / "ours")
        cisco = time_cisco(chosen, Path(scratch) / "cisco")
        rows = [
            _row(f"ours, {len(chosen)} skills", ours, len(chosen), ours),
            _row(f"Cisco, {len(chosen)} skills", cisco, len(chosen), ours),
        ]
        everything = time_ours(skills, Path(scratch) / "all")
        rows.append(_row(f"ours, {len(skills):,} skills", everything, len(skills), None))
    print_table(("two processes, start included", "skills/s", "a skill", "CPU", "ours"), rows)
    print_note(f"sample: {SAMPLE} of each kind, by the digest of the id; CPU is for each skill")
    faster = cisco.seconds / ours.seconds
    print_verdict(
        "against Cisco's on the same skills and cores",
        figure=f"{ratio(faster)} as fast ({ratio(cisco.cpu_seconds / ours.cpu_seconds)} by CPU)",
        target=f"≥ {ratio(FASTER)}",
        is_reached=faster >= FASTER,
    )


def sample(skills: Iterable[Skill]) -> list[Skill]:
    """Take as many of each kind, always the same ones."""
    shuffled = sorted(skills, key=lambda skill: hashlib.sha256(skill.id.encode()).digest())
    by_kind = ([skill for skill in shuffled if skill.kind == kind] for kind in KINDS)
    return [skill for of_kind in by_kind for skill in of_kind[:SAMPLE]]


def time_ours(skills: Sequence[Skill], folder: Path) -> Took:
    copy_skills(skills, folder)
    program = str(Path(sys.executable).with_name("vskill-platform"))
    options = ["--recursive", "--format", "jsonl", "--jobs", str(PROCESSES)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    command = [program, "scan", *options, str(folder)]
    _time([[program, "scan", "--help"]], environment)  # both are installed, so both are compiled
    return _time([command], environment)


def time_cisco(skills: Sequence[Skill], folder: Path) -> Took:
    install()
    halves = enumerate(_even_halves(skills))
    folders = [copy_skills(half, folder / str(place)) for place, half in halves]
    return _time([cisco_command(half) for half in folders], ENVIRONMENT)


def _time(commands: Sequence[Sequence[str]], environment: dict[str, str]) -> Took:
    used, started = os.times(), time.perf_counter()
    running = [
        subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for command in commands
    ]
    codes = [process.wait() for process in running]
    seconds, now = time.perf_counter() - started, os.times()
    assert not any(codes), codes
    user = now.children_user - used.children_user
    return Took(seconds, user + now.children_system - used.children_system)


def _row(name: str, took: Took, count: int, ours: Took | None) -> tuple[str, ...]:
    return (
        name,
        f"{count / took.seconds:,.1f}",
        duration(took.seconds / count),
        duration(took.cpu_seconds / count),
        ratio(took.seconds / ours.seconds) if ours else "",
    )


def _even_halves(skills: Sequence[Skill]) -> tuple[list[Skill], list[Skill]]:
    """Share them out so that both processes have about as many bytes to read."""
    halves: tuple[list[Skill], list[Skill]] = ([], [])
    for skill in sorted(skills, key=lambda skill: skill.size, reverse=True):
        min(halves, key=lambda half: sum(one.size for one in half)).append(skill)
    return halves
