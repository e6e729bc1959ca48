"""A backup as a file that every engine can load: pages with a digest at the end."""

import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from vskill_platform.engines.exported import (
    Contents,
    Export,
    StoredItem,
    Tally,
    decode_page,
    encode_page,
)
from vskill_platform.engines.part_file import check_target, put_in_place, write_part
from vskill_platform.errors import ConfigError, EngineError

_MAGIC = b"vskill-platform export 1\n"
_LENGTH_BYTES = 4
#: The largest page; a longer one means damage, and is not read into memory.
_MAX_FRAME = 128 * 1024 * 1024


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    history_id: str
    revision: int
    items: int


class _Foot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: int
    #: The digest of the items.
    digest: str
    #: SHA-256 of all bytes before the foot; the oldest backups have none.
    before: str = ""


async def write_export(export: Export, target: Path, *, replace: bool) -> Contents:
    """Write an export to *target*; the file gets its name only after it has been verified."""
    check_target(target, replace=replace)
    head = _Head(history_id=export.history_id, revision=export.revision, items=export.items)
    with write_part(target) as part:
        tally = Tally()
        with closing(_create(part)) as file:
            sha256 = hashlib.sha256()
            for content in (_MAGIC, _framed(msgspec.json.encode(head))):
                _write(file, content, sha256)
            async for page in export.pages():
                tally.add(page)
                _write(file, _framed(encode_page(page)), sha256)
            _write(file, _framed(b""), sha256)
            foot = _Foot(items=tally.items, digest=tally.digest, before=sha256.hexdigest())
            file.write(_framed(msgspec.json.encode(foot)))
        contents = inspect_export(part, name=target)
        put_in_place(part, target, replace=replace)
    return contents


def is_export(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def inspect_export(path: Path, *, name: Path | None = None) -> Contents:
    """Read the whole file and compare its digest; return the counts."""
    file = ExportFile(path, name=name or path)
    tally = Tally()
    for page in file.read_pages():
        tally.add(page)
    return Contents(
        revision=file.revision,
        records=dict(sorted(tally.records.items())),
        messages=tally.messages,
        dead_letters=tally.dead_letters,
    )


class ExportFile:
    """An export in a file; if it is damaged, it raises before it yields the last page."""

    def __init__(self, path: Path, *, name: Path | None = None) -> None:
        self._path = path
        self._name = name or path
        if not path.is_file():
            raise ConfigError(f"{self._name}: there is no such file")
        if not is_export(path):
            raise ConfigError(f"{self._name}: this is not a backup of a PostgreSQL registry")
        with closing(self._open()) as file, self._damage_reported():
            head = msgspec.json.decode(self._read(file), type=_Head)
        self.history_id, self.revision, self.items = head.history_id, head.revision, head.items

    async def pages(self) -> AsyncIterator[list[StoredItem]]:
        for page in self.read_pages():
            yield page

    def read_pages(self) -> Iterator[list[StoredItem]]:
        tally, sha256 = Tally(), hashlib.sha256(_MAGIC)
        with closing(self._open()) as file:
            sha256.update(_framed(self._read(file)))
            while frame := self._read(file):
                sha256.update(_framed(frame))
                with self._damage_reported():
                    page = decode_page(frame)
                    tally.add(page)
                yield page
            sha256.update(_framed(b""))
            with self._damage_reported():
                foot = msgspec.json.decode(self._read(file), type=_Foot)
            has_more = bool(file.read(1))
        if has_more or (foot.items, foot.digest) != (tally.items, tally.digest):
            raise self._damaged("its digest differs")
        if foot.before and foot.before != sha256.hexdigest():
            raise self._damaged("its digest differs")

    def _open(self) -> BinaryIO:
        try:
            file = self._path.open("rb")
            file.seek(len(_MAGIC))
        except OSError as error:
            raise EngineError(f"{self._name}: {error.strerror}") from error
        return file

    def _read(self, file: BinaryIO) -> bytes:
        length = int.from_bytes(self._exactly(file, _LENGTH_BYTES), "big")
        if length > _MAX_FRAME:
            raise self._damaged("a page is too long")
        return self._exactly(file, length)

    def _exactly(self, file: BinaryIO, length: int) -> bytes:
        try:
            content = file.read(length)
        except OSError as error:
            raise EngineError(f"{self._name}: {error.strerror}") from error
        if len(content) < length:
            raise self._damaged("its end is missing")
        return content

    @contextmanager
    def _damage_reported(self) -> Iterator[None]:
        try:
            yield
        except (msgspec.DecodeError, ArithmeticError, ValueError) as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, why: str) -> EngineError:
        return EngineError(f"{self._name}: the backup is damaged: {why}")


def _create(part: Path) -> BinaryIO:
    return part.open("wb")


def _framed(content: bytes) -> bytes:
    return len(content).to_bytes(_LENGTH_BYTES, "big") + content


def _write(file: BinaryIO, content: bytes, sha256: "hashlib._Hash") -> None:
    file.write(content)
    sha256.update(content)
