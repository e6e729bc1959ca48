"""A snapshot as an archive: the same files give the same bytes, here and on every other day."""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import msgspec

from vskill_platform.engines.ports import MAX_VALUE_BYTES
from vskill_platform.errors import SourceRefused
from vskill_platform.model.skill import SkillFile


class Packed(msgspec.Struct, frozen=True):
    content: bytes
    sha256: str


def pack(folder: Path, files: tuple[SkillFile, ...]) -> Packed:
    """Pack the files as a plain tar archive, gzipped, in their order, without dates or owners."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="", compresslevel=6) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for file in files:
            entry = tarfile.TarInfo(file.path)
            entry.size = file.size
            entry.mode = 0o755 if file.is_executable else 0o644
            with (folder / file.path).open("rb") as reading:
                archive.addfile(entry, reading)
    content = packed.getvalue()
    if len(content) > MAX_VALUE_BYTES:
        raise SourceRefused(f"packed, the skill has more than {MAX_VALUE_BYTES:,} bytes")
    return Packed(content, hashlib.sha256(content).hexdigest())
