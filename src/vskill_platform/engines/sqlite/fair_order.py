"""Order of the queue: start-time fair queueing between groups, with one index and no scan.

Every message gets a rank when it becomes ready: one more than the last rank of its lane, and more
than the virtual time, which is the highest rank delivered so far. Messages are delivered by rank.
So a group with 20,000 waiting messages and a group with one take turns, and a receive costs the
same for both.

Each group has a second lane for retries. It starts RETRY_PENALTY ranks later, so retries come after
new work; because the virtual time advances, they are not delayed forever.

Background messages have ranks above all others, in one lane, and do not advance the virtual time.
"""

import json
from typing import Any

from vskill_platform.engines.operations import Delivery, Send
from vskill_platform.engines.ports import (
    BACKGROUND,
    BACKGROUND_RANK,
    LOOK_AHEAD,
    NOTHING_BUSY,
    RETRY_PENALTY,
    BusyResources,
)
from vskill_platform.engines.sqlite.transaction import Transaction
from vskill_platform.engines.timestamps import micros_after

#: How many expired delays and leases one transaction queues; the next transaction continues.
MAX_DUE = 500


def send(at: Transaction, message: Send) -> None:
    _put_due_in_line(at)  # they became ready earlier
    ready_at = micros_after(at.now, message.delay)
    is_ready = ready_at <= at.now
    rank = _next_rank(at, message.group, is_retry=0) if is_ready else 0
    sent = at.run(
        "send", key=message.key, body=message.body, is_ready=is_ready, ready_at=ready_at,
        now=at.now, group=message.group, resource=message.resource, rank=rank,
    ).fetchall()  # fmt: skip
    if sent and is_ready:
        at.run("write_last_rank", group=message.group, is_retry=0, rank=rank)


def lease_background_messages(at: Transaction, limit: int, *, lease_end: int) -> list[Delivery]:
    """Lease the first background messages."""
    _put_due_in_line(at)
    received = at.run("receive_background", now=at.now, lease_end=lease_end, limit=limit)
    rows: list[Any] = sorted(received.fetchall())
    return [Delivery(*row) for _, *row in rows]


def lease_messages(
    at: Transaction, limit: int, *, lease_end: int, busy: BusyResources
) -> list[Delivery]:
    """Lease the first waiting messages that need nothing busy."""
    _put_due_in_line(at)
    if busy != NOTHING_BUSY:
        received = at.run(
            "receive_around", now=at.now, lease_end=lease_end, limit=limit, look_ahead=LOOK_AHEAD,
            groups=json.dumps(busy.groups), resources=json.dumps(busy.resources),
            all_resources=busy.all_resources,
        )  # fmt: skip
    else:
        received = at.run("receive", now=at.now, lease_end=lease_end, limit=limit)
    rows: list[Any] = sorted(received.fetchall())
    if rows:
        at.run("write_virtual_time", rank=rows[-1][0])
        at.run("forget_lanes")
    return [Delivery(*row) for _, *row in rows]


def _put_due_in_line(at: Transaction) -> None:
    """Give a rank to the messages whose delay or lease has expired."""
    due: list[Any] = at.run("due_messages", now=at.now, limit=MAX_DUE).fetchall()
    for id_, group, is_retry in due:
        rank = _next_rank(at, group, is_retry=is_retry)
        at.run("put_in_line", id=id_, is_retry=is_retry, rank=rank)
        at.run("write_last_rank", group=group, is_retry=lane_of(group, is_retry), rank=rank)


def lane_of(group: str, is_retry: int) -> int:
    """Return the lane of a message: 1 for retries, except in the background."""
    return 0 if group == BACKGROUND else is_retry


def _next_rank(at: Transaction, group: str, *, is_retry: int) -> int:
    if group == BACKGROUND:
        (rank,) = at.one("next_background_rank", group=group, first=BACKGROUND_RANK)
        return int(rank)
    penalty = RETRY_PENALTY if is_retry else 0
    (rank,) = at.one("next_rank", group=group, is_retry=is_retry, penalty=penalty)
    return int(rank)
