"""`install` of one skill from a registry on this machine, compared with `clawhub install`.

Both clients are started as programs, in turns, each time with an empty home folder: nothing is
cached, and each ends with the files of the skill on disk. The server is the real one. Clawhub comes
from `make test-clients`; without it, only our own time is measured.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.report import (
    Sample,
    amount,
    print_note,
    print_table,
    print_title,
    print_verdict,
    ratio,
    scratch,
)

TARGET = 1.5
REPETITIONS = amount(15, quick=5)
_ROOT = Path(__file__).parents[1]
_PROGRAM = Path(sys.executable).with_name("vskill-platform")
_MODULES = Path(os.environ.get("VSKILL_BENCH_CLIENTS", _ROOT / ".clients")) / "node_modules"
_SKILL = "@local/csv-profile"
_PATIENCE_SECONDS = 60


def main() -> None:
    print_title(
        "Install one skill",
        f"at most {TARGET} times as long as clawhub takes for the same skill and server",
    )
    with scratch() as folder, served(folder) as url:
        contenders = {"vskill-platform install": ours(folder, url)}
        if (_MODULES / "clawhub").is_dir():
            contenders["clawhub install"] = clawhub(folder, url)
        measured = measure(list(contenders.values()))
    print_table(("client", "time"), list(zip(contenders, measured, strict=True)))
    if len(measured) == 1:
        print_note("clawhub is not installed: run `make test-clients` first")
        return
    figure = measured[0].median / measured[1].median
    print_verdict(
        "install of one skill compared with clawhub",
        figure=ratio(figure),
        target=f"≤ {ratio(TARGET)}",
        is_reached=figure <= TARGET,
        ours=str(measured[0]),
        other=str(measured[1]),
    )


def measure(contenders: list[Callable[[], float]]) -> list[Sample]:
    """Time the contenders in turns, so that noise hits both; the first turn only warms up."""
    turns = [[contender() for contender in contenders] for _ in range(REPETITIONS + 1)]
    return [Sample(column) for column in zip(*turns[1:], strict=True)]


def ours(folder: Path, url: str) -> Callable[[], float]:
    command = [str(_PROGRAM), "install", _SKILL, "--dir", "skills", "--registry", url]
    return lambda: timed(folder / "ours", command)


def clawhub(folder: Path, url: str) -> Callable[[], float]:
    node, script = _MODULES / "node22/bin/node", _MODULES / "clawhub/bin/clawdhub.js"
    command = [str(node), str(script), "--registry", url, "--site", url, "install", _SKILL]
    return lambda: timed(folder / "clawhub", command)


def timed(home: Path, command: list[str]) -> float:
    """Run a client in an empty home folder, and check that it installed the skill."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "CI": "1",
        "CLAWHUB_DISABLE_TELEMETRY": "1",
    }
    started = time.perf_counter()
    done = subprocess.run(
        command, cwd=home, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        check=False, timeout=_PATIENCE_SECONDS,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    if done.returncode or not list(home.rglob("csv-profile/SKILL.md")):
        raise SystemExit(f"{command[0]} failed: {(done.stdout + done.stderr).decode()}")
    return seconds


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run a registry with the demo skills, until the end of the benchmark."""
    environment = {
        **os.environ,
        "VSKILL_DATABASE_URL": f"sqlite:///{folder}/registry.db",
        "VSKILL_PORT": str(free_port()),
        "VSKILL_READS_PER_MINUTE": "100000",
    }
    command = [str(_PROGRAM), "serve", "--submit-all", str(_ROOT / "demo")]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as server:
        try:
            url = wait_for_address(server)
            wait_for_skill(url)
            yield url
        finally:
            server.terminate()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def wait_for_address(server: subprocess.Popen[bytes]) -> str:
    lines = []
    for line in server.stdout or ():
        lines.append(line.decode())
        if found := re.search(r"vskill-platform is at (http://\S+)", lines[-1]):
            return found[1]
    raise SystemExit(f"the server did not start: {''.join(lines)}")


def wait_for_skill(url: str) -> None:
    """Wait until the skill has passed its checks."""
    until = time.monotonic() + _PATIENCE_SECONDS
    environment = {**os.environ, "VSKILL_REGISTRY": url}
    while subprocess.run(
        [str(_PROGRAM), "info", _SKILL], env=environment, capture_output=True, check=False
    ).returncode:
        if time.monotonic() > until:
            raise SystemExit(f"{_SKILL} was not published in time")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
