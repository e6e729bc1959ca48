"""Skills inside an upload: an archive, or the files of a folder with their paths."""

from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from vskill_platform.errors import SourceRefused
from vskill_platform.intake.discover import discovered_archive, discovered_files
from vskill_platform.intake.submit_set import submit_set
from vskill_platform.runtime.env import WorkerEnv

_TIDY = b"---\nname: tidy\ndescription: Tidies notes.\n---\nTidy the notes.\n"


def _files(folder: Path) -> list[tuple[str, bytes]]:
    return [
        (file.relative_to(folder.parent).as_posix(), file.read_bytes())
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    ]


async def test_the_files_of_a_folder_are_one_skill(bound: WorkerEnv, tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path, "tidy-notes")

    async with discovered_files(_files(folder), namespace="@ada") as discovery:
        submitted = await submit_set(discovery, submitter="ada")

    (member,) = submitted.members
    assert member.result
    source = member.result.submission.source
    assert (source.namespace, source.folder_name) == ("@ada", "tidy-notes")


async def test_several_folders_are_several_skills(bound: WorkerEnv) -> None:
    files = [("all/one/SKILL.md", _TIDY), ("all/two/SKILL.md", _TIDY)]

    async with discovered_files(files, namespace="@ada") as discovery:
        assert [skill.path for skill in discovery.skills] == ["one", "two"]


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["../SKILL.md"], "contains an empty, '.' or '..' path segment"),
        (["skill/../../SKILL.md"], "contains an empty, '.' or '..' path segment"),
        (["skill//SKILL.md"], "contains an empty, '.' or '..' path segment"),
        (["skill\\SKILL.md"], "not allowed"),
        (["skill/\x00SKILL.md"], "not allowed"),
        (["skill/.git/config"], "part of a .git folder"),
        (["skill/SKILL.md", "skill/skill.md"], "the same name on other systems"),
        (["skill/SKILL.md", "skill/SKILL.md"], "twice"),
        (["skill/a", "skill/a/b"], "a file and a folder"),
        (["/".join(["d"] * 30)], "nested"),
        ([], "no file"),
    ],
    ids=[
        "parent", "parent inside", "empty part", "backslash", "nul", "git", "case", "twice",
        "file and folder", "deep", "none",
    ],
)  # fmt: skip
async def test_names_that_lead_astray_are_refused(
    bound: WorkerEnv, paths: list[str], words: str
) -> None:
    files = [(path, _TIDY) for path in paths]

    with pytest.raises(SourceRefused, match=words):
        async with discovered_files(files, namespace="@ada"):
            pytest.fail("it was taken")


async def test_a_file_that_is_no_archive_is_refused(bound: WorkerEnv) -> None:
    with pytest.raises(SourceRefused, match="not an archive"):
        async with discovered_archive(b"", filename="skill.exe", namespace="@ada"):
            pytest.fail("it was taken")
