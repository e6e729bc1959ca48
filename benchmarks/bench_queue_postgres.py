"""A durable queue on PostgreSQL: ours compared with procrastinate, pgqueuer, SAQ and DBOS.

Ten senders and ten consumers; every message is sent separately, and its transaction must be on disk
before its sender continues (fsync and synchronous_commit are on). All use the same server, each in
its own database and process, in alternating runs. The limit is a bare table with SKIP LOCKED.
"""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.postgres_queues import (
    run_dbos,
    run_ours,
    run_ours_singly,
    run_pgqueuer,
    run_procrastinate,
    run_raw,
    run_saq,
)
from benchmarks.queue_contenders import CONSUMERS, SENDERS, Rates
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
from tests.postgres_server import OwnServer, an_own_server

ROUNDS = amount(3, quick=1)
#: On a busy machine no further round is begun after this time.
BUDGET_SECONDS = 240
#: How often a contender may lose a message.
ATTEMPTS = 3
TARGET_PEER, TARGET_LIMIT = 1.5, 0.8
_PHASES = ("sent", "received", "together")


class Contender(msgspec.Struct, frozen=True):
    name: str
    run: Callable[[str, int], Rates]
    #: So few that a round is short: what else the machine has to do changes by the second.
    count: int
    how: str


CONTENDERS = (
    Contender("ours", run_ours, 2_000, "leased, fenced, fair; consumers take 3 as we ship it"),
    Contender("ours, one by one", run_ours_singly, 2_000, "the same; consumers take 1"),
    Contender("limit: SKIP LOCKED", run_raw, 2_000, "a bare table; consumers take and delete 3"),
    Contender("procrastinate", run_procrastinate, 300, "a worker of 10 jobs; deletes done jobs"),
    Contender("pgqueuer", run_pgqueuer, 500, "takes 10 at once; logs done jobs"),
    Contender("SAQ", run_saq, 300, "a worker of 10 jobs; keeps done jobs for ten minutes"),
    Contender("DBOS", run_dbos, 150, "a workflow each, kept and restarted after a crash"),
)
_OURS, _LIMIT, _FIRST_PEER = 0, 2, 3


def fresh_run(contender: Contender, server: OwnServer, name: str) -> Rates:
    """Run a contender in a new process and an empty database, again if it loses a message."""
    for attempt in range(ATTEMPTS):
        try:
            return _run_once(contender, server, f"bench_{name}_{attempt}")
        except TimeoutError:
            print_note(f"{contender.name} did not deliver every message in time: run again")
    message = f"{contender.name} loses messages: it cannot be measured"
    raise RuntimeError(message)


def _run_once(contender: Contender, server: OwnServer, database: str) -> Rates:
    server.sql(f"CREATE DATABASE {database}")
    url = f"postgresql://postgres@/{database}?host={server.host}"
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as process:
        rates = process.submit(contender.run, url, contender.count).result()
    server.sql(f"DROP DATABASE {database} WITH (FORCE)")
    return rates


def play_rounds(server: OwnServer) -> list[list[Rates]]:
    """Return the rates of every contender, round by round."""
    rates: list[list[Rates]] = [[] for _ in CONTENDERS]
    started = time.perf_counter()
    for number in range(ROUNDS):
        if number and time.perf_counter() > started + BUDGET_SECONDS:
            break
        for place in range(len(CONTENDERS)):
            turn = (number + place) % len(CONTENDERS)  # each goes first once in a while
            rates[turn].append(fresh_run(CONTENDERS[turn], server, f"{number}_{place}"))
    return rates


def times_as_fast(ours: Sequence[Rates], others: Sequence[Rates], phase: str) -> float:
    """Compare each round with itself."""
    factors: list[float] = [
        getattr(our, phase) / getattr(other, phase) for our, other in zip(ours, others, strict=True)
    ]
    return median(factors)


def main() -> None:
    print_title(
        f"Durable queue on PostgreSQL: {SENDERS} senders, {CONSUMERS} consumers",
        f"≥ {ratio(TARGET_PEER)} the best peer, ≥ {TARGET_LIMIT} of bare SKIP LOCKED",
    )
    with scratch() as folder, an_own_server(folder, **_DURABLE) as server:
        rates = play_rounds(server)
        version = server.sql("SHOW server_version").strip()
    ours = rates[_OURS]
    print_table(
        ("messages a second", "sent", "ours", "received + acked", "ours", "both at once", "ours"),
        [
            (
                contender.name,
                *(
                    cell
                    for phase in _PHASES
                    for cell in (
                        rate(median(getattr(each, phase) for each in rounds)),
                        ratio(times_as_fast(ours, rounds, phase)),
                    )
                ),
            )
            for contender, rounds in zip(CONTENDERS, rates, strict=True)
        ],
    )
    for contender in CONTENDERS:
        print_note(f"{contender.name}: {contender.how}; {contender.count:,} a phase")
    print_note(f"PostgreSQL {version}; medians of {len(ours)} rounds, all taking turns")
    print_note(f"load of the last 5 minutes: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores")
    _judge(rates)


_DURABLE = {"fsync": "on", "shared_buffers": "128MB", "max_connections": "100"}


def _judge(rates: Sequence[Sequence[Rates]]) -> None:
    """Judge by the phase, and the peer, in which we are least ahead, as bench_queue does."""
    ours = rates[_OURS]
    for others, target, what in (
        (range(_FIRST_PEER, len(CONTENDERS)), TARGET_PEER, "the best peer"),
        (range(_LIMIT, _LIMIT + 1), TARGET_LIMIT, "bare SKIP LOCKED"),
    ):
        factor, other, phase = min(
            (times_as_fast(ours, rates[other], phase), other, phase)
            for other in others
            for phase in _PHASES
        )
        shown = rate(median(getattr(each, phase) for each in rates[other]))
        print_verdict(
            f"queue on PostgreSQL, compared with {what}; the closest is {phase}",
            ours=rate(median(getattr(each, phase) for each in ours)),
            other=f"{CONTENDERS[other].name} {shown}",
            less="" if len(ours) > 1 else "in one round of three",
            figure=f"{ratio(factor)} as fast",
            target=f"≥ {ratio(target)}",
            is_reached=factor >= target,
        )


if __name__ == "__main__":
    main()
