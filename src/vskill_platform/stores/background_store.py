"""Background messages: rescans, additions to the similarity index, and those that failed."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec

from vskill_platform.engines.operations import NEVER, Delete, Operation, Put, Send
from vskill_platform.engines.ports import BACKGROUND
from vskill_platform.model.record import Reasoned, Record
from vskill_platform.stores.db import get_queue
from vskill_platform.stores.records import (
    MALFORMED,
    decode,
    encode,
    get_record,
    list_all_keys,
    read_each,
)

#: The record format of the first release that knows background messages.
KNOWN_SINCE = 2
_FAILED = "background-failed:"
#: How long a failure is kept; after that, the message is sent again.
_KEPT_FOR = timedelta(days=90)


class RescanMessage(msgspec.Struct, frozen=True, tag="rescan_skill"):
    """Check a published skill again with the current rules and policy."""

    slug: str


class SimilarityMessage(msgspec.Struct, frozen=True, tag="index_similarity"):
    """Add a published skill to the similarity index."""

    slug: str


BackgroundMessage: TypeAlias = RescanMessage | SimilarityMessage
_decoder: msgspec.json.Decoder[BackgroundMessage] = msgspec.json.Decoder(BackgroundMessage)
#: The cron job that sends each kind. Runs are stored by name, so the names must not change.
JOB_OF = {RescanMessage: "rescan", SimilarityMessage: "index-similarity"}


class BackgroundFailure(Reasoned, Record, frozen=True, kw_only=True):
    """A background message that became a dead letter."""

    kind: str
    slug: str
    #: The rules, files and request of the message; if they differ, it is sent again.
    about: str
    reason: str
    failed_at: datetime


def kind_of(message: BackgroundMessage | type[BackgroundMessage]) -> str:
    return str(message.__struct_config__.tag)


def message_key(message: BackgroundMessage) -> str:
    return f"{kind_of(message)}:{message.slug}"


async def send_missing(messages: Iterable[BackgroundMessage]) -> list[Operation]:
    """Return the operations that queue the messages that are not queued yet."""
    by_key = {message_key(message): message for message in messages}
    pending = await get_queue().pending(list(by_key))
    return [
        Send(encode(message), key=key, group=BACKGROUND)
        for key, message in by_key.items()
        if key not in pending
    ]


def read_background(body: bytes) -> BackgroundMessage | None:
    """Return a background message; None if this release does not know its kind."""
    try:
        return _decoder.decode(body)
    except MALFORMED:
        return None


async def get_failures(kind: type[BackgroundMessage]) -> dict[str, BackgroundFailure]:
    """Return the failed messages of a kind, by slug."""
    keys = await list_all_keys(f"{_FAILED}{kind_of(kind)}:")
    found = await read_each(keys, lambda key, value: decode(key, value, BackgroundFailure))
    return {failure.slug: failure for failure in found}


def write_failure(failure: BackgroundFailure) -> Operation:
    return Put(
        f"{_FAILED}{failure.kind}:{failure.slug}",
        encode(failure),
        due=NEVER,
        expires_at=failure.failed_at + _KEPT_FOR,
    )


async def forget_failure(message: BackgroundMessage) -> list[Operation]:
    """Return the operation that deletes the failure of a message, if there is one."""
    key = _FAILED + message_key(message)
    stored = await get_record(key, BackgroundFailure)
    return [Delete(key, expected=stored.revision)] if stored else []
