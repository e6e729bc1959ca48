"""A durable queue in a file: ours against huey, localqueue and DBOS, on the same disk.

Ten senders and ten consumers; every message is sent on its own and must be on disk before its
sender goes on. Each contender runs in a process of its own, all of them in turns. The limits are
the disk's, and a bare INSERT for every message: what nobody beats who syncs for each on its own.
"""

import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import apsw
import msgspec
import uvloop
from localqueue import EnqueueItem

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.queue_contenders import (
    CONSUMERS,
    SENDERS,
    LocalqueuePeer,
    Rates,
    Tally,
    run_dbos,
    run_huey,
    run_localqueue,
    run_ours,
    run_ours_singly,
)
from benchmarks.report import (
    print_note,
    print_table,
    print_title,
    print_verdict,
    rate,
    ratio,
    scratch,
)
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.ports import Send

ROUNDS = 5
#: How many messages one call sends where a call can send several.
BATCH = 100
BATCHES = 100
LIMIT_SECONDS = 0.5
#: Behind our own in CONTENDERS.
FIRST_PEER = 2


class Contender(msgspec.Struct, frozen=True):
    name: str
    run: Callable[[Path, int], Rates]
    #: As many as keep it busy for a few seconds.
    count: int
    guarantee: str


CONTENDERS = (
    Contender("ours", run_ours, 8_000, "synced, leased, fenced; consumers take 3 as we ship it"),
    Contender("ours, one by one", run_ours_singly, 8_000, "the same; consumers take 1 as peers do"),
    Contender("localqueue", run_localqueue, 2_000, "synced (DURABLE), leased, fenced"),
    Contender("huey", run_huey, 2_000, "synced (fsync=True); deleted on read: a crash loses it"),
    Contender("DBOS", run_dbos, 400, "synced; a workflow each, kept and restarted after a crash"),
)


def fresh_run(contender: Contender) -> Rates:
    """Run a contender in a new process and an empty folder."""
    context = multiprocessing.get_context("spawn")
    with scratch() as folder, ProcessPoolExecutor(1, mp_context=context) as process:
        return process.submit(contender.run, folder, contender.count).result()


def median(rounds: Sequence[Rates]) -> Rates:
    return Rates(*map(statistics.median, _by_phase(rounds)))


def spread(rounds: Sequence[Rates]) -> float:
    """Return how far the rounds lie apart at the worst, as a part of the median."""
    return max((max(of) - min(of)) / statistics.median(of) for of in _by_phase(rounds))


def _by_phase(rounds: Sequence[Rates]) -> list[tuple[float, ...]]:
    return list(zip(*map(msgspec.structs.astuple, rounds), strict=True))


def measure_limits() -> tuple[float, float]:
    with scratch() as folder:
        return synced_writes_per_second(folder), bare_inserts_per_second(folder)


def synced_writes_per_second(folder: Path) -> float:
    """Return how often a second one page can be written and synced."""

    def write() -> None:
        os.pwrite(file.fileno(), bytes(4096), 0)
        os.fsync(file)

    with (folder / "page").open("wb", buffering=0) as file:
        return _times_a_second(write)


def bare_inserts_per_second(folder: Path) -> float:
    """Return how many rows a second the driver alone inserts, each in a synced transaction."""
    connection = apsw.Connection(str(folder / "bare.db"))
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")
    return _times_a_second(
        lambda: connection.execute("INSERT INTO message (body) VALUES (?)", (b"1",))
    )


def _times_a_second(work: Callable[[], object]) -> float:
    times, started = 0, time.perf_counter()
    while time.perf_counter() < started + LIMIT_SECONDS:
        work()
        times += 1
    return times / (time.perf_counter() - started)


def compare_singly() -> None:
    limits, turns = [], []
    for _ in range(ROUNDS):
        limits.append(measure_limits())
        turns.append([fresh_run(contender) for contender in CONTENDERS])
    columns = list(zip(*turns, strict=True))
    found = [median(column) for column in columns]
    ours = found[0]
    syncs, inserts = map(statistics.median, zip(*limits, strict=True))
    print_table(
        ("messages a second", "sent", "ours", "received + acked", "ours", "both at once", "ours"),
        [
            *(
                (
                    contender.name,
                    *(rate(rates.sent), ratio(ours.sent / rates.sent)),
                    *(rate(rates.received), ratio(ours.received / rates.received)),
                    *(rate(rates.together), ratio(ours.together / rates.together)),
                )
                for contender, rates in zip(CONTENDERS, found, strict=True)
            ),
            ("limit: INSERTs one by one", rate(inserts), ratio(ours.sent / inserts), *[""] * 4),
            ("limit: the disk's fsyncs", rate(syncs), ratio(ours.sent / syncs), *[""] * 4),
        ],
    )
    for contender, column in zip(CONTENDERS, columns, strict=True):
        print_note(
            f"{contender.name}: {contender.guarantee}; {contender.count:,} messages a phase, "
            f"rounds up to {spread(column):.0%} apart"
        )
    print_note(f"medians of {ROUNDS} rounds, in which all took turns")
    _judge(ours, found[FIRST_PEER:])


def _judge(ours: Rates, peers: Sequence[Rates]) -> None:
    ahead = min(
        getattr(ours, phase) / max(getattr(peer, phase) for peer in peers)
        for phase in ("sent", "received", "together")
    )
    print_verdict(
        "against the fastest peer in each phase",
        figure=f"at least {ratio(ahead)} as fast",
        target="faster than every one",
        is_reached=ahead > 1,
    )


async def our_batches(folder: Path) -> float:
    engine = await open_engine(f"sqlite:///{folder / 'ours.db'}")
    batch = [Send(b"%d" % number) for number in range(BATCH)]
    started = time.perf_counter()
    for _ in range(BATCHES):
        assert await engine.commit(batch) is not None
    took = time.perf_counter() - started
    assert (await engine.queue.stats()).ready == BATCH * BATCHES
    await engine.close()
    return BATCH * BATCHES / took


def localqueue_batches(folder: Path) -> float:
    queue = LocalqueuePeer(folder, Tally()).queue
    batch: list[int | EnqueueItem[int]] = list(range(BATCH))
    started = time.perf_counter()
    for _ in range(BATCHES):
        queue.put_many(batch)
    took = time.perf_counter() - started
    assert queue.stats()["ready"] == BATCH * BATCHES
    queue.close()
    return BATCH * BATCHES / took


def compare_batches() -> None:
    ours, peers = [], []
    for _ in range(ROUNDS):
        with scratch() as folder:
            ours.append(uvloop.run(our_batches(folder)))
            peers.append(localqueue_batches(folder))
    our, peer = statistics.median(ours), statistics.median(peers)
    print_table(
        (f"{BATCH} messages a call, one caller", "sent", "ours"),
        [("ours", rate(our), ratio(1)), ("localqueue", rate(peer), ratio(our / peer))],
    )
    print_note("huey and DBOS have no call that sends several")


def main() -> None:
    print_title(
        f"Durable queue: {SENDERS} senders, {CONSUMERS} consumers, each message synced to disk",
        "faster than every embedded Python queue with the same guarantee",
    )
    compare_singly()
    compare_batches()


if __name__ == "__main__":
    main()
