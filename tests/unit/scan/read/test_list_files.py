"""Listing a skill folder: every file once, no link followed, no special files."""

import os
from pathlib import Path

import pytest

from vskill_platform.scan.read.list_files import FoundFile, list_files
from vskill_platform.scan.read.skill_files import read_files


def test_files_are_found_at_any_depth_with_their_sizes(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "SKILL.md").write_bytes(b"12345")
    (tmp_path / "a/b/.hidden").write_bytes(b"")

    assert sorted(list_files(tmp_path)) == [
        FoundFile("SKILL.md", size=5, is_plain=True),
        FoundFile("a/b/.hidden", size=0, is_plain=True),
    ]


def test_links_are_named_but_not_followed(tmp_path: Path) -> None:
    skill, outside = tmp_path / "skill", tmp_path / "outside"
    (skill / "loop").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_bytes(b"123")
    (skill / "to_file").symlink_to(outside / "secret")
    (skill / "to_folder").symlink_to(outside)
    (skill / "to_nothing").symlink_to(skill / "gone")
    (skill / "to_itself").symlink_to(skill / "to_itself")
    (skill / "loop/up").symlink_to(skill)

    found = list_files(skill)

    assert found == [FoundFile("to_file", size=3, is_plain=False)]
    assert read_files(skill, found) == []


def test_entries_that_are_not_files_are_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").mkdir()

    assert list_files(tmp_path) == []


def test_a_name_that_is_no_text_keeps_its_file_from_nobody(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.md")
    (tmp_path / name).write_text("# Notes")

    (file,) = read_files(tmp_path, list_files(tmp_path))

    assert (file.path, file.text) == ("caf\\udce9.md", "# Notes")


def test_a_folder_that_has_gone_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list_files(tmp_path / "gone")


def test_a_file_is_read_to_its_end_if_its_declared_size_is_wrong() -> None:
    (status,) = read_files(Path("/proc/self"), [FoundFile("status", size=0, is_plain=True)])

    assert "Threads:" in status.text
    assert status.size > 0
