"""Reading the archives that the platform packed, compared with `tarfile`."""

import hashlib
import io
import tarfile
from collections.abc import Mapping

from tests.cases import all_cases
from vskill_platform.fetch.pack import pack_contents
from vskill_platform.model.skill import SkillFile
from vskill_platform.publish.versions.version_files import unpack_all


def an_archive(files: Mapping[str, bytes], *, executable: str = "") -> bytes:
    listed = [
        SkillFile(
            path=path,
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            is_executable=path == executable,
        )
        for path, content in files.items()
    ]
    return pack_contents(listed, list(files.values())).content


def by_tarfile(archive: bytes) -> list[tuple[str, bytes, bool]]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        found = [(member, files.extractfile(member)) for member in files]
        return [(item.name, file.read(), bool(item.mode & 0o100)) for item, file in found if file]


@all_cases(
    "files",
    [
        {},
        {"SKILL.md": b""},
        {"SKILL.md": b"x" * 511, "a": b"y" * 512, "b": b"z" * 513},
        {"scripts/run.sh": b"echo\n", "SKILL.md": b"\0" * 2000},
        {f"{'a' * 99}/{'b' * 99}": b"split", f"{'c' * 150}.md": b"long"},
        {"grüße/日本.md": b"hello", "e\u0301.md": b"combined", "plain": b"after"},
        {f"{'ü' * 120}/{'x' * 100}": b"both"},
    ],
)
def test_it_reads_what_tarfile_reads(files: Mapping[str, bytes]) -> None:
    archive = an_archive(files, executable="scripts/run.sh")

    assert list(unpack_all(archive)) == by_tarfile(archive)
    assert [path for path, *_ in unpack_all(archive)] == list(files)
