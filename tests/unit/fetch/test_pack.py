"""The archive of a snapshot: byte by byte the same for the same files."""

import gzip
import io
import os
import random
import string
import tarfile
from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from vskill_platform.errors import SourceRefused
from vskill_platform.fetch import pack as module
from vskill_platform.fetch.archive import unpack
from vskill_platform.fetch.pack import Packed, pack
from vskill_platform.fetch.snapshot import take_snapshot
from vskill_platform.model.skill import SkillFile


def test_dates_owners_order_and_masks_change_nothing(tmp_path: Path) -> None:
    packed: list[Packed] = []
    for place, names in (("a", ("x.md", "y.md")), ("b", ("y.md", "x.md"))):
        folder = a_skill_folder(tmp_path / place)
        for name in names:
            (folder / name).write_text(name)
        os.utime(folder / "x.md", (len(packed) * 1000, 7))
        (folder / "y.md").chmod(0o600 if packed else 0o644)
        snapshot = take_snapshot(folder, tmp_path / place / "copy", folder_name="tidy-notes")
        packed.append(pack(snapshot.folder, snapshot.files))

    assert packed[0] == packed[1]


def test_a_packed_skill_unpacks_with_the_same_digest(tmp_path: Path) -> None:
    deep = "/".join(["a-folder-with-a-rather-long-name"] * 6)
    folder = a_skill_folder(tmp_path)
    (folder / deep).mkdir(parents=True)
    (folder / deep / "r\u00e9sum\u00e9.sh").write_text("echo hi")
    (folder / deep / "r\u00e9sum\u00e9.sh").chmod(0o755)
    before = take_snapshot(folder, tmp_path / "copy", folder_name=None)

    archive = tmp_path / "packed.tar.gz"
    archive.write_bytes(pack(before.folder, before.files).content)
    unpack(archive, tmp_path / "out")
    after = take_snapshot(tmp_path / "out", tmp_path / "again", folder_name=None)

    assert after.digest == before.digest
    assert after.files == before.files


def test_a_plain_archive_has_no_owner_and_no_date(tmp_path: Path) -> None:
    snapshot = take_snapshot(a_skill_folder(tmp_path), tmp_path / "copy", folder_name=None)

    with tarfile.open(fileobj=io.BytesIO(pack(snapshot.folder, snapshot.files).content)) as archive:
        (member,) = archive.getmembers()

    assert (member.mtime, member.uid, member.gid, member.uname, member.gname) == (0, 0, 0, "", "")


def test_an_archive_too_large_for_a_record_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_VALUE_BYTES", 10)
    snapshot = take_snapshot(a_skill_folder(tmp_path), tmp_path / "copy", folder_name=None)

    with pytest.raises(SourceRefused, match="the packed skill is larger than 10 bytes"):
        pack(snapshot.folder, snapshot.files)


def packed_by_the_library(folder: Path, files: tuple[SkillFile, ...]) -> bytes:
    """Return what the standard library makes of it, slowly."""
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
    return packed.getvalue()


#: Around the sizes of a block, of a record, of what we read at once and of what gzip looks at.
SIZES = (0, 1, 511, 512, 513, 10_240 - 1536, 32_768, 1024 * 1024 - 1, 1024 * 1024 + 1)


def test_our_tar_writer_writes_the_same_bytes_as_the_standard_library(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    for size in SIZES:
        words = random.Random(size).choices(string.printable, k=max(size // 3, 1))
        (folder / f"of-{size}-bytes").write_text(("".join(words) * 3 + "xxx")[:size])
    deep = folder / "/".join(["a-folder-with-a-rather-long-name"] * 4)
    deep.mkdir(parents=True)
    (deep / "r\u00e9sum\u00e9.sh").write_text("echo hi")
    (deep / "r\u00e9sum\u00e9.sh").chmod(0o755)
    snapshot = take_snapshot(folder, tmp_path / "copy", folder_name=None)

    together = pack(snapshot.folder, snapshot.files)
    alone = [pack(snapshot.folder, (file,)) for file in snapshot.files]

    assert together.content == packed_by_the_library(snapshot.folder, snapshot.files)
    for file, packed in zip(snapshot.files, alone, strict=True):
        theirs = packed_by_the_library(snapshot.folder, (file,))
        assert gzip.decompress(packed.content) == gzip.decompress(theirs), file.path
        assert len(packed.content) <= len(theirs) + 10, file.path


def test_a_file_that_was_cut_off_meanwhile_is_an_error(tmp_path: Path) -> None:
    snapshot = take_snapshot(a_skill_folder(tmp_path), tmp_path / "copy", folder_name=None)
    (snapshot.folder / "SKILL.md").write_text("short")

    with pytest.raises(OSError, match=r"SKILL\.md was truncated"):
        pack(snapshot.folder, snapshot.files)
