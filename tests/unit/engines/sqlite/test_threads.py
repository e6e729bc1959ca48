"""Threads with a connection each: every caller gets a result or an error."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from functools import partial

import apsw
import pytest

from tests.contracts.asking import GUARD_SECONDS
from vskill_platform.engines.sqlite.threads import ConnectionThreads
from vskill_platform.errors import EngineError, OutOfResources


def double(number: int, connection: apsw.Connection) -> object:
    return connection.execute("SELECT ? * 2", (number,)).get


@pytest.fixture
def connections() -> Iterator[list[apsw.Connection]]:
    with closing(apsw.Connection(":memory:")) as one, closing(apsw.Connection(":memory:")) as two:
        yield [one, two]


@pytest.fixture
async def threads(connections: list[apsw.Connection]) -> AsyncIterator[ConnectionThreads]:
    threads = ConnectionThreads(connections, name="tested")
    yield threads
    threads.close()


async def test_work_gets_a_connection_and_gives_back_its_result(
    threads: ConnectionThreads,
) -> None:
    answers = await asyncio.gather(*(threads.run(partial(double, n)) for n in range(50)))

    assert answers == [2 * n for n in range(50)]


async def test_no_two_use_a_connection_at_once(threads: ConnectionThreads) -> None:
    both_work = threading.Barrier(2)

    def work(at: apsw.Connection) -> int:
        both_work.wait(GUARD_SECONDS)
        return id(at)

    one, other = await asyncio.gather(threads.run(work), threads.run(work))

    assert one != other


@pytest.mark.parametrize("error", [ValueError, apsw.SQLError, SystemExit, KeyboardInterrupt])
async def test_an_error_reaches_the_caller_and_the_thread_continues(
    connections: list[apsw.Connection], error: type[BaseException]
) -> None:
    threads = ConnectionThreads(connections[:1], name="tested")

    def fail(_: apsw.Connection) -> None:
        raise error("broken")

    with pytest.raises(error, match="broken"):
        await threads.run(fail)
    assert await threads.run(lambda _: "goes on") == "goes on"
    threads.close()


async def test_a_cancelled_caller_gets_no_result(threads: ConnectionThreads) -> None:
    go_on = threading.Event()
    waiting = threads.run(lambda _: go_on.wait(GUARD_SECONDS))

    waiting.cancel()
    go_on.set()

    assert await threads.run(lambda _: "others are") == "others are"
    assert waiting.cancelled()


async def test_closing_finishes_what_was_begun(connections: list[apsw.Connection]) -> None:
    threads = ConnectionThreads(connections, name="tested")
    answers = [threads.run(partial(double, n)) for n in range(10)]

    threads.close()

    assert await asyncio.gather(*answers) == [2 * n for n in range(10)]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("tested")]
    with pytest.raises(apsw.ConnectionClosedError):
        connections[0].execute("SELECT 1")


async def test_work_that_comes_too_late_is_refused_and_does_not_wait_for_ever(
    connections: list[apsw.Connection],
) -> None:
    threads = ConnectionThreads(connections, name="tested")
    await asyncio.to_thread(threads.close)

    with pytest.raises(EngineError, match="closed"):
        await asyncio.wait_for(threads.run(partial(double, 1)), GUARD_SECONDS)


async def test_an_error_about_threads_names_the_limits_to_raise(
    connections: list[apsw.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    really_start, started = threading.Thread.start, list[threading.Thread]()

    def start_one(thread: threading.Thread) -> None:
        if thread.name == "tested_1":
            raise RuntimeError("can't start new thread")
        started.append(thread)
        really_start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)

    with pytest.raises(OutOfResources, match=r"raise the limit of memory \(`ulimit -v`"):
        ConnectionThreads(connections, name="tested")

    (first,) = started
    await asyncio.to_thread(first.join, GUARD_SECONDS)
    assert not first.is_alive()
