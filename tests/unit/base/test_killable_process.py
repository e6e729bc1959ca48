"""Python functions in processes that can be killed: results, errors, limits and crashes."""

import asyncio
import errno
import os
import signal
import time
from pathlib import Path

import msgspec
import pytest
from anyio import CapacityLimiter

from vskill_platform.base import killable_process
from vskill_platform.base.killable_process import (
    BROKE_DOWN,
    VISITORS,
    ProcessDied,
    run_for_visitor,
    run_in_process,
)
from vskill_platform.errors import Busy, SourceRefused


class Pair(msgspec.Struct, frozen=True):
    left: int
    right: tuple[str, ...]


def an_answer() -> int:
    return 42


def a_pair(left: int, right: tuple[str, ...]) -> Pair:
    return Pair(left, right)


def as_text(size: int) -> str:
    return "x" * size


def wrong_type() -> int:
    return "not a number"  # type: ignore[return-value]  # as a process would that was taken over


def not_valid_text() -> str:
    return "\udcff"


def process_id() -> int:
    return os.getpid()


def an_endless_loop() -> None:
    while True:
        pass


def die() -> None:
    os._exit(1)


def refuse(reason: str) -> None:
    raise SourceRefused(reason)


def fail_with(number: int) -> None:
    raise OSError(number, os.strerror(number))


def divide_by_zero() -> None:
    raise ZeroDivisionError("a bug of ours")


def too_deep() -> None:
    too_deep()


def exhaust_memory() -> int:
    return len(bytearray(2 * killable_process.MAX_MEMORY_BYTES))


def hang(folder: Path) -> None:
    (folder / "pid").write_text(str(os.getpid()))
    while True:
        time.sleep(1)


async def test_the_result_comes_back_as_the_type_that_the_work_names() -> None:
    assert await run_in_process(a_pair, 1, ("a", "b")) == Pair(1, ("a", "b"))


async def test_large_requests_and_answers_arrive_whole() -> None:
    assert await run_in_process(as_text, 5_000_000) == "x" * 5_000_000
    assert await run_in_process(a_pair, 1, ("y" * 5_000_000,)) == Pair(1, ("y" * 5_000_000,))


async def test_an_answer_of_another_type_is_invalid() -> None:
    with pytest.raises(ProcessDied, match="cannot be read"):
        await run_in_process(wrong_type)


async def test_a_result_that_is_no_valid_text_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="UnicodeEncodeError"):
        await run_in_process(not_valid_text)


async def test_one_process_serves_many_calls() -> None:
    first = await run_in_process(process_id)

    assert await run_in_process(process_id) == first
    assert first != os.getpid()


async def test_our_own_errors_come_back_as_they_are() -> None:
    with pytest.raises(SourceRefused, match=r"^too \\udcff large$"):
        await run_in_process(refuse, "too \udcff large")


async def test_an_error_of_the_system_keeps_its_number() -> None:
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
        await run_in_process(fail_with, errno.ENOSPC)

    assert caught.value.errno == errno.ENOSPC


async def test_an_unforeseen_error_says_where_it_happened() -> None:
    with pytest.raises(RuntimeError, match=r"ZeroDivisionError: a bug of ours(.|\n)*line \d+"):
        await run_in_process(divide_by_zero)


@pytest.mark.parametrize(
    ("work", "error"),
    [(die, ProcessDied), (exhaust_memory, MemoryError), (too_deep, RecursionError)],
)
async def test_work_that_breaks_its_process_is_reported_and_spoils_no_other(
    work: object, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await run_in_process(work)  # type: ignore[arg-type]  # one of the functions above

    assert await run_in_process(an_answer) == 42


@pytest.mark.parametrize("work", [wrong_type, exhaust_memory, too_deep])
async def test_a_process_that_broke_down_or_answered_wrongly_is_not_used_again(
    work: object,
) -> None:
    used = await run_in_process(process_id)
    with pytest.raises(BROKE_DOWN):
        await run_in_process(work)  # type: ignore[arg-type]  # one of the functions above

    with pytest.raises(ProcessLookupError):
        os.kill(used, 0)


async def test_a_process_that_refused_its_data_is_used_again() -> None:
    used = await run_in_process(process_id)
    with pytest.raises(SourceRefused):
        await run_in_process(refuse, "too large")

    assert await run_in_process(process_id) == used


@pytest.mark.slow
async def test_work_that_uses_up_its_processor_time_is_ended() -> None:
    with pytest.raises(ProcessDied):
        await run_in_process(an_endless_loop, cpu_seconds=0.1)


async def test_cancelled_work_is_killed(tmp_path: Path) -> None:
    running = asyncio.create_task(run_in_process(hang, tmp_path))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        await asyncio.sleep(0.01)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_a_process_that_died_while_idle_costs_the_next_call_nothing() -> None:
    idle = await run_in_process(process_id)
    os.kill(idle, signal.SIGKILL)

    assert await run_in_process(process_id) != idle


async def test_a_signal_to_the_whole_group_ends_no_process() -> None:
    idle = await run_in_process(process_id)
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(idle, number)

    assert await run_in_process(process_id) == idle


async def test_work_with_a_limiter_of_its_own_does_not_wait_for_others() -> None:
    others = [object() for _ in range(int(VISITORS.total_tokens))]
    for other in others:
        VISITORS.acquire_on_behalf_of_nowait(other)
    try:
        assert await run_for_visitor(an_answer, limiter=CapacityLimiter(1)) == 42
    finally:
        for other in others:
            VISITORS.release_on_behalf_of(other)


async def test_waiting_for_a_slot_uses_up_no_time() -> None:
    limiter = CapacityLimiter(1)
    async with limiter:
        waiting = asyncio.create_task(
            run_for_visitor(an_answer, limiter=limiter, cpu_seconds=0.001)
        )

        done, _ = await asyncio.wait([waiting], timeout=0.1)

        waiting.cancel()
        assert not done


@pytest.mark.slow
async def test_work_for_a_visitor_that_uses_too_much_has_broken_down() -> None:
    with pytest.raises(BROKE_DOWN):
        await run_for_visitor(an_endless_loop, cpu_seconds=0.1)


async def test_a_machine_that_does_not_get_to_it_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(killable_process, "MAX_WAIT_SECONDS", 0)

    with pytest.raises(Busy, match="too busy"):
        await run_for_visitor(an_endless_loop)
