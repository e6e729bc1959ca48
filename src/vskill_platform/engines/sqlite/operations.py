"""Apply the operations of a commit."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import apsw

from vskill_platform.engines.operations import (
    ABSENT,
    Acknowledge,
    Bury,
    Delete,
    Drop,
    Expect,
    Extend,
    Operation,
    Put,
    RecordOperation,
    Release,
    Requeue,
    Retry,
    Send,
)
from vskill_platform.engines.sqlite.connection import SQL
from vskill_platform.engines.sqlite.fair_order import send
from vskill_platform.engines.sqlite.transaction import Refused, Transaction
from vskill_platform.engines.timestamps import micros_after, to_optional_micros

#: How many rows one statement writes: more than the last commit of a submission needs.
MAX_ROWS = 16
_ONE_ROW = "(?, ?, ?, ?, ?, ?, ?, ?)"
#: Operations on one record, so on one key.
_ON_RECORDS = (Put, Delete, Expect)
OnQueue: TypeAlias = Send | Acknowledge | Retry | Release | Extend | Bury | Requeue | Drop


def apply_operations(transaction: Transaction, operations: Sequence[Operation]) -> int:
    """Apply operations; return the new revision, or the latest one if no record was written."""
    writes = any(isinstance(operation, Put | Delete) for operation in operations)
    revision = transaction.next_revision() if writes else max(transaction.revision, 1)
    part: dict[str, RecordOperation] = {}
    for operation in operations:
        if not isinstance(operation, _ON_RECORDS):
            _apply_to_queue(transaction, operation)
            continue
        if operation.key in part:  # it must see the result of the earlier operation
            _apply_to_records(transaction, part, revision)
            part = {}
        part[operation.key] = operation
    _apply_to_records(transaction, part, revision)
    return revision


def _apply_to_records(at: Transaction, part: dict[str, RecordOperation], revision: int) -> None:
    """Apply operations on different keys, all operations of one kind at once."""
    if not part:
        return
    has_tombstones = _check_expectations(at, part)
    if puts := [each for each in part.values() if isinstance(each, Put)]:
        _put(at, puts, revision)
        if has_tombstones:
            at.run("forget_tombstones", keys=apsw.carray(tuple(put.key for put in puts)))
        for put in puts:
            if put.marks:
                at.run("add_marks", words=apsw.carray(put.marks), rank=put.rank, key=put.key)
    for delete in part.values():
        if isinstance(delete, Delete):
            at.run("delete", key=delete.key)
            at.run("add_tombstone", key=delete.key, revision=revision, now=at.now)


def _check_expectations(at: Transaction, part: dict[str, RecordOperation]) -> bool:
    """Compare revisions with the expected ones; return whether any record was deleted before."""
    revisions, has_tombstones = at.one("look", keys=apsw.carray(tuple(part)), now=at.now)
    for each, revision in zip(part.values(), json.loads(revisions), strict=True):
        if each.expected is not None and each.expected != (revision or ABSENT):
            raise Refused
    return bool(has_tombstones)


def _put(at: Transaction, puts: Sequence[Put], revision: int) -> None:
    """Write many rows with one statement, because each waits for the interpreter's lock."""
    for start in range(0, len(puts), MAX_ROWS):
        some = puts[start : start + MAX_ROWS]
        at.run_text(
            _put_rows(len(some)), [cell for put in some for cell in _row(put, revision, at)]
        )


@cache
def _put_rows(count: int) -> str:
    """Return the statement that writes this many rows."""
    return SQL["put"].replace(_ONE_ROW, ", ".join([_ONE_ROW] * count))


def _row(put: Put, revision: int, at: Transaction) -> tuple[Any, ...]:
    return (
        put.key,
        put.value,
        revision,
        to_optional_micros(put.due),
        to_optional_micros(put.expires_at),
        at.now,
        json.dumps(put.marks) if put.marks else None,
        put.rank if put.marks else None,
    )


def _apply_to_queue(at: Transaction, operation: OnQueue) -> None:
    match operation:
        case Send():
            send(at, operation)
        case Acknowledge(delivery):
            at.must("acknowledge", id=delivery.message_id, token=delivery.token)
        case Retry(delivery, delay):
            at.must(
                "retry", id=delivery.message_id, token=delivery.token,
                ready_at=micros_after(at.now, delay), now=at.now,
            )  # fmt: skip
        case Release(delivery):
            at.must("release", id=delivery.message_id, token=delivery.token, now=at.now)
        case Extend(delivery, lease):
            at.must(
                "extend", id=delivery.message_id, token=delivery.token,
                lease_end=micros_after(at.now, lease), now=at.now,
            )  # fmt: skip
        case Bury(delivery, reason):
            _bury(at, delivery.message_id, delivery.token, reason)
        case Requeue(message_id):
            key, body, group, resource = at.must("unbury", id=message_id)
            send(at, Send(body, key=key, group=group, resource=resource))
        case Drop(message_id):
            at.must("unbury", id=message_id)


def _bury(at: Transaction, message_id: int, token: int, reason: str) -> None:
    key, body, attempts, group, resource = at.must("acknowledge", id=message_id, token=token)
    # An error may contain a file name that is not valid text, but must be stored anyway.
    reason = reason.encode(errors="backslashreplace").decode()
    at.run("bury", id=message_id, key=key, body=body, attempts=attempts, reason=reason,
           group=group, resource=resource, now=at.now)  # fmt: skip
