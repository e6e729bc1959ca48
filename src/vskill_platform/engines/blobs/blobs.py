"""The blobs of an engine: in its database, or in the folder or S3 bucket of the operator.

A name consists of the place, the SHA-256 of the content, the history that wrote it and a random
number, such as `database/3b0c….51d09f2c`. So every reader can verify the content, and content that
is written again gets a new name: deleting the old blob cannot remove the new one. A folder or
bucket may also contain blobs of another registry, or of this one before it was restored or copied.
They can be read, but are never deleted, because it is unknown whether they are used.
"""

import hashlib
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

from vskill_platform.base.metrics import count_blob
from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.blobs.port import PIECE_BYTES, BlobEntry, BlobStore
from vskill_platform.errors import BlobsUnavailable, InvalidInput, RecordMalformed

log = get_logger(__name__)

DATABASE, EXTERNAL = "database", "external"
_NAME = re.compile(rf"({DATABASE}|{EXTERNAL})/([0-9a-f]{{64}})\.([0-9a-f]{{8}})[0-9a-f]{{16}}")
#: In bytes: to hash less takes less time than a thread call.
_HASHED_HERE = 64 * 1024


class Blobs:
    def __init__(self, database: BlobStore, history_id: Callable[[], Awaitable[str]]) -> None:
        self._database = database
        self._history_id = history_id
        self._external: BlobStore | None = None

    def use(self, external: BlobStore | None) -> None:
        """Store new blobs in this store, and read its blobs from it."""
        self._external = external

    @property
    def place(self) -> str:
        """Where new blobs are stored: DATABASE or EXTERNAL."""
        return EXTERNAL if self._external else DATABASE

    async def put(self, content: bytes | AsyncIterator[bytes], *, sha256: str) -> str:
        """Store content with this digest, read it back, and return its name.

        No record names it yet; if no commit does so, it is swept after a while.
        """
        name = f"{self.place}/{sha256}.{await self._origin()}{secrets.token_hex(8)}"
        store, key = self._find(name)
        written = hashlib.sha256()
        pieces = _pieces(content) if isinstance(content, bytes) else content
        await store.write(key, _counting("write", _hashed(pieces, written)))
        if written.hexdigest() != sha256:
            await store.delete(key)
            raise RecordMalformed(
                f"the content to be stored has the SHA-256 {written.hexdigest()}, not {sha256}"
            )
        try:
            async for _ in self.get(name):
                pass
        except RecordMalformed as error:
            await store.delete(key)
            raise BlobsUnavailable(f"{name} was not stored as it was sent; try again") from error
        return name

    async def get(self, name: str) -> AsyncIterator[bytes]:
        """Yield the content in pieces; the last piece only after the digest was verified."""
        store, key = self._find(name)
        digest, last = hashlib.sha256(), b""
        async for piece in _counting("read", store.read(key)):
            if last:
                yield last
            last = piece
            await _update(digest, piece)
        if digest.hexdigest() != sha256_of(name):
            log.error("stored blob was changed", blob=name, found=digest.hexdigest())
            raise RecordMalformed(
                f"the stored blob {name} was changed or damaged: its SHA-256 is "
                f"{digest.hexdigest()}; restore it from a backup"
            )
        yield last

    async def delete(self, name: str) -> None:
        store, key = self._find(name)
        await store.delete(key)

    async def list_blobs(self) -> AsyncIterator[list[BlobEntry]]:
        """Yield all blobs of both places, by their full names."""
        stores = {DATABASE: self._database, EXTERNAL: self._external}
        for place, store in stores.items():
            if store is None:
                continue
            async for page in store.list_blobs():
                named = [
                    BlobEntry(f"{place}/{each.name}", each.size, each.stored_at) for each in page
                ]
                yield [each for each in named if _NAME.fullmatch(each.name)]

    async def list_own(self) -> AsyncIterator[list[BlobEntry]]:
        """Yield the blobs that only records of this database can name."""
        origin = await self._origin()
        async for page in self.list_blobs():
            yield [each for each in page if _is_from(each.name, origin)]

    async def _origin(self) -> str:
        return hashlib.sha256((await self._history_id()).encode()).hexdigest()[:8]

    async def sign(self, name: str, *, lifetime: timedelta) -> str | None:
        store, key = self._find(name)
        return await store.sign(key, lifetime=lifetime)

    def _find(self, name: str) -> tuple[BlobStore, str]:
        found = _NAME.fullmatch(name)
        if not found:
            raise InvalidInput(f"{name!r} is not the name of a blob")
        key = name.partition("/")[2]
        if found[1] == DATABASE:
            return self._database, key
        if self._external is None:
            raise BlobsUnavailable(
                f"the blob {name} is in external storage, but VSKILL_BLOBS_URL is not set"
            )
        return self._external, key


def sha256_of(name: str) -> str:
    """Return the digest of a blob's content, which is a part of its name."""
    found = _NAME.fullmatch(name)
    if not found:
        raise InvalidInput(f"{name!r} is not the name of a blob")
    return found[2]


def _is_from(name: str, origin: str) -> bool:
    found = _NAME.fullmatch(name)
    return found is not None and (found[1] == DATABASE or found[3] == origin)


def is_blob_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


async def _hashed(pieces: AsyncIterator[bytes], digest: "hashlib._Hash") -> AsyncIterator[bytes]:
    async for piece in pieces:
        await _update(digest, piece)
        yield piece


async def _update(digest: "hashlib._Hash", piece: bytes) -> None:
    if len(piece) > _HASHED_HERE:
        await in_few_threads(digest.update, piece)
    else:
        digest.update(piece)


async def _counting(operation: str, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass on the pieces and count their bytes."""
    size, outcome = 0, "failed"
    try:
        async for piece in pieces:
            size += len(piece)
            yield piece
        outcome = "ok"
    finally:
        count_blob(operation, outcome, size)


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), PIECE_BYTES):
        yield content[start : start + PIECE_BYTES]
