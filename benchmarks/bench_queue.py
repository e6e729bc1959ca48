"""A durable queue in a file: ours compared with huey, localqueue and DBOS, on the same disk.

Ten senders and ten consumers; every message is sent separately and must be on disk before its
sender continues. Each contender runs in its own process, in alternating runs. The limits are those
of the disk, and one INSERT per message: the best possible with one sync per message.
"""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median

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
    amount,
    print_note,
    print_table,
    print_title,
    print_verdict,
    rate,
    ratio,
    scratch,
)
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Send

MIN_ROUNDS, MAX_ROUNDS = amount(3, quick=1), amount(7, quick=1)
#: On a busy disk no more than the fewest rounds are begun after this time.
BUDGET_SECONDS = 90
#: How many messages one call sends where a call can send several.
BATCH = 100
BATCHES = 100
LIMIT_SECONDS = 0.5
#: Behind our own in CONTENDERS.
FIRST_PEER = 2


class Contender(msgspec.Struct, frozen=True):
    name: str
    run: Callable[[Path, int], Rates]
    #: So few that a round is short: what else the disk has to do changes by the second.
    count: int
    guarantee: str


CONTENDERS = (
    Contender("ours", run_ours, 4_000, "synced, leased, fenced; consumers take 3 as we ship it"),
    Contender("ours, one by one", run_ours_singly, 4_000, "the same; consumers take 1 as peers do"),
    Contender("localqueue", run_localqueue, 800, "synced (DURABLE), leased, fenced"),
    Contender("huey", run_huey, 800, "synced (fsync=True); deleted on read: a crash loses it"),
    Contender("DBOS", run_dbos, 150, "synced; a workflow each, kept and restarted after a crash"),
)


def fresh_run(contender: Contender) -> Rates:
    """Run a contender in a new process and an empty folder."""
    context = multiprocessing.get_context("spawn")
    with scratch() as folder, ProcessPoolExecutor(1, mp_context=context) as process:
        return process.submit(contender.run, folder, contender.count).result()


def play_rounds() -> tuple[list[list[Rates]], list[tuple[float, float]]]:
    """Return the rates of every contender, round by round, and the limits in each round."""
    rates: list[list[Rates]] = [[] for _ in CONTENDERS]
    limits: list[tuple[float, float]] = []
    started = time.perf_counter()
    for number in range(MAX_ROUNDS):
        if number >= MIN_ROUNDS and time.perf_counter() > started + BUDGET_SECONDS:
            break
        limits.append(measure_limits())
        for place in range(len(CONTENDERS)):
            turn = (number + place) % len(CONTENDERS)  # each goes first once in a while
            rates[turn].append(fresh_run(CONTENDERS[turn]))
    return rates, limits


def ahead(ours: Sequence[Rates], others: Sequence[Rates]) -> Rates:
    """Return how many times as fast ours is, each round compared with itself."""
    return Rates(
        median(our.sent / other.sent for our, other in zip(ours, others, strict=True)),
        median(our.received / other.received for our, other in zip(ours, others, strict=True)),
        median(our.together / other.together for our, other in zip(ours, others, strict=True)),
    )


def measure_limits() -> tuple[float, float]:
    with scratch() as folder:
        return synced_writes_per_second(folder), bare_inserts_per_second(folder)


def synced_writes_per_second(folder: Path) -> float:
    """Return how often a second one page of a file can be written again and synced."""

    def write() -> None:
        os.pwrite(file.fileno(), bytes(4096), 0)
        os.fdatasync(file)

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
    rates, limits = play_rounds()
    ours = rates[0]
    factors = [ahead(ours, others) for others in rates]
    print_table(
        ("messages a second", "sent", "ours", "received + acked", "ours", "both at once", "ours"),
        [
            *(
                (
                    contender.name,
                    *(rate(median(each.sent for each in rounds)), ratio(factor.sent)),
                    *(rate(median(each.received for each in rounds)), ratio(factor.received)),
                    *(rate(median(each.together for each in rounds)), ratio(factor.together)),
                )
                for contender, rounds, factor in zip(CONTENDERS, rates, factors, strict=True)
            ),
            _limit_row("limit: INSERTs one by one", ours, [inserts for _, inserts in limits]),
            _limit_row("limit: the disk's syncs", ours, [syncs for syncs, _ in limits]),
        ],
    )
    for contender in CONTENDERS:
        print_note(f"{contender.name}: {contender.guarantee}; {contender.count:,} a phase")
    print_note(f"medians of {len(ours)} rounds, all taking turns; ratios are taken in each round")
    _judge(rates, factors)


def _limit_row(name: str, ours: Sequence[Rates], limits: Sequence[float]) -> tuple[str, ...]:
    factor = median(our.sent / limit for our, limit in zip(ours, limits, strict=True))
    return name, rate(median(limits)), ratio(factor), *[""] * 4


def _judge(rates: Sequence[Sequence[Rates]], factors: Sequence[Rates]) -> None:
    """Judge by the phase and the peer in which we are least ahead."""
    least, peer, phase = min(
        (factor, peer, phase)
        for peer in range(FIRST_PEER, len(CONTENDERS))
        for phase, factor in msgspec.structs.asdict(factors[peer]).items()
    )
    ours, other = (rate(median(getattr(each, phase) for each in rates[at])) for at in (0, peer))
    rounds = len(rates[0])
    print_verdict(
        f"against every peer in every phase; the closest is {phase}",
        ours=ours,
        other=f"{CONTENDERS[peer].name} {other}",
        less="" if rounds > 1 else "in one round of at least three",
        figure=f"at least {ratio(least)} as fast",
        target="faster than every one",
        is_reached=least > 1,
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
    for _ in range(MAX_ROUNDS):
        with scratch() as folder:
            ours.append(uvloop.run(our_batches(folder)))
            peers.append(localqueue_batches(folder))
    factor = median(our / peer for our, peer in zip(ours, peers, strict=True))
    print_table(
        (f"{BATCH} messages a call, one caller", "sent", "ours"),
        [
            ("ours", rate(median(ours)), ratio(1)),
            ("localqueue", rate(median(peers)), ratio(factor)),
        ],
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
