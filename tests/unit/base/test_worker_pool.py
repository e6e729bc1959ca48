"""Work in processes that can be killed: results come back in order, even if a process dies."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.cases import all_cases
from vskill_platform.base import worker_pool
from vskill_platform.base.worker_pool import Bounds, Failure, WorkResult, run_in_workers
from vskill_platform.errors import SourceRefused

#: Enough for any work here, even if the machine is busy with other tests.
AMPLE = Bounds(seconds=60.0)
#: For work that never ends. All other work beside it must be done in this time.
SHORT = Bounds(seconds=5.0)
MANY = [f"item {number}" for number in range(60)]


def refuse() -> bytes:
    raise SourceRefused("it is too big")


def fail() -> bytes:
    raise LookupError("no \ud800 luck")


def hang() -> bytes:
    time.sleep(600)
    return b""


def spin() -> bytes:
    while True:
        pass


def die() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def leave() -> bytes:
    os._exit(7)


def exhaust_memory() -> bytes:
    return bytes(2 * AMPLE.memory_bytes)


def run(
    work: Callable[[str], bytes],
    items: list[str],
    *,
    processes: int = 2,
    bounds: Bounds = AMPLE,
) -> list[WorkResult]:
    return list(run_in_workers(work, items, processes=processes, bounds=bounds))


@pytest.mark.parametrize("processes", [1, 2, 7])
def test_outcomes_come_in_the_order_of_the_items(processes: int) -> None:
    def work(item: str) -> bytes:
        time.sleep(0.01 if item.endswith("3") else 0)
        return item.encode()

    assert run(work, MANY, processes=processes) == [item.encode() for item in MANY]


@pytest.mark.parametrize("processes", [2, 4])
def test_few_items_are_shared_out(processes: int) -> None:
    outcomes = run(lambda _: str(os.getpid()).encode(), MANY[:4], processes=processes)

    assert len(set(outcomes)) == processes


def test_no_items_start_no_process() -> None:
    assert run(str.encode, []) == []


@pytest.mark.slow
@all_cases(
    ("breaking", "reason"),
    [
        (refuse, "it is too big"),
        (fail, "it failed: LookupError('no \\ud800 luck')"),
        (hang, "it took longer than 5 seconds"),
        (spin, "it took longer than 5 seconds"),
        (die, "the process ended with SIGKILL"),
        (leave, "the process ended with 7"),
        (exhaust_memory, "it failed: MemoryError()"),
    ],
)
def test_a_task_that_breaks_its_worker_affects_no_other_task(
    breaking: Callable[[], bytes], reason: str
) -> None:
    bounds = SHORT if breaking in {hang, spin} else AMPLE

    outcomes = run(
        lambda item: breaking() if item == MANY[7] else item.encode(), MANY, bounds=bounds
    )

    assert outcomes.pop(7) == Failure(reason)
    assert outcomes == [item.encode() for item in MANY if item != MANY[7]]


@pytest.mark.slow
def test_when_every_process_dies_every_item_is_a_failure() -> None:
    assert run(lambda _: die(), MANY) == [Failure("the process ended with SIGKILL")] * len(MANY)


def test_a_failure_does_not_depend_on_what_the_worker_did_before() -> None:
    done: list[str] = []

    def work(item: str) -> bytes:
        done.append(item)
        if len(done) > 3:  # as if memory had run out bit by bit
            raise MemoryError
        return item.encode()

    assert run(work, MANY) == [item.encode() for item in MANY]


def test_workers_are_replaced_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "_MAX_PIECES", 10)

    outcomes = run(lambda _: str(os.getpid()).encode(), MANY, processes=1)

    assert len(set(outcomes)) == len(MANY) / 10


def test_large_answers_come_through() -> None:
    large = b"x" * 1_000_000

    assert run(lambda _: large, MANY[:8]) == [large] * 8


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "the process ended with SIGKILL"),
        ((1 << 62).to_bytes(8) + b"+", "its answer is too long"),
        ((9).to_bytes(8) + b"+abc", "it took longer than 5 seconds"),
    ],
    ids=["none", "endless", "unfinished"],
)
def test_a_worker_that_was_taken_over_cannot_hold_us_up(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, reason: str
) -> None:
    say = worker_pool._send

    def send_something_else(end: int, message: bytes) -> None:
        if not message.endswith(MANY[7].encode()):
            say(end, message)
        elif answer:
            os.write(end, answer)
            hang()
        else:
            die()

    monkeypatch.setattr(worker_pool, "_send", send_something_else)

    outcomes = run(str.encode, MANY, bounds=SHORT)

    assert outcomes.pop(7) == Failure(reason)
    assert outcomes == [item.encode() for item in MANY if item != MANY[7]]


def test_a_worker_that_answers_what_nobody_asked_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    say = worker_pool._send

    def send_too_much(end: int, message: bytes) -> None:
        for _ in range(9):
            say(end, message)

    monkeypatch.setattr(worker_pool, "_send", send_too_much)

    assert len(run(str.encode, MANY)) == len(MANY)


def test_nobody_is_left_when_the_reader_leaves_early(tmp_path: Path) -> None:
    def work(item: str) -> bytes:
        (tmp_path / str(os.getpid())).touch()
        return hang() if item != MANY[0] else b"first"

    with closing(run_in_workers(work, MANY, processes=2, bounds=Bounds())) as outcomes:
        assert next(outcomes) == b"first"

    for worker in tmp_path.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(worker.name), 0)
