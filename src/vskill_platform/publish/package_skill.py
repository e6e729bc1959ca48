"""The archive of a version: the same files give the same bytes."""

import gzip
import io
import tarfile
from pathlib import Path

from vskill_platform.model.skill import SkillFile


def package_skill(folder: Path, files: tuple[SkillFile, ...]) -> bytes:
    """Pack the files as a plain ustar archive, gzipped, with SKILL.md at its root."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="", compresslevel=6) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for file in files:
            entry = tarfile.TarInfo(file.path)
            entry.size = file.size
            entry.mode = 0o755 if file.is_executable else 0o644
            with (folder / file.path).open("rb") as content:
                archive.addfile(entry, content)
    return packed.getvalue()
