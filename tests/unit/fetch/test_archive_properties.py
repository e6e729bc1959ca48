"""Whatever its members are called, an archive is unpacked inside the folder or refused."""

import io
import tarfile
import tempfile
import unicodedata
import warnings
import zipfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from vskill_platform.errors import SourceRefused
from vskill_platform.fetch.archive import unpack
from vskill_platform.fetch.snapshot import take_snapshot

PARTS = st.sampled_from(
    [
        "a",
        "A",
        "b",
        "..",
        ".",
        "",
        "/",
        "\\",
        ".git",
        ".GIT",
        "é",
        "e\u0301",
        "\u202e",
        "\n",
        "x" * 90,
    ]
)
NAMES = st.lists(PARTS, min_size=1, max_size=5).map("/".join)


@given(st.lists(NAMES, min_size=1, max_size=5), st.booleans())
def test_files_come_out_below_the_folder_or_not_at_all(names: list[str], is_zip: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        outside = Path(place, "around")
        outside.mkdir()
        archive = Path(place, "a.zip" if is_zip else "a.tgz")
        _write(archive, names, is_zip=is_zip)

        try:
            unpack(archive, outside / "out")
            taken = take_snapshot(outside / "out", Path(place, "copy"), folder_name=None)
        except SourceRefused:
            taken = None

        assert [path.name for path in outside.iterdir()] == ["out"]
        if taken:
            found = [file.path for file in taken.files]
            folded = {unicodedata.normalize("NFC", path).casefold() for path in found}
            assert len(folded) == len(found) <= len(names)
            assert not any(".git" in path.lower().split("/") for path in found)


def _write(archive: Path, names: list[str], *, is_zip: bool) -> None:
    if is_zip:
        with warnings.catch_warnings(), zipfile.ZipFile(archive, "w") as packed:
            warnings.simplefilter("ignore")
            for name in names:
                packed.writestr(zipfile.ZipInfo(name), b"x")
        return
    with tarfile.open(archive, "w:gz") as opened:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = 1
            opened.addfile(entry, io.BytesIO(b"x"))
