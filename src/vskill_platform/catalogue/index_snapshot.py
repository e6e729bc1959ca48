"""Copies of the search index, so that a new process need not read all records.

A process copies the file of another process on the same machine. Nodes that share a database server
also share a compressed copy as a blob, which a web node replaces every few hours. Both kinds
contain the revision and the checkpoint of their file, so the new process continues from there. A
copy of another release or another history is not used.
"""

import glob
import hashlib
import os
import tempfile
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import apsw

from vskill_platform.base.durable_files import sync
from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.catalogue.index_connections import APPLICATION_ID, FINGERPRINT
from vskill_platform.engines.blobs.port import PIECE_BYTES
from vskill_platform.engines.blobs.sweep import refer_to_blob
from vskill_platform.engines.operations import NEVER, Put
from vskill_platform.errors import EngineError, RecordMalformed, VskillError
from vskill_platform.model.record import Record
from vskill_platform.stores.db import bound_env, commit, get_blobs, get_now
from vskill_platform.stores.records import encode, get_record

log = get_logger(__name__)

#: One for each release, because during an upgrade nodes of both may start.
_SNAPSHOT = f"index-snapshot:{FINGERPRINT}"
#: A fast level, because the file is read only once for each new node.
_LEVEL = 1
_BUSY_MS = 5_000


class IndexSnapshot(Record, frozen=True, kw_only=True):
    blob: str
    #: The size of the file, and of the blob.
    size: int
    packed_size: int
    history_id: str
    taken_at: datetime


async def share_snapshot(path: Path) -> str:
    """Store a copy of this index file for new nodes; return what was done."""
    history_id = await bound_env().engine.history_id()
    with _new_file(path) as copy, _new_file(path) as packed:
        if not await work_in_thread(_copy_compact, path, copy):
            return "the search index is not built yet"
        size, packed_size, sha256 = await work_in_thread(_pack, copy, packed)
        blob = await get_blobs().put(_read(packed), sha256=sha256)
    snapshot = IndexSnapshot(
        blob=blob,
        size=size,
        packed_size=packed_size,
        history_id=history_id,
        taken_at=get_now(),
    )
    if await commit(refer_to_blob(Put(_SNAPSHOT, encode(snapshot), due=NEVER), blob)) is None:
        raise EngineError("the snapshot was removed before it was stored; it is stored again later")
    return f"{size // 2**20} MiB, packed {packed_size // 2**20} MiB"


class SnapshotLoader:
    """Finds a copy to start from; each copy is tried only once, because it may be unusable."""

    def __init__(self) -> None:
        self._tried: set[str] = set()

    async def load(self, path: Path) -> bool:
        """Create the index file from a copy; return False if there is none."""
        for sibling in sorted(_siblings(path)):
            if self._try(str(sibling)) and await work_in_thread(_copy_to, sibling, path):
                log.info("search index copied", source=str(sibling))
                return True
        try:
            return await self._load_shared(path)
        except (VskillError, OSError, zlib.error) as error:
            # Then the index is built from the records, which takes longer.
            log.warning("snapshot of the search index not used", error=str(error))
            return False

    async def _load_shared(self, path: Path) -> bool:
        stored = await get_record(_SNAPSHOT, IndexSnapshot)
        if stored is None or not self._try(stored.record.blob):
            return False
        if stored.record.history_id != await bound_env().engine.history_id():
            return False
        with _new_file(path) as unpacked:
            await _unpack(stored.record, unpacked)
            if not await work_in_thread(_is_usable, unpacked):
                return False
            await work_in_thread(sync, unpacked)
            unpacked.rename(path)
        log.info("search index loaded", taken_at=str(stored.record.taken_at))
        return True

    def _try(self, name: str) -> bool:
        is_new = name not in self._tried
        self._tried.add(name)
        return is_new


def _siblings(path: Path) -> Iterator[Path]:
    """Yield the index files of other processes on the same database."""
    first, _, own = path.name.rpartition("-")
    for found in path.parent.glob(f"{glob.escape(first)}-*"):
        number = found.name.removeprefix(f"{first}-")
        if number.isdecimal() and number != own:
            yield found


@contextmanager
def _new_file(beside: Path) -> Iterator[Path]:
    """Yield the path of an empty file, which is removed afterwards unless it was renamed."""
    handle, name = tempfile.mkstemp(prefix=f"{beside.name}.copy-", dir=beside.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        for ending in ("", "-journal", "-wal", "-shm"):
            Path(f"{name}{ending}").unlink(missing_ok=True)


def _copy_to(source: Path, path: Path) -> bool:
    with _new_file(path) as copy:
        if not _copy_file(source, copy):
            return False
        copy.rename(path)
    return True


def _copy_compact(source: Path, target: Path) -> bool:
    """Copy an index file without its free pages, which are half of a newly built file."""
    with suppress(apsw.Error):
        reading = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            reading.set_busy_timeout(_BUSY_MS)
            if not _is_built(reading):
                return False
            reading.execute("VACUUM INTO ?", (str(target),))  # the target may be an empty file
            return _is_usable(target)
        finally:
            reading.close()
    return False


def _copy_file(source: Path, target: Path) -> bool:
    """Copy an index file that may be in use; return False if the copy is unusable."""
    with suppress(apsw.Error):
        reading = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
        writing = apsw.Connection(str(target))
        try:
            reading.set_busy_timeout(_BUSY_MS)
            # Checked before the copy: while the index is being filled, there is nothing worth
            # copying.
            if not _is_built(reading):
                return False
            with writing.backup("main", reading, "main") as backup:
                while not backup.done:
                    backup.step(-1)
            return _is_built(writing)
        finally:
            writing.close()
            reading.close()
    return False


def _is_usable(path: Path) -> bool:
    with suppress(apsw.Error):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return _is_built(connection)
        finally:
            connection.close()
    return False


def _is_built(connection: apsw.Connection) -> bool:
    found = int(connection.pragma("application_id")), int(connection.pragma("user_version"))
    if found != (APPLICATION_ID, FINGERPRINT):
        return False
    return bool(connection.execute("SELECT is_built FROM state").get)


def _pack(source: Path, target: Path) -> tuple[int, int, str]:
    """Compress a file; return its size, the compressed size and its digest."""
    packer, digest, size = zlib.compressobj(_LEVEL), hashlib.sha256(), 0
    with source.open("rb") as reading, target.open("wb") as writing:
        while piece := reading.read(PIECE_BYTES):
            size += len(piece)
            packed = packer.compress(piece)
            digest.update(packed)
            writing.write(packed)
        packed = packer.flush()
        digest.update(packed)
        writing.write(packed)
        return size, writing.tell(), digest.hexdigest()


async def _read(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while piece := await work_in_thread(file.read, PIECE_BYTES):
            yield piece


async def _unpack(snapshot: IndexSnapshot, target: Path) -> None:
    """Write the file, but never more than its size, whatever the blob contains."""
    unpacker, left = zlib.decompressobj(), snapshot.size
    with target.open("wb") as file:
        async for piece in get_blobs().get(snapshot.blob):
            content = await work_in_thread(unpacker.decompress, piece, left + 1)
            left -= len(content)
            if left < 0:
                break
            await work_in_thread(file.write, content)
    if left or not unpacker.eof:
        raise RecordMalformed(f"the snapshot {snapshot.blob} does not have {snapshot.size} bytes")
