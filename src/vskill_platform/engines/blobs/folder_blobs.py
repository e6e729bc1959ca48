"""Blobs as files in a folder, which all nodes share."""

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from vskill_platform.base.durable_files import sync, sync_names
from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.engines.blobs.port import PIECE_BYTES, BlobEntry
from vskill_platform.errors import BlobMissing, BlobsUnavailable

#: The ending of an incomplete file, and how long after its last write it is removed.
_PART, _PART_KEPT_FOR = ".part", timedelta(days=1)


class FolderBlobs:
    """A blob is in a folder by the first two digits of its name, as in git."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def write(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        path = self._path(name)
        part = path.with_name(f".{name}.{secrets.token_hex(4)}{_PART}")
        file = await work_in_thread(self._create, part)
        try:
            with closing(file):
                async for piece in pieces:
                    await work_in_thread(self._write, file, piece)
            await work_in_thread(self._put_in_place, part, path)
        finally:
            await work_in_thread(part.unlink, missing_ok=True)

    async def read(self, name: str) -> AsyncIterator[bytes]:
        file = await work_in_thread(self._open, name)
        with closing(file):
            while piece := await work_in_thread(self._read, file):
                yield piece

    async def delete(self, name: str) -> None:
        await work_in_thread(self._delete, name)

    async def list_blobs(self) -> AsyncIterator[list[BlobEntry]]:
        for folder in await work_in_thread(self._folders):
            yield await work_in_thread(self._list, folder)

    async def sign(self, name: str, *, lifetime: timedelta) -> str | None:  # noqa: ARG002 - the port's
        return None

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name

    def _create(self, part: Path) -> BinaryIO:
        with self._errors():
            if not self._folder.is_dir():  # maybe not mounted: do not write below the mount point
                raise BlobsUnavailable(f"{self._folder}: the folder does not exist")
            part.parent.mkdir(mode=0o700, exist_ok=True)
            return open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")  # noqa: PTH123 - a descriptor

    def _write(self, file: BinaryIO, piece: bytes) -> None:
        with self._errors():
            file.write(piece)
            file.flush()

    def _put_in_place(self, part: Path, path: Path) -> None:
        with self._errors():
            sync(part)
            part.rename(path)
            sync_names(path.parent)
            sync_names(self._folder)

    def _open(self, name: str) -> BinaryIO:
        with self._errors():
            try:
                return self._path(name).open("rb")
            except FileNotFoundError as error:
                if not self._folder.is_dir():
                    raise
                raise BlobMissing(f"the blob {name} is not in {self._folder}") from error

    def _read(self, file: BinaryIO) -> bytes:
        with self._errors():
            return file.read(PIECE_BYTES)

    def _delete(self, name: str) -> None:
        with self._errors():
            self._path(name).unlink(missing_ok=True)

    def _folders(self) -> list[Path]:
        with self._errors():
            return sorted(path for path in self._folder.iterdir() if path.is_dir())

    def _list(self, folder: Path) -> list[BlobEntry]:
        with self._errors():
            found = []
            for path in folder.iterdir():
                try:
                    status = path.stat()
                except FileNotFoundError:  # deleted meanwhile
                    continue
                at = datetime.fromtimestamp(status.st_mtime, UTC)
                if path.suffix == _PART:
                    if datetime.now(UTC) - at > _PART_KEPT_FOR:
                        path.unlink(missing_ok=True)
                    continue
                found.append(BlobEntry(path.name, status.st_size, at))
            return found

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise BlobsUnavailable(f"{self._folder}: {error.strerror}") from error
