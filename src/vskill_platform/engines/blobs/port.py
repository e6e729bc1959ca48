"""The interface of blobs: large bytes, stored before the record that refers to them."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Protocol

import msgspec

#: Blobs are read and written in pieces of at most this many bytes.
PIECE_BYTES = 1024 * 1024


class BlobEntry(msgspec.Struct, frozen=True):
    name: str
    #: None while it is being written.
    size: int | None
    #: When it was stored, or when its latest piece was written.
    stored_at: datetime


class BlobStore(Protocol):
    """One place for blobs. Callers choose the names, and never use one again."""

    async def write(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        """Store a blob; return when it is durable. Until then, no one can read it."""
        ...

    def read(self, name: str) -> AsyncIterator[bytes]:
        """Yield a blob in bounded pieces; BlobMissing if there is none."""
        ...

    async def delete(self, name: str) -> None:
        """Delete a blob, even an incomplete one; a missing blob is not an error."""
        ...

    def list_blobs(self) -> AsyncIterator[list[BlobEntry]]:
        """Yield all blobs in bounded pages."""
        ...

    async def sign(self, name: str, *, lifetime: timedelta) -> str | None:
        """Return a URL for reading it without credentials; None if this store has none."""
        ...
