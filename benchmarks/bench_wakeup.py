"""How soon a waiting `receive` gets a message, and what waiting costs.

The time from the moment at which the sender knows that its message is durable until the receiver
has leased it: sent by the same process, and by another one on the same file. It is compared with
localqueue, whose waiting `get` polls, and with one commit, which every lease needs.
"""

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import uvloop
from localqueue import DurabilityMode, Empty, SimpleQueue

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.report import (
    Sample,
    amount,
    duration,
    less_than_claimed,
    print_note,
    print_table,
    print_title,
    print_verdict,
    ratio,
    scratch,
    timed,
)
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Acknowledge, Send
from vskill_platform.engines.ports import Engine

CLAIMED = 100
MESSAGES = amount(CLAIMED, quick=30)
WARM_UP = 5
#: How long nothing happens before a message; it varies, so as not to keep time with a poll.
PAUSE_SECONDS = (0.05, 0.08)
IDLE_SECONDS = 3.0
TARGET_SECONDS = 0.050
LEASE = WAIT = timedelta(seconds=30)

#: Sends one message; returns the moment at which it was durable.
Sender = Callable[[], Awaitable[float]]


def pauses() -> Iterator[float]:
    steady = random.Random(7)
    return (steady.uniform(*PAUSE_SECONDS) for _ in range(WARM_UP + MESSAGES))


async def wake_ours(engine: Engine, send: Sender) -> Sample:
    async def receive() -> float:
        (delivery,) = await engine.queue.receive(1, lease=LEASE, wait=WAIT)
        received_at = time.monotonic()
        assert await engine.commit([Acknowledge(delivery)]) is not None
        return received_at

    delays = []
    for pause in pauses():
        receiving = asyncio.create_task(receive())
        await asyncio.sleep(pause)
        sent_at = await send()
        delays.append(max(0.0, await receiving - sent_at))
    assert (await engine.queue.stats()).ready == 0
    return Sample(tuple(delays[WARM_UP:]))


async def wake_localqueue(queue: SimpleQueue[int], send: Sender) -> Sample:
    def receive() -> float:
        job = queue.get(timeout=WAIT.total_seconds())
        received_at = time.monotonic()
        queue.ack(job)
        return received_at

    delays = []
    with ThreadPoolExecutor(1) as thread:
        for pause in pauses():
            receiving = asyncio.wrap_future(thread.submit(receive))
            await asyncio.sleep(pause)
            sent_at = await send()
            delays.append(max(0.0, await receiving - sent_at))
    assert queue.stats()["ready"] == 0
    return Sample(tuple(delays[WARM_UP:]))


@contextmanager
def sender_process(kind: str, path: Path) -> Iterator[Sender]:
    """Run this script as another process that sends one message for every line it reads."""
    command = [sys.executable, __file__, kind, str(path)]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        lines_in, lines_out = process.stdin, process.stdout

        def ask() -> float:
            lines_in.write("\n")
            lines_in.flush()
            return float(lines_out.readline())

        async def send() -> float:
            return await asyncio.to_thread(ask)

        yield send
        lines_in.close()


async def send_for_each_line(kind: str, path: str) -> None:
    send = our_sender(await open_ours(Path(path))) if kind == "ours" else peer_sender(path)
    while await asyncio.to_thread(sys.stdin.readline):
        print(await send(), flush=True)


async def open_ours(path: Path) -> Engine:
    return await open_engine(f"sqlite:///{path}")


def our_sender(engine: Engine) -> Sender:
    async def send() -> float:
        assert await engine.commit([Send(b"1")]) is not None
        return time.monotonic()

    return send


def open_peer(path: str) -> SimpleQueue[int]:
    return SimpleQueue(path, durability=DurabilityMode.DURABLE)


def peer_sender(path: str) -> Sender:
    queue = open_peer(path)

    async def send() -> float:
        await asyncio.to_thread(queue.put, 1)
        return time.monotonic()

    return send


