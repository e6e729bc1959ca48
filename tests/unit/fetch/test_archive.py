"""Unpacking an archive: regular files and folders, or a refusal with a reason."""

import io
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases import all_cases
from tests.shortages import no_descriptors
from vskill_platform.errors import SourceRefused
from vskill_platform.fetch import archive as module
from vskill_platform.fetch.archive import MAX_RATIO, is_archive, root_of, unpack


def a_zip(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content, zipfile.ZIP_DEFLATED)
    return path


def a_tar(path: Path, *members: tuple[str | tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name) if isinstance(name, str) else name
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def a_special_zip_member(kind: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("skill/special")
    info.external_attr = (kind | 0o644) << 16
    return info


def a_special_tar_member(kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo("skill/special")
    info.type, info.linkname = kind, "/etc/passwd"
    return info


@pytest.mark.parametrize(("make", "suffix"), [(a_zip, ".zip"), (a_tar, ".tar.gz"), (a_tar, ".tgz")])
def test_plain_files_come_out_as_they_are(
    tmp_path: Path, make: Callable[..., Path], suffix: str
) -> None:
    archive = make(tmp_path / f"notes{suffix}", ("notes/SKILL.md", b"hi"), ("notes/a/b.sh", b"x"))

    unpack(archive, tmp_path / "out")

    assert is_archive(archive)
    assert (tmp_path / "out/notes/SKILL.md").read_bytes() == b"hi"
    assert (tmp_path / "out/notes/a/b.sh").read_bytes() == b"x"
    assert root_of(tmp_path / "out") == tmp_path / "out/notes"


def test_an_archive_with_several_things_has_no_root_of_its_own(tmp_path: Path) -> None:
    unpack(a_zip(tmp_path / "a.zip", ("SKILL.md", b""), ("docs/x.md", b"")), tmp_path / "out")

    assert root_of(tmp_path / "out") == tmp_path / "out"


@all_cases("make", [a_zip, a_tar])
@all_cases(
    ("name", "complaint"),
    [
        ("../outside", "points outside"),
        ("skill/../../outside", "points outside"),
        ("/tmp/outside", "points outside"),  # noqa: S108 - never written
        ("skill\\..\\outside", "not allowed"),
        ("skill/\x1b[2J", "not allowed"),
        ("skill/\u202egnp.exe", "not allowed"),
        ("d/" * 30 + "deep", "nested more than"),
        ("x" * 241, "more than 240 characters"),
        ("skill/.git/config", "part of a .git folder"),
        ("skill/.GIT/config", "part of a .git folder"),
    ],
)
def test_names_that_lead_out_or_lie_are_refused(
    tmp_path: Path, make: Callable[..., Path], name: str, complaint: str
) -> None:
    archive = make(tmp_path / ("a.zip" if make is a_zip else "a.tgz"), (name, b"x"))

    with pytest.raises(SourceRefused, match=complaint):
        unpack(archive, tmp_path / "out")

    assert not [path for path in tmp_path.rglob("*outside*") if path.is_file()]


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_special_files_in_a_zip_are_refused(tmp_path: Path, kind: int) -> None:
    archive = a_zip(tmp_path / "a.zip", (a_special_zip_member(kind), b"/etc/passwd"))

    with pytest.raises(SourceRefused, match="link or a special file"):
        unpack(archive, tmp_path / "out")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
)
def test_links_and_special_files_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    archive = a_tar(tmp_path / "a.tgz", (a_special_tar_member(kind), b""))

    with pytest.raises(SourceRefused, match="link or a special file"):
        unpack(archive, tmp_path / "out")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("make", [a_zip, a_tar])
def test_two_files_of_one_name_are_refused(tmp_path: Path, make: Callable[..., Path]) -> None:
    path = tmp_path / ("a.zip" if make is a_zip else "a.tgz")
    archive = make(path, ("SKILL.md", b"good"), ("SKILL.md", b"bad"))

    with pytest.raises(SourceRefused, match="two files with the same name"):
        unpack(archive, tmp_path / "out")


@all_cases("make", [a_zip, a_tar])
@all_cases(
    ("one", "other"),
    [("SKILL.md", "skill.MD"), ("caf\u00e9.md", "cafe\u0301.md"), ("Docs/a.md", "docs/b.md"),
     ("stra\u00dfe", "STRASSE"), ("\ufb01le", "file")],
)  # fmt: skip
def test_names_that_are_one_elsewhere_are_refused(
    tmp_path: Path, make: Callable[..., Path], one: str, other: str
) -> None:
    archive = make(tmp_path / ("a.zip" if make is a_zip else "a.tgz"), (one, b"x"), (other, b"y"))

    with pytest.raises(SourceRefused, match="are the same name on other systems"):
        unpack(archive, tmp_path / "out")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_packed_in_a_rare_way_is_refused(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        archive.writestr("SKILL.md", b"x")

    with pytest.raises(SourceRefused, match="uses an unsupported compression"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


def test_unpacked_files_are_readable_only_by_their_owner(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("run.sh")
    info.external_attr = (stat.S_IFREG | 0o6777) << 16
    unpack(a_zip(tmp_path / "a.zip", (info, b"x")), tmp_path / "out")

    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert not (tmp_path / "out/run.sh").stat().st_mode & (stat.S_ISUID | stat.S_ISGID)


@pytest.mark.parametrize("make", [a_zip, a_tar])
def test_a_file_as_a_folder_is_refused(tmp_path: Path, make: Callable[..., Path]) -> None:
    archive = make(tmp_path / ("a.zip" if make is a_zip else "a.tgz"), ("a", b"x"), ("a/b", b"y"))

    with pytest.raises(SourceRefused, match=r"two files with the same name|a file as a folder"):
        unpack(archive, tmp_path / "out")


@pytest.mark.parametrize("make", [a_zip, a_tar])
def test_a_bomb_is_refused_before_it_has_unfolded(
    tmp_path: Path, make: Callable[..., Path]
) -> None:
    archive = make(tmp_path / ("a.zip" if make is a_zip else "a.tgz"), ("zeros", bytes(30_000_000)))

    with pytest.raises(SourceRefused, match="far more than its size suggests"):
        unpack(archive, tmp_path / "out", max_ratio=MAX_RATIO)

    assert (tmp_path / "out/zeros").stat().st_size < 5_000_000


@pytest.mark.parametrize("make", [a_zip, a_tar])
def test_our_own_archives_may_have_any_compression_ratio(
    tmp_path: Path, make: Callable[..., Path]
) -> None:
    archive = make(tmp_path / ("a.zip" if make is a_zip else "a.tgz"), ("zeros", bytes(30_000_000)))

    unpack(archive, tmp_path / "out")

    assert (tmp_path / "out/zeros").stat().st_size == 30_000_000


@pytest.mark.parametrize("make", [a_zip, a_tar])
def test_our_own_archives_are_limited_in_size_too(
    tmp_path: Path, make: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SOURCE_BYTES", 1_000_000)
    archive = make(tmp_path / ("a.zip" if make is a_zip else "a.tgz"), ("zeros", bytes(1_000_001)))

    with pytest.raises(SourceRefused, match="or to too much"):
        unpack(archive, tmp_path / "out")


@all_cases(
    "kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK]
)
@all_cases("before", [(), (("SKILL.md", b"hi"),)], ids=["first", "later"])
def test_a_header_that_would_exhaust_its_reader_is_not_read(
    tmp_path: Path, kind: bytes, before: tuple[tuple[str, bytes], ...]
) -> None:
    header = tarfile.TarInfo("words")
    header.type = kind
    digits = b"1" * 10_000_000  # some releases look for the end of the number at each digit
    archive = a_tar(tmp_path / "a.tgz", *before, (header, digits), ("notes.md", b"hi"))

    with pytest.raises(SourceRefused, match="has an oversized header"):
        unpack(archive, tmp_path / "out")


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SOURCE_FILES", 3)
    archive = a_zip(tmp_path / "a.zip", *((f"{number}.md", b"") for number in range(4)))

    with pytest.raises(SourceRefused, match="more than 3 files"):
        unpack(archive, tmp_path / "out")


def test_a_large_archive_is_not_even_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SOURCE_BYTES", 10)

    with pytest.raises(SourceRefused, match="larger than 10 bytes"):
        unpack(a_zip(tmp_path / "a.zip", ("SKILL.md", b"")), tmp_path / "out")


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    archive = a_zip(tmp_path / "a.zip", ("SKILL.md", b"text"))
    raw = bytearray(archive.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(raw)

    with pytest.raises(SourceRefused, match="is encrypted"):
        unpack(archive, tmp_path / "out")


@all_cases("name", ["a.zip", "a.tar.gz", "a.tgz"])
@all_cases("content", [b"", b"no archive", b"PK\x05\x06", b"\x1f\x8b\x08\x00broken"])
def test_a_file_that_is_not_an_archive_is_refused(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(SourceRefused, match="cannot be"):
        unpack(tmp_path / name, tmp_path / "out")


def test_a_machine_that_is_out_of_resources_refuses_no_archive(tmp_path: Path) -> None:
    archive = a_zip(tmp_path / "skill.zip", ("skill/SKILL.md", b"x"))

    with pytest.raises(OSError, match="Too many open files"), no_descriptors():
        unpack(archive, tmp_path / "out")
