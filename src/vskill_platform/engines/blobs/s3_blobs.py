"""Blobs in S3 or a compatible storage."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.blob_settings import S3Location
from vskill_platform.engines.blobs.port import PIECE_BYTES, BlobEntry
from vskill_platform.errors import BlobMissing, BlobsUnavailable

_CONNECT = timedelta(seconds=5)
#: A request fails after this long without a single byte.
_READ = timedelta(seconds=15)
#: The timeout of a whole request: the largest blob over a slow connection.
_REQUEST = timedelta(minutes=2)
_RETRIES, _RETRY_FOR = 2, timedelta(seconds=10)
_PAGE = 500
#: A larger blob is uploaded in several requests.
_BUFFER_BYTES = 8 * PIECE_BYTES


def open_s3(at: S3Location) -> "S3Blobs":
    config: dict[str, Any] = {"region": at.region or "us-east-1"}
    if at.endpoint:
        config["endpoint"] = at.endpoint
    if at.key_id:
        config["access_key_id"] = at.key_id
        config["secret_access_key"] = at.key.reveal()
    store = S3Store(
        at.bucket,
        prefix=at.prefix or None,
        config=config,  # type: ignore[arg-type]  # a TypedDict
        client_options={
            "connect_timeout": _CONNECT,
            "read_timeout": _READ,
            "timeout": _REQUEST,
            "allow_http": at.endpoint.startswith("http://"),
        },
        retry_config={"max_retries": _RETRIES, "retry_timeout": _RETRY_FOR},
    )
    return S3Blobs(store, shown=at.shown)


class S3Blobs:
    """A blob is an object `ab/abcd….1234`; an upload that breaks leaves nothing to read.

    The driver is called in our own threads. Its threads would return results to the event loop, and
    would abort the process if the loop ends at that moment.
    """

    def __init__(self, store: S3Store, *, shown: str) -> None:
        self._store = store
        self._shown = shown

    async def write(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        with self._errors():
            writer = obstore.open_writer(self._store, _path(name), buffer_size=_BUFFER_BYTES)
            async for piece in pieces:
                await work_in_thread(writer.write, piece)
            await work_in_thread(writer.close)

    async def read(self, name: str) -> AsyncIterator[bytes]:
        with self._errors(name):
            found = await work_in_thread(obstore.get, self._store, _path(name))
            pieces = iter(found.stream(min_chunk_size=PIECE_BYTES))
        while True:
            with self._errors(name):
                piece = await work_in_thread(next, pieces, None)
            if piece is None:
                return
            yield bytes(piece)

    async def delete(self, name: str) -> None:
        with self._errors():
            try:
                await work_in_thread(obstore.delete, self._store, _path(name))
            except FileNotFoundError:
                return

    async def list_blobs(self) -> AsyncIterator[list[BlobEntry]]:
        with self._errors():
            pages = iter(obstore.list(self._store, chunk_size=_PAGE))
        while True:
            with self._errors():
                page = await work_in_thread(next, pages, None)
            if page is None:
                return
            yield [
                BlobEntry(each["path"].rpartition("/")[2], each["size"], each["last_modified"])
                for each in page
            ]

    async def sign(self, name: str, *, lifetime: timedelta) -> str | None:
        with self._errors():
            # The client may request credentials first.
            return await work_in_thread(obstore.sign, self._store, "GET", _path(name), lifetime)

    @contextmanager
    def _errors(self, name: str = "") -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            if not name:
                raise BlobsUnavailable(f"{self._shown}: there is no such bucket") from error
            raise BlobMissing(f"the blob {name} is not in {self._shown}") from error
        except (BaseError, OSError, ValueError) as error:
            raise BlobsUnavailable(f"{self._shown}: {_first_line(error)}") from error


def _path(name: str) -> str:
    return f"{name[:2]}/{name}"


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:300]
