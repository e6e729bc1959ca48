"""Read and write records: strict JSON, and concurrent reads that fail independently."""

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from typing import Any, Generic, TypeVar

import msgspec

from vskill_platform.base.settle import READS_AT_ONCE, settle
from vskill_platform.base.show_text import count_of
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.ports import Entry
from vskill_platform.errors import EngineError, RecordMalformed
from vskill_platform.model.unknown_fields import Unknown, split_unknown
from vskill_platform.stores.db import bound_env, get_kv

log = get_logger(__name__)

Kind = TypeVar("Kind")
Result = TypeVar("Result")
encode = msgspec.json.Encoder().encode
#: Errors of a decoder for malformed bytes.
MALFORMED = (msgspec.DecodeError, UnicodeDecodeError)
#: Limits the log lines about a damaged database.
_MAX_LOGGED = 100
_KEYS_A_PAGE = 10_000


class Stored(msgspec.Struct, Generic[Kind], frozen=True):
    record: Kind
    revision: int


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def decode(key: str, value: bytes, kind: type[Kind]) -> Kind:
    """Decode a record that will not be changed; skip fields that a newer release has added."""
    return _decode(key, value, kind)[0]


def decode_stored(key: str, entry: Entry, kind: type[Kind]) -> Stored[Kind]:
    """Decode a record that may be changed; its commit will restore unknown fields."""
    record, unknown = _decode(key, entry.value, kind)
    if unknown:
        bound_env().unknown_fields.keep((key, entry.revision), unknown)
    return Stored(record, entry.revision)


def _decode(key: str, value: bytes, kind: type[Kind]) -> tuple[Kind, Unknown | None]:
    try:
        record: Kind = _decoder(kind).decode(value)  # type: ignore[arg-type]  # a type is hashable
    except msgspec.ValidationError as error:
        # Only after a failure, because this takes much longer.
        if found := _decode_known(value, kind):
            return found
        raise RecordMalformed(f"{key}: {error}") from error
    except MALFORMED as error:
        raise RecordMalformed(f"{key}: {error}") from error
    return record, None


def _decode_known(value: bytes, kind: type[Kind]) -> tuple[Kind, Unknown] | None:
    """Decode a record without its unknown fields; None if it has none or is still malformed."""
    try:
        known, unknown = split_unknown(msgspec.json.decode(value), kind)
        # Encoded again, because only the JSON decoder can read dates and bytes.
        record: Kind = _decoder(kind).decode(encode(known))  # type: ignore[arg-type]  # as above
    except (*MALFORMED, RecursionError):
        return None
    return (record, unknown) if unknown else None


async def get_record(key: str, kind: type[Kind]) -> Stored[Kind] | None:
    entry = await get_kv().get(key)
    return decode_stored(key, entry, kind) if entry else None


async def get_all(keys: Sequence[str], kind: type[Kind]) -> list[Stored[Kind] | None]:
    """Get all *keys* at once, in order; raise if one of them cannot be read."""
    found: list[Stored[Kind] | None] = []
    for start in range(0, len(keys), READS_AT_ONCE):
        window = keys[start : start + READS_AT_ONCE]
        for key, entry in zip(window, await get_kv().get_many(window), strict=True):
            found.append(decode_stored(key, entry, kind) if entry else None)
    return found


async def list_all_keys(prefix: str, *, due_before: datetime | None = None) -> list[str]:
    kv = get_kv()
    page = await kv.list_keys(prefix, limit=_KEYS_A_PAGE, due_before=due_before)
    keys = page.keys
    while page.cursor is not None:
        page = await kv.list_keys(
            prefix, after=page.cursor, limit=_KEYS_A_PAGE, due_before=due_before
        )
        keys += page.keys
    return keys


async def iterate_keys(
    prefix: str, *, due_before: datetime | None = None
) -> AsyncIterator[list[str]]:
    """Yield all keys with *prefix* in order, page by page, holding one page at a time."""
    after: str | None = None
    while True:
        page = await get_kv().list_keys(
            prefix, after=after, limit=_KEYS_A_PAGE, due_before=due_before
        )
        yield page.keys
        if page.cursor is None:
            return
        after = page.cursor


#: The maximum count of records for `/metrics`.
MAX_COUNTED = 1_000


class Backlog(msgspec.Struct, frozen=True):
    """The emails or deliveries that wait to be sent, for `/metrics`."""

    waiting: int
    #: The number of dead letters.
    failed: int
    #: When the oldest waiting one was created.
    oldest: datetime | None


def moment_in_id(record_id: str) -> datetime | None:
    """Return the time in an id that begins with 14 hex digits of microseconds; else None."""
    try:
        return datetime.fromtimestamp(int(record_id[:14], 16) / 1_000_000, UTC)
    except (ValueError, OverflowError):
        return None


async def read_each(
    keys: Sequence[str], read: Callable[[str, bytes], Result | None]
) -> list[Result]:
    """Get all *keys* at once and return the results of *read*, in order.

    A record that no longer exists, or for which *read* returns None, is skipped. So is an
    unreadable record, which is logged with its key. If every get fails, that is an outage and is
    raised.
    """
    results: list[Result] = []
    failures: dict[str, Exception] = {}
    # In windows, so that memory holds only one window of raw records at a time.
    for start in range(0, len(keys), READS_AT_ONCE):
        window = keys[start : start + READS_AT_ONCE]
        for key, outcome in zip(window, await settle(get_kv().get, window), strict=True):
            if isinstance(outcome, Entry):
                try:
                    result = read(key, outcome.value)
                except RecordMalformed as error:
                    failures[key] = error
                    continue
                except MALFORMED as error:
                    failures[key] = RecordMalformed(f"{key}: {error}")
                    continue
                if result is not None:
                    results.append(result)
            elif outcome is not None:
                failures[key] = outcome
    if failures:
        _report_failures(failures, of=len(keys))
    return results


async def read_found(
    keys: Sequence[str], read: Callable[[str, bytes], Result | None]
) -> dict[str, Result]:
    """Get all *keys* at once and return the results of *read* by key.

    Unlike in read_each, a record that the engine could not get is an outage, because a copy of the
    records must be complete. A malformed record is logged and skipped.
    """
    found: dict[str, Result] = {}
    for start in range(0, len(keys), READS_AT_ONCE):
        window = keys[start : start + READS_AT_ONCE]
        for key, entry in zip(window, await get_kv().get_many(window), strict=True):
            if entry is None:
                continue
            try:
                result = read(key, entry.value)
            except (RecordMalformed, *MALFORMED) as error:
                log.warning("record skipped", key=key, error=str(error))
                continue
            if result is not None:
                found[key] = result
    return found


def _report_failures(failures: dict[str, Exception], *, of: int) -> None:
    outages = [error for error in failures.values() if not isinstance(error, RecordMalformed)]
    if len(outages) == of:
        raise EngineError(f"none of {count_of(of, 'record')} could be read") from outages[0]
    for key, error in islice(failures.items(), _MAX_LOGGED):
        log.warning("record skipped", key=key, error=str(error))
    log.warning("records skipped", skipped=len(failures), of=of)