async def measure_wakeups(folder: Path) -> list[tuple[str, Sample]]:
    """Return how soon each side hears of a message from its own and from another process."""
    path, peer_path = folder / "ours.db", str(folder / "localqueue")
    engine, queue = await open_ours(path), open_peer(peer_path)
    send, peer_send = our_sender(engine), peer_sender(peer_path)
    commits = Sample(tuple([await timed(send) for _ in range(MESSAGES)]))
    await _drain(engine)
    found = [
        ("limit: one commit", commits),
        ("ours, same process", await wake_ours(engine, send)),
        ("localqueue, same process", await wake_localqueue(queue, peer_send)),
    ]
    with sender_process("ours", path) as send:
        found.append(("ours, other process", await wake_ours(engine, send)))
    with sender_process("localqueue", folder / "localqueue") as send:
        found.append(("localqueue, other process", await wake_localqueue(queue, send)))
    await engine.close()
    queue.close()
    return found


async def _drain(engine: Engine) -> None:
    for delivery in await engine.queue.receive(MESSAGES, lease=LEASE):
        await engine.commit([Acknowledge(delivery)])


async def measure_waiting(folder: Path) -> list[tuple[str, float]]:
    """Return which part of a core each side uses while it waits and nothing comes."""
    engine, queue = await open_ours(folder / "ours.db"), open_peer(str(folder / "localqueue"))

    async def wait_in_thread() -> None:
        with suppress(Empty):
            await asyncio.to_thread(queue.get, timeout=IDLE_SECONDS + 1)

    ours = await _share_of_core(engine.queue.receive(1, lease=LEASE, wait=WAIT))
    await engine.close()
    peer = await _share_of_core(wait_in_thread())
    queue.close()
    return [
        ("limit: an event loop that sleeps", await _share_of_core(asyncio.sleep(IDLE_SECONDS))),
        ("ours: receive", ours),
        ("localqueue: get", peer),
    ]


async def _share_of_core(wait: Coroutine[Any, Any, object]) -> float:
    waiting = asyncio.create_task(wait)
    await asyncio.sleep(0.2)
    started = time.process_time()
    await asyncio.sleep(IDLE_SECONDS)
    used = time.process_time() - started
    waiting.cancel()
    await asyncio.wait([waiting])
    return used / IDLE_SECONDS


async def main() -> None:
    print_title(
        "Waking up: from a durable message to its receiver, and what waiting costs",
        f"≤ {duration(TARGET_SECONDS)} from another process",
    )
    with scratch() as folder:
        wakeups = await measure_wakeups(folder)
        waiting = await measure_waiting(folder)
    limit = wakeups[0][1].median
    print_table(
        ("", "p50", "p99", "p50 in commits"),
        [
            (name, *(duration(delay.percentile(p)) for p in (50, 99)), ratio(delay.median / limit))
            for name, delay in wakeups
        ],
    )
    low, high = PAUSE_SECONDS
    print_note(f"{MESSAGES} messages each, {duration(low)} to {duration(high)} of silence before")
    print_table(
        (f"waiting {duration(IDLE_SECONDS)} for nothing", "of one core"),
        [(name, f"{share:.2%}") for name, share in waiting],
    )
    other, peer = (
        dict(wakeups)[f"{name}, other process"].percentile(99) for name in ("ours", "localqueue")
    )
    print_verdict(
        "from another process, p99",
        ours=duration(other),
        other=f"localqueue {duration(peer)}",
        figure=ratio(other / peer),
        target=f"≤ {duration(TARGET_SECONDS)}",
        is_reached=other <= TARGET_SECONDS,
        less=less_than_claimed(MESSAGES, CLAIMED, "messages"),
    )


if __name__ == "__main__":
    uvloop.run(send_for_each_line(*sys.argv[1:]) if sys.argv[1:] else main())
