# ruff: noqa: SLF001 - it switches off what is private
"""What each speed trick in the code buys: with it, without it, and the ratio of processor time.

A trick that buys nothing here makes the code harder to read for no reason: remove it.
"""

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.report import duration, print_note, print_table
from vskill_platform.fetch.workspace import _remove_few
from vskill_platform.scan.facts import pattern_set, prose

_ROUNDS = 5
_ROOT = Path(__file__).parents[1]
#: Prose as skills contain it: instructions, tables, code blocks.
_TEXTS = [path.read_text() for path in sorted(_ROOT.glob("d[eo][mc]*/**/*.md"))]
_IMPORTS = "import vskill_platform.cli.submissions, vskill_platform.cli.run_command"


def main() -> None:
    rows = [
        _row("remove few files without a thread", *_removing()),
        _row("search words in pieces of 400 bytes", *_searching()),
        _row("start a command without garbage collection", *_starting()),
    ]
    print_table(("trick", "with it", "without it", "ratio"), rows)
    print_note("processor time, the best of five rounds each")


def _row(trick: str, with_it: float, without: float) -> tuple[str, str, str, str]:
    return trick, duration(with_it), duration(without), f"{without / with_it:.2f}x"


def _best(work: Callable[[], None]) -> float:
    taken = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def _removing() -> tuple[float, float]:
    files = ["SKILL.md", "scripts/run.py", "references/guide.md"]

    def folder() -> Path:
        path = Path(tempfile.mkdtemp())
        for file in files:
            (path / file).parent.mkdir(exist_ok=True)
            (path / file).write_text("x")
        return path

    def in_thread(path: Path) -> None:
        thread = threading.Thread(target=shutil.rmtree, args=(path,))
        thread.start()
        thread.join()

    def total(remove: Callable[[Path], object]) -> float:
        folders = [folder() for _ in range(100)]
        start = time.process_time()
        for path in folders:
            remove(path)
        return (time.process_time() - start) / len(folders)

    few = min(total(lambda path: _remove_few(path, files)) for _ in range(_ROUNDS))
    return few, min(total(in_thread) for _ in range(_ROUNDS))


def _searching() -> tuple[float, float]:
    patterns = prose._lexicon().patterns

    def search() -> None:
        for text in _TEXTS:
            patterns.finds(text)

    size = pattern_set._PIECE_BYTES
    try:
        with_it = _best(search)
        pattern_set._PIECE_BYTES = max(map(len, _TEXTS))
        return with_it, _best(search)
    finally:
        pattern_set._PIECE_BYTES = size


def _starting() -> tuple[float, float]:
    return (
        _program(f"import gc; gc.disable(); {_IMPORTS}; gc.freeze()"),
        _program(_IMPORTS),
    )


def _program(code: str) -> float:
    taken = []
    for _ in range(_ROUNDS):
        start = getrusage(RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        end = getrusage(RUSAGE_CHILDREN)
        taken.append(end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)
    return min(taken)


if __name__ == "__main__":
    main()
