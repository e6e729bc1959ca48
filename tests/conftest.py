"""Fixtures for all tests."""

import functools
import gc
import inspect
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog
from _pytest.pathlib import import_path
from anyio import CapacityLimiter, fail_after
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from tests.clocks import ManualClock
from tests.empty_database import write_empty_database
from tests.git_server import GitServer, a_git_server
from tests.people import CHEAP_HASHER
from vskill_platform.access import passwords
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.ports import Engine
from vskill_platform.engines.sqlite import readers
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.settings import Settings

# The same few examples in every run, however busy the machine is: a change that breaks nothing
# must not fail. Others, and more of them, are for `make torture` and `make fuzz`.
settings.register_profile("quick", max_examples=20, derandomize=True, database=None, deadline=None)
settings.register_profile("torture", max_examples=500, deadline=None)
settings.register_profile("fuzz", max_examples=5_000, deadline=None)
settings.load_profile("quick")

# To draw a traceback with its code and all its variables takes longer than the test that made it.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)

_READERS = readers.READERS
_REAL_PASSWORDS = (passwords._HASHER, passwords.DUMMY_DIGEST)
#: How long a test may take.
_SECONDS = pytest.StashKey[float]()
#: How much of it all tests together need at a time, and many times as much.
_ENOUGH_MEMORY = 1024 * 1024 * 1024
#: The git server of the tests answers later than a real host if the machine is busy.
_PATIENT = timedelta(seconds=35)

#: Collections took 7 % of the time of all tests with the 700 that Python suggests.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # it ships no types
    """Give each file to one worker, so that its fixtures are set up once.

    All browser tests go to the same worker: they share one registry, which takes long to start.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return "tests/browser" if file.startswith("tests/browser/") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        choices=["sqlite", "postgres"],
        help="run all pipeline and browser tests on this engine; else a few run on both",
    )


def pytest_configure() -> None:
    _write_into_memory()
    gc.disable()  # collecting the tests makes many objects and no garbage


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let each worker import its share of the test files before all workers collect all files.

    Pytest rewrites the assertions of a file at its first import, and caches the result. In a new
    clone, workers that collect all files at the same time would each rewrite every file.
    """
    config = session.config
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1:
        return
    own = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    roots = [config.invocation_params.dir / argument.split("::", 1)[0] for argument in config.args]
    files = sorted(file for root in roots for file in root.rglob("test_*.py"))
    for file in files[own::workers]:
        import_path(file, mode="importlib", root=config.rootpath, consider_namespace_packages=False)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    gc.enable()


def _write_into_memory() -> None:
    """Let tests write into memory, if there is some: on a disk, every commit waits for it."""
    memory = Path("/dev/shm")  # noqa: S108 - pytest makes its own folder in it
    if "TMPDIR" in os.environ or not memory.is_dir():
        return
    found = os.statvfs(memory)
    can_run_programs = not found.f_flag & os.ST_NOEXEC
    if can_run_programs and found.f_bavail * found.f_frsize > _ENOUGH_MEMORY:
        os.environ["TMPDIR"] = tempfile.tempdir = str(memory)


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    item.stash[_SECONDS] = settings.timeout


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """End an asynchronous test that hangs, from within and well before its timeout.

    The timeout leaves the test where it hangs, in the loop, and the teardown waits for it for ever.
    """
    test, seconds = pyfuncitem.obj, pyfuncitem.stash.get(_SECONDS, 0)
    if not seconds or not inspect.iscoroutinefunction(test):
        return

    @functools.wraps(test)
    async def in_time(**arguments: Any) -> None:
        with fail_after(0.75 * seconds):
            await test(**arguments)

    pyfuncitem.obj = in_time


@pytest.fixture(scope="session", autouse=True)
def measure_no_programs() -> Iterator[None]:
    """Leave what the tests start out of the coverage: it takes as long again.

    Nothing is lost by it: what they run is tested here too, and most are killed before they
    could tell what they ran.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("COVERAGE_PROCESS_")]:
            patch.delenv(name)
        yield


@pytest.fixture(scope="session", autouse=True)
def cheap_passwords() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_HASHER", CHEAP_HASHER)
        patch.setattr(passwords, "DUMMY_DIGEST", CHEAP_HASHER.hash("nobody has this password"))
        yield


@pytest.fixture(scope="session", autouse=True)
def one_reader() -> Iterator[None]:
    """Open one connection for reads instead of three: most tests read one thing after the other.

    The tests of the engines and the programs that tests start have all three.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "READERS", 1)
        yield


@pytest.fixture
def all_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "READERS", _READERS)


@pytest.fixture
def real_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digest passwords at the costs that users get."""
    monkeypatch.setattr(passwords, "_HASHER", _REAL_PASSWORDS[0])
    monkeypatch.setattr(passwords, "DUMMY_DIGEST", _REAL_PASSWORDS[1])


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:
    """Run all tests of a module in one event loop, and so in the same few scanning processes.

    They are what takes time: each loads the whole scanner. A worker keeps its own as long.
    """
    yield  # noqa: PT022 - a fixture that has ended keeps no loop


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine_url(tmp_path: Path) -> str:
    """An empty database; the contracts replace this by one of each engine."""
    file = tmp_path / "skills.db"
    write_empty_database(file)
    return f"sqlite:///{file}"


@pytest.fixture
async def engine(engine_url: str, clock: ManualClock) -> AsyncIterator[Engine]:
    engine = await open_engine(engine_url, clock=clock)
    yield engine
    await engine.close()


@pytest.fixture
async def env(engine: Engine, engine_url: str, clock: ManualClock, tmp_path: Path) -> WorkerEnv:
    """Return a worker env on a real database, with a clock that the test moves."""
    return WorkerEnv(
        engine=engine,
        settings=Settings(
            database_url=engine_url,
            node="node-1",
            local_folders=str(tmp_path),
            allowed_hosts="registry",
        ),
        clock=clock,
        scan_slots=CapacityLimiter(2),
    )


@pytest.fixture
async def bound(env: WorkerEnv) -> AsyncIterator[WorkerEnv]:
    """Run the test as work with the env in reach."""
    token = worker_env_storage.set(env)
    yield env
    worker_env_storage.reset(token)


@pytest.fixture
async def git_server(env: WorkerEnv, tmp_path: Path) -> AsyncIterator[GitServer]:
    """Run the test as work that may fetch from a git server on loopback."""
    with a_git_server(tmp_path / "served") as server:
        settings = msgspec.structs.replace(
            env.settings, private_hosts=server.origin, host_timeout=_PATIENT
        )
        token = worker_env_storage.set(replace(env, settings=settings))
        yield server
        worker_env_storage.reset(token)


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    """The log, one mapping per event."""
    with structlog.testing.capture_logs() as events:
        yield events


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    """Print at the end what was not tested, and how to get the program that is missing."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    for reason in sorted({str(report.longrepr[2]) for report in skipped}):
        terminalreporter.write_line(f"NOT TESTED: {reason.removeprefix('Skipped: ')}")
