"""The real program in separate processes, on a database file of the test."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import msgspec

from tests.acceptance.forked_program import Order
from tests.acceptance.loaded_program import loaded_program
from tests.acceptance.processes import PATIENCE_SECONDS, Finished, Process, Running
from vskill_platform.base.clock import Clock
from vskill_platform.model.submission import StateEvent, Submission
from vskill_platform.model.verdict import Report
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.open_env import open_worker_env
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import load_settings, variable

Result = TypeVar("Result")

PROGRAM = str(Path(sys.executable).with_name("vskill-platform"))
_SIGNAL_AT = str(Path(__file__).with_name("signal_at_function.py"))


class Status(msgspec.Struct, frozen=True):
    """What `status --json` prints."""

    submission: Submission
    history: list[StateEvent]
    report: Report | None

    @property
    def steps(self) -> list[str]:
        """The history in short: what made it move, and where to."""
        return [f"{event.trigger} {event.to_state}" for event in self.history]


class Platform:
    """One installation: a database file, its settings, and everything that runs on it."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.database = folder / "skills.db"
        self.settings = {
            "database_url": f"sqlite:///{self.database}",
            "local_folders": str(folder),
            # The git server of the tests answers later than a real host if the machine is busy.
            "host_timeout": "35s",
            **settings,
        }
        #: How wide the terminal is.
        self.columns = 200
        #: How many seconds a command may take.
        self.patience = PATIENCE_SECONDS
        self._running: list[Running] = []
        (folder / "tmp").mkdir()

    def run(self, *arguments: str | Path, **settings: str) -> Finished:
        """Run one command to its end."""
        return self._run(arguments, settings)

    def run_unprivileged(self, *arguments: str | Path, prefix: Sequence[str] = ()) -> Finished:
        """Run one command as somebody for whom, unlike for root, permissions and limits count.

        *prefix* is a program that starts it, such as `prlimit --as=…`.
        """
        drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-sys_resource"]
        done = subprocess.run(
            [*(drop if os.geteuid() == 0 else []), *prefix, PROGRAM, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=self._environment({}),
            cwd=self.folder,
            timeout=self.patience,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def run_on_terminal(self, *arguments: str | Path, answer: str) -> Finished:
        """Run one command for somebody at a terminal who types one line."""
        typing, terminal = pty.openpty()
        try:
            os.write(typing, f"{answer}\n".encode())
            done = subprocess.run(
                [PROGRAM, *map(str, arguments)],
                stdin=terminal,
                capture_output=True,
                text=True,
                env=self._environment({}),
                cwd=self.folder,
                timeout=self.patience,
                check=False,
            )
        finally:
            os.close(typing)
            os.close(terminal)
        return Finished(done.returncode, done.stdout, done.stderr)

    def run_killed(
        self, moment: str, place: str, *arguments: str | Path, ago: timedelta = timedelta(0)
    ) -> None:
        """Run a command, *ago* in the past, that does not survive the call of a function."""
        finished = self._run(arguments, {}, harm=_harm("SIGKILL", moment, place, ago))
        assert finished.code == -signal.SIGKILL, f"it never got to {place}: {finished}"

    def start_sleeping(
        self, moment: str, place: str, *arguments: str | Path, ago: timedelta
    ) -> Running:
        """Start a command, *ago* in the past, that falls asleep at the call of a function."""
        harm = _harm("SIGSTOP", moment, place, ago)
        command = [sys.executable, "-P", _SIGNAL_AT, *harm, *map(str, arguments)]
        sleeper = self._start(command, {})
        sleeper.wait_until_it_sleeps()
        return sleeper

    def start(self, *arguments: str | Path, **settings: str) -> Running:
        """Start a command that runs in the background."""
        return self._follow(loaded_program().start(self._order(arguments, settings)))

    def start_anew(
        self, *arguments: str | Path, prefix: Sequence[str] = (), **settings: str
    ) -> Running:
        """Start the program as it is installed; *prefix* is a program that starts it."""
        return self._start([*prefix, PROGRAM, *map(str, arguments)], settings)

    def start_elsewhere(
        self, arguments: Sequence[str], environment: dict[str, str], folder: Path
    ) -> Running:
        """Start a command of somebody who has another home and other settings."""
        order = Order([os.fsencode(one) for one in (PROGRAM, *arguments)], environment, str(folder))
        return self._follow(loaded_program().start(order))

    def start_logging_to(self, stderr: int, *arguments: str | Path, **settings: str) -> Running:
        """Start a command whose standard error is this file, which is closed here."""
        try:
            return self._follow(loaded_program().start(self._order(arguments, settings), stderr))
        finally:
            os.close(stderr)

    def submit(self, *arguments: str | Path) -> str:
        """Submit a source; return the id of the submission."""
        finished = self.run("submit", "--json", *arguments)
        assert finished.code == 0, finished
        return str(msgspec.json.decode(finished.out)["submission"]["id"])

    def status(self, submission_id: str) -> Status:
        finished = self.run("status", "--json", submission_id)
        assert finished.code == 0, finished
        return msgspec.json.decode(finished.out, type=Status)

    @asynccontextmanager
    async def env(self, *, clock: Clock | None = None) -> AsyncIterator[WorkerEnv]:
        """Open the same database from within the test, to look at it or to let time pass."""
        settings = load_settings(self._environment({}))
        async with open_worker_env(settings, clock=clock) as env:
            yield env

    async def inside(
        self, work: Callable[[], Awaitable[Result]], *, clock: Clock | None = None
    ) -> Result:
        async with self.env(clock=clock) as env:
            return await run_with_worker_env(env, work)

    def end_everything(self) -> None:
        for running in self._running:
            if running.is_alive:
                running.kill()

    def _run(
        self, arguments: Sequence[str | Path], settings: dict[str, str], harm: Sequence[str] = ()
    ) -> Finished:
        order = self._order(arguments, settings, harm)
        return loaded_program().run(order, patience=self.patience)

    def _order(
        self, arguments: Sequence[str | Path], settings: dict[str, str], harm: Sequence[str] = ()
    ) -> Order:
        return Order(
            [os.fsencode(argument) for argument in (PROGRAM, *arguments)],
            self._environment(settings),
            str(self.folder),
            list(harm),
        )

    def _start(self, command: Sequence[str], settings: dict[str, str]) -> Running:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment(settings),
            cwd=self.folder,
        )
        return self._follow(process)

    def _follow(self, process: Process) -> Running:
        self._running.append(Running(process))
        return self._running[-1]

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        ours = {variable(name): value for name, value in {**self.settings, **settings}.items()}
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("VSKILL_")
        }
        tidy = {"COLUMNS": str(self.columns), "TMPDIR": str(self.folder / "tmp")}
        return inherited | tidy | ours


def _harm(number: str, moment: str, place: str, ago: timedelta) -> list[str]:
    return [number, moment, place, str(ago.total_seconds())]
