"""The cost of 50 MiB of each kind of hostile input, compared with the documented limits.

Each kind is sent in every possible way: `scan`, `submit` (packed and uploaded), and processing by a
worker. Time and memory include all child processes and the start of the program; they must stay
within the limits in docs/operations.md. Name kinds as arguments to measure only those.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.hostile_inputs import KINDS, SIZE, Kind
from benchmarks.process_tree import Cost, measure
from benchmarks.report import (
    duration,
    less_than_claimed,
    print_note,
    print_title,
    print_verdict,
    scratch,
)
from tests.git_server import GitServer, a_git_server
from vskill_platform.base.killable_process import MAX_CPU_SECONDS, MAX_MEMORY_BYTES
from vskill_platform.base.worker_pool import Bounds
from vskill_platform.settings import Settings

_PROGRAM = str(Path(sys.executable).with_name("vskill-platform"))
#: What the removal of its files may add to a limit; its start is measured.
_ALLOWANCE_SECONDS = 5.0
_PATIENCE = 4
_SHOWN = 70
_LINE = "  {:20} {:13} {:>7} {:>9} {:>8} {:>9} {:>9} {:>8}  {}"
_HEAD = ("kind", "way", "wall", "processor", "allowed", "largest", "together", "of 1 GiB",
         "how it ended")  # fmt: skip


class Way(msgspec.Struct, frozen=True):
    """One way in, and what it may cost by the documents."""

    name: str
    seconds: float


_SCAN = Way("scan", Bounds().seconds)
_SCAN_ARCHIVE = Way("unpack, scan", MAX_CPU_SECONDS + Bounds().seconds)
_SCAN_REPO = Way("clone, scan", 300 + Bounds().seconds)
_UPLOAD = Way("upload", MAX_CPU_SECONDS)
_PROCESS = Way("process", Settings().message_deadline.total_seconds())


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    way: Way
    end: str
    cost: Cost
    #: How long the program takes to do nothing: on a busy machine that is a part of the whole.
    start_seconds: float

    @property
    def of_time(self) -> float:
        allowed = self.way.seconds + self.start_seconds + _ALLOWANCE_SECONDS
        return max(self.cost.wall, self.cost.cpu) / allowed

    @property
    def of_memory(self) -> float:
        return self.cost.together / MAX_MEMORY_BYTES


class Bench:
    """One kind after the other, each in folders and its own database."""

    def __init__(self, folder: Path, server: GitServer) -> None:
        self._folder, self._server = folder, server
        self._place = folder
        self._start_seconds = 0.0

    def measure(self, kind: Kind) -> Iterator[Measured]:
        self._place = self._folder / kind.name
        for name in ("tmp", "run", "skills"):
            (self._place / name).mkdir(parents=True)
        made = kind.make(self._place / "skills" / kind.name)
        self._start_seconds = self._run(_PROCESS, "work", "--drain").wall
        ways = self._ways_of_repo(kind, made) if kind.is_repo else self._ways_of_files(kind, made)
        yield from ways
        left = [path.name for path in (self._place / "tmp").iterdir()]
        assert not left, f"{kind.name} leaves behind {left}"
        shutil.rmtree(self._place)

    def _ways_of_files(self, kind: Kind, made: Path) -> Iterator[Measured]:
        way = _SCAN if made.is_dir() else _SCAN_ARCHIVE
        yield self._scan(kind, way, str(made))
        uploaded = self._run(_UPLOAD, "submit", str(made), "--json")
        yield self._measured(kind, _UPLOAD, _answer(uploaded), uploaded)
        if uploaded.code == 0:
            yield self._process(kind, uploaded)
        elif made.is_dir():  # where files are read where they lie, nothing is packed
            yield self._process(kind, self._submit(str(made)))

    def _ways_of_repo(self, kind: Kind, made: Path) -> Iterator[Measured]:
        url = self._server.serve_repo(made, f"ada/{kind.name}")
        yield self._scan(kind, _SCAN_REPO, f"file://{made}")
        yield self._process(kind, self._submit(url))

    def _scan(self, kind: Kind, way: Way, target: str) -> Measured:
        cost = self._run(way, "scan", target, "--format=json")
        (found,) = msgspec.json.decode(cost.output)["skills"]
        return self._measured(kind, way, _verdict(found), cost)

    def _submit(self, target: str) -> Cost:
        cost = self._run(_PROCESS, "submit", target, "--json", local_folders=str(self._place))
        assert cost.code == 0, cost.complaints
        return cost

    def _process(self, kind: Kind, submitted: Cost) -> Measured:
        """Let a worker have one try; one that breaks off would be tried again."""
        own_id = msgspec.json.decode(submitted.output)["submission"]["id"]
        cost = self._run(_PROCESS, "work", "--drain", local_folders=str(self._place))
        shown = self._run(_PROCESS, "status", own_id, "--json")
        ended = msgspec.json.decode(shown.output)["submission"]
        return self._measured(kind, _PROCESS, f"{ended['state']}: {ended['reason']}", cost)

    def _measured(self, kind: Kind, way: Way, end: str, cost: Cost) -> Measured:
        return Measured(
            kind=kind.name, way=way, end=end, cost=cost, start_seconds=self._start_seconds
        )

    def _run(self, way: Way, *arguments: str, **settings: str) -> Cost:
        inherited = {name: text for name, text in os.environ.items() if "VSKILL" not in name}
        ours = {
            "database_url": f"sqlite:///{self._place}/bench.db",
            "private_hosts": self._server.origin,
            "log_level": "ERROR",
            **settings,
        }
        named = {f"VSKILL_{name.upper()}": text for name, text in ours.items()}
        return measure(
            [_PROGRAM, *arguments],
            environment={**inherited, "TMPDIR": str(self._place / "tmp"), **named},
            folder=self._place / "run",
            patience=way.seconds * _PATIENCE,
        )


def _verdict(found: dict[str, Any]) -> str:
    if found["verdict"] == "error":
        return str(found["error"])
    rules = sorted({finding["rule"] for finding in found["findings"]})
    return f"{found['verdict']}: {', '.join(rules)}"


def _answer(cost: Cost) -> str:
    if cost.code:
        return cost.complaints.strip().rpartition("\n")[2]
    return str(msgspec.json.decode(cost.output)["kind"])


def _print_head() -> None:
    print()
    print(_LINE.format(*_HEAD))
    print(_LINE.format(*("-" * len(title) for title in _HEAD)))


def _print_row(measured: Measured) -> None:
    """Print each as soon as it is known: all of them take a while."""
    cost = measured.cost
    row = _LINE.format(
        measured.kind,
        measured.way.name,
        duration(cost.wall),
        duration(cost.cpu),
        f"{measured.of_time:.0%}",
        f"{cost.largest / 2**20:,.0f} MiB",
        f"{cost.together / 2**20:,.0f} MiB",
        f"{measured.of_memory:.0%}",
        measured.end[:_SHOWN],
    )
    print(row, flush=True)


def _print_verdicts(found: list[Measured]) -> None:
    less = less_than_claimed(len({one.kind for one in found}), len(KINDS), "kinds of input")
    print_note(
        f"allowed: scan {_SCAN.seconds:g} s (to unpack before it as much again, to clone 300 s), "
        f"upload {_UPLOAD.seconds:g} s, process {_PROCESS.seconds:g} s, "
        f"and what the program takes to start, and {_ALLOWANCE_SECONDS:g} s to end; 1 GiB for all"
    )
    slow = max(found, key=lambda one: one.of_time)
    print_verdict(
        "time",
        ours=f"{slow.kind}, {slow.way.name}",
        figure=f"at most {slow.of_time:.0%}",
        less=less,
        target="≤ 100 %",
        is_reached=slow.of_time <= 1,
    )
    large = max(found, key=lambda one: one.of_memory)
    print_verdict(
        "memory",
        ours=f"{large.kind}, {large.way.name}",
        figure=f"at most {large.of_memory:.0%}",
        less=less,
        target="≤ 100 %",
        is_reached=large.of_memory <= 1,
    )
    published = [one.kind for one in found if one.end.startswith("PUBLISHED")]
    print_verdict(
        "published",
        figure=", ".join(published) or "none",
        target="none",
        is_reached=not published,
        less=less,
    )


def main(names: list[str]) -> None:
    print_title(
        f"{SIZE // 2**20} MiB of hostile input of each kind",
        "all of it ends within the documented time and memory, and none of it is published",
    )
    found = []
    with ExitStack() as stack:
        folder = stack.enter_context(scratch())
        bench = Bench(folder, stack.enter_context(a_git_server(folder / "repos")))
        _print_head()
        for kind in KINDS:
            if not names or kind.name in names:
                for one in bench.measure(kind):
                    _print_row(one)
                    found.append(one)
    _print_verdicts(found)


if __name__ == "__main__":
    main(sys.argv[1:])
