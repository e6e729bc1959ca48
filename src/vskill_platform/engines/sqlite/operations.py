"""How each operation of a commit is written."""

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

import apsw

from vskill_platform.engines.checks import check_key, check_marks
from vskill_platform.engines.moments import micros_after, to_optional_micros
from vskill_platform.engines.ports import (
    ABSENT,
    MAX_VALUE_BYTES,
    Acknowledge,
    Bury,
    Delete,
    Drop,
    Expect,
    Operation,
    Put,
    Release,
    Retry,
    Revive,
    Send,
)
from vskill_platform.engines.sqlite.transaction import Refused, Transaction
from vskill_platform.errors import InvalidInput

#: What is about a record, and so about a key.
_ON_RECORDS = (Put, Delete, Expect)
OnRecord: TypeAlias = Put | Delete | Expect
OnQueue: TypeAlias = Send | Acknowledge | Retry | Release | Bury | Revive | Drop


def check_operations(operations: Sequence[Operation]) -> None:
    """Refuse what cannot be stored before anything is written."""
    for operation in operations:
        if isinstance(operation, _ON_RECORDS):
            check_key(operation.key)
            if isinstance(operation, Put):
                check_marks(operation.marks)
        elif isinstance(operation, Send) and operation.key is not None:
            check_key(operation.key)
        content = (
            operation.value
            if isinstance(operation, Put)
            else operation.body
            if isinstance(operation, Send)
            else b""
        )
        if len(content) > MAX_VALUE_BYTES:
            raise InvalidInput(
                f"{len(content):,} bytes are too many, {MAX_VALUE_BYTES:,} is the limit"
            )


def apply_operations(transaction: Transaction, operations: Sequence[Operation]) -> int:
    revision = transaction.next_revision()
    part: dict[str, OnRecord] = {}
    for operation in operations:
        if not isinstance(operation, _ON_RECORDS):
            _apply_to_queue(transaction, operation)
            continue
        if operation.key in part:  # it must find what the first one did
            _apply_to_records(transaction, part, revision)
            part = {}
        part[operation.key] = operation
    _apply_to_records(transaction, part, revision)
    return revision


def _apply_to_records(at: Transaction, part: dict[str, OnRecord], revision: int) -> None:
    """Apply what is about one key each, so that all of one kind can be done at once."""
    if not part:
        return
    has_tombstones = _look(at, part)
    if puts := [each for each in part.values() if isinstance(each, Put)]:
        at.run_many("put", [_row(put, revision, at.now) for put in puts])
        if has_tombstones:
            at.run("forget_tombstones", keys=apsw.carray(tuple(put.key for put in puts)))
        if marks := [_mark_row(put, word) for put in puts for word in dict.fromkeys(put.marks)]:
            at.run_many("add_mark", marks)
    for delete in part.values():
        if isinstance(delete, Delete):
            at.run("delete", key=delete.key)
            at.run("add_tombstone", key=delete.key, revision=revision, now=at.now)


def _look(at: Transaction, part: dict[str, OnRecord]) -> bool:
    """Compare what is there with what is expected; say whether any of it was deleted once."""
    rows = at.run("look", keys=apsw.carray(tuple(part)), now=at.now).fetchall()
    for each, (revision, _) in zip(part.values(), rows, strict=True):
        if each.expected is not None and each.expected != (revision or ABSENT):
            raise Refused
    return any(was_deleted for _, was_deleted in rows)


def _row(put: Put, revision: int, now: int) -> dict[str, Any]:
    return {
        "key": put.key,
        "value": put.value,
        "revision": revision,
        "due": to_optional_micros(put.due),
        "expires_at": to_optional_micros(put.expires_at),
        "now": now,
        "marks": json.dumps(put.marks) if put.marks else None,
        "rank": put.rank if put.marks else None,
    }


def _mark_row(put: Put, word: str) -> dict[str, Any]:
    return {"word": word, "rank": put.rank, "key": put.key}


def _apply_to_queue(at: Transaction, operation: OnQueue) -> None:
    match operation:
        case Send(body, key, delay):
            at.run("send", key=key, body=body, ready_at=micros_after(at.now, delay), now=at.now)
        case Acknowledge(delivery):
            at.must("acknowledge", id=delivery.message_id, token=delivery.token)
        case Retry(delivery, delay):
            at.must(
                "retry", id=delivery.message_id, token=delivery.token,
                ready_at=micros_after(at.now, delay), now=at.now,
            )  # fmt: skip
        case Release(delivery):
            at.must("release", id=delivery.message_id, token=delivery.token, now=at.now)
        case Bury(delivery, reason):
            _bury(at, delivery.message_id, delivery.token, reason)
        case Revive(message_id):
            key, body = at.must("unbury", id=message_id)
            at.run("send", key=key, body=body, ready_at=at.now, now=at.now)
        case Drop(message_id):
            at.must("unbury", id=message_id)


def _bury(at: Transaction, message_id: int, token: int, reason: str) -> None:
    key, body, attempts = at.must("acknowledge", id=message_id, token=token)
    # An error may name a file whose name is no text; nothing may keep a message from its grave.
    reason = reason.encode(errors="backslashreplace").decode()
    at.run("bury", id=message_id, key=key, body=body, attempts=attempts, reason=reason, now=at.now)
