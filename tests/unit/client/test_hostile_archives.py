"""Hostile archives of a registry whose digests and list of files are right."""

import hashlib
import io
import stat
import tarfile
from pathlib import Path
from typing import NamedTuple

import pytest

from vskill_platform.client.install_skills import write_skill
from vskill_platform.errors import SourceRefused
from vskill_platform.model.skill import SkillFile

MANIFEST = b"---\nname: demo\ndescription: A demo.\n---\n"
LISTED = SkillFile(
    path="SKILL.md",
    size=len(MANIFEST),
    sha256=hashlib.sha256(MANIFEST).hexdigest(),
    is_executable=False,
)


class Entry(NamedTuple):
    name: str
    content: bytes = b""
    kind: bytes = tarfile.REGTYPE
    target: str = ""
    mode: int = 0o644


def an_archive(folder: Path, *entries: Entry) -> Path:
    path = folder / "archive.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for entry in entries:
            info = tarfile.TarInfo(entry.name)
            info.type, info.linkname, info.mode = entry.kind, entry.target, entry.mode
            info.size = len(entry.content)
            archive.addfile(info, io.BytesIO(entry.content))
    return path


@pytest.mark.parametrize(
    ("hostile", "message"),
    [
        (Entry("../../escaped", b"x"), "points outside"),
        (Entry("/{outside}/escaped", b"x"), "points outside"),
        (Entry("scripts", kind=tarfile.SYMTYPE, target="{outside}"), "a link"),
        (Entry("hard", kind=tarfile.LNKTYPE, target="/etc/passwd"), "a link"),
        (Entry("device", kind=tarfile.CHRTYPE), "a special file"),
        (Entry("pipe", kind=tarfile.FIFOTYPE), "a special file"),
        (Entry(".git/hooks/post-checkout", b"x", mode=0o755), r"\.git folder"),
        (Entry("SKILL.md", b"another"), "two files with the same name"),
        (Entry("skill.md", b"another"), "the same name"),
        (Entry("run.sh", b"echo", mode=0o755), r"extra: run\.sh"),
        (Entry("zeros", bytes(64_000_000)), "expands to far more"),
    ],
)
def test_nothing_of_a_hostile_archive_is_installed(
    tmp_path: Path, hostile: Entry, message: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "inside").mkdir()
    hostile = hostile._replace(
        name=hostile.name.format(outside=outside), target=hostile.target.format(outside=outside)
    )
    archive = an_archive(tmp_path, Entry("SKILL.md", MANIFEST), hostile)

    with pytest.raises(SourceRefused, match=message):
        write_skill(archive, [LISTED], tmp_path / "inside/skill")

    assert list(outside.iterdir()) == []
    assert not list(tmp_path.rglob("escaped"))


def test_installed_files_have_no_special_rights(tmp_path: Path) -> None:
    archive = an_archive(tmp_path, Entry("SKILL.md", MANIFEST, mode=0o6755))
    listed = SkillFile(path="SKILL.md", size=LISTED.size, sha256=LISTED.sha256, is_executable=True)

    write_skill(archive, [listed], tmp_path / "skill")

    assert stat.S_IMODE((tmp_path / "skill/SKILL.md").stat().st_mode) & 0o7000 == 0
