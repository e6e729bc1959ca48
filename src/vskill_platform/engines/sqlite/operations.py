"""How each operation of a commit is written."""

from collections.abc import Sequence

from vskill_platform.engines.checks import check_key
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


def check_operations(operations: Sequence[Operation]) -> None:
    """Refuse what cannot be stored before anything is written."""
    for operation in operations:
        match operation:
            case Put(key=key) | Delete(key=key) | Expect(key=key):
                check_key(key)
            case Send(key=str(key)):
                check_key(key)
            case _:
                pass
        match operation:
            case Put(value=content) | Send(body=content) if len(content) > MAX_VALUE_BYTES:
                raise InvalidInput(
                    f"{len(content):,} bytes are too many, {MAX_VALUE_BYTES:,} is the limit"
                )
            case _:
                pass


def apply_operations(transaction: Transaction, operations: Sequence[Operation]) -> int:
    revision = transaction.next_revision()
    for operation in operations:
        _apply(transaction, operation, revision)
    return revision


def _apply(at: Transaction, operation: Operation, revision: int) -> None:
    match operation:
        case Put():
            _put(at, operation, revision)
        case Delete():
            _delete(at, operation, revision)
        case Expect(key, expected):
            _expect(at, key, expected)
        case Send() | Acknowledge() | Retry() | Release() | Bury() | Revive() | Drop():
            _apply_to_queue(at, operation)


def _apply_to_queue(
    at: Transaction,
    operation: Send | Acknowledge | Retry | Release | Bury | Revive | Drop,
) -> None:
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


def _delete(at: Transaction, delete: Delete, revision: int) -> None:
    _expect(at, delete.key, delete.expected)
    at.run("delete", key=delete.key)
    at.run("add_tombstone", key=delete.key, revision=revision, now=at.now)


def _put(at: Transaction, put: Put, revision: int) -> None:
    _expect(at, put.key, put.expected)
    at.run(
        "put", key=put.key, value=put.value, revision=revision, now=at.now,
        due=to_optional_micros(put.due), expires_at=to_optional_micros(put.expires_at),
    )  # fmt: skip
    at.run("forget_tombstone", key=put.key)


def _expect(at: Transaction, key: str, expected: int | None) -> None:
    if expected is None:
        return
    rows = at.run("current_revision", key=key, now=at.now).fetchall()
    if expected != (rows[0][0] if rows else ABSENT):
        raise Refused


def _bury(at: Transaction, message_id: int, token: int, reason: str) -> None:
    key, body, attempts = at.must("acknowledge", id=message_id, token=token)
    # An error may name a file whose name is no text; nothing may keep a message from its grave.
    reason = reason.encode(errors="backslashreplace").decode()
    at.run("bury", id=message_id, key=key, body=body, attempts=attempts, reason=reason, now=at.now)
