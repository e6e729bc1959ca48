"""Blobs in the database, as records of a bounded size: the same for every engine."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta

import msgspec

from vskill_platform.base.clock import Clock
from vskill_platform.engines.blobs.port import PIECE_BYTES, BlobEntry
from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.engines.ports import KeyValueStore
from vskill_platform.errors import BlobMissing, EngineError

#: Prefix of a blob's description, and of its parts.
_HEAD, _PART = "blob-head:", "blob-part:"
_PAGE = 500
_DELETED_AT_ONCE = 50

Commit = Callable[[Sequence[Operation]], Awaitable[int | None]]


class _Head(msgspec.Struct, frozen=True):
    #: When the latest part was written.
    at: datetime
    parts: int = 0
    #: None until all parts are written.
    size: int | None = None
    is_deleted: bool = False


class DatabaseBlobs:
    def __init__(self, kv: KeyValueStore, commit: Commit, clock: Callable[[], Clock]) -> None:
        self._kv = kv
        self._commit = commit
        self._clock = clock

    async def write(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        """Write one part per commit; the head is complete with the last one."""
        revision, number, size = ABSENT, 0, 0
        waiting = b""
        async for part in _in_parts(pieces):
            if waiting:
                size += len(waiting)
                revision = await self._write_part(name, number, waiting, revision, size=None)
                number += 1
            waiting = part
        await self._write_part(name, number, waiting, revision, size=size + len(waiting))

    async def _write_part(
        self, name: str, number: int, content: bytes, revision: int, *, size: int | None
    ) -> int:
        head = _Head(self._clock().now(), number + 1, size)
        written = await self._commit(
            [
                Put(_HEAD + name, msgspec.json.encode(head), expected=revision, due=NEVER),
                Put(_part(name, number), content, due=NEVER),
            ]
        )
        if written is None:
            raise EngineError(f"the blob {name} was deleted while it was being written; try again")
        return written

    async def read(self, name: str) -> AsyncIterator[bytes]:
        head, _ = await self._get_head(name)
        if head is None or head.size is None or head.is_deleted:
            raise BlobMissing(f"the blob {name} is not in the database")
        for number in range(head.parts):
            entry = await self._kv.get(_part(name, number))
            if entry is None:
                raise BlobMissing(f"part {number} of the blob {name} is not in the database")
            yield entry.value

    async def delete(self, name: str) -> None:
        # Delete the head first, so that a writer of further parts gets an error.
        while True:
            head, revision = await self._get_head(name)
            if head is None:
                return
            gone = msgspec.structs.replace(head, is_deleted=True)
            put = Put(_HEAD + name, msgspec.json.encode(gone), expected=revision, due=NEVER)
            if head.is_deleted or await self._commit([put]) is not None:
                break  # otherwise another process deletes or writes it
        while keys := (await self._kv.list_keys(f"{_PART}{name}:", limit=_DELETED_AT_ONCE)).keys:
            await self._commit([Delete(key) for key in keys])
        await self._commit([Delete(_HEAD + name)])

    async def list_blobs(self) -> AsyncIterator[list[BlobEntry]]:
        after: str | None = None
        while True:
            page = await self._kv.list_keys(_HEAD, after=after, limit=_PAGE)
            entries = await self._kv.get_many(page.keys)
            heads = [
                (key.removeprefix(_HEAD), msgspec.json.decode(entry.value, type=_Head))
                for key, entry in zip(page.keys, entries, strict=True)
                if entry
            ]
            yield [BlobEntry(name, head.size, head.at) for name, head in heads]
            if page.cursor is None:
                return
            after = page.cursor

    async def sign(self, name: str, *, lifetime: timedelta) -> str | None:  # noqa: ARG002 - the port's
        return None

    async def _get_head(self, name: str) -> tuple[_Head | None, int]:
        entry = await self._kv.get(_HEAD + name)
        if entry is None:
            return None, ABSENT
        return msgspec.json.decode(entry.value, type=_Head), entry.revision


def _part(name: str, number: int) -> str:
    return f"{_PART}{name}:{number:06}"


async def _in_parts(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the same bytes in pieces of PIECE_BYTES; the last one may be shorter."""
    buffer = bytearray()
    async for piece in pieces:
        for start in range(0, len(piece), PIECE_BYTES):
            buffer += piece[start : start + PIECE_BYTES]
            if len(buffer) >= PIECE_BYTES:
                yield bytes(buffer[:PIECE_BYTES])
                del buffer[:PIECE_BYTES]
    if buffer:
        yield bytes(buffer)
