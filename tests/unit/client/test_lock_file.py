"""The lock file: the same skills give the same text, and a damaged or hostile one is refused."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cases import all_cases
from vskill_platform.client.install_folders import LOCK_NAME, InstallScope, ScopeKind, SkillsFolder
from vskill_platform.client.lock_file import (
    LockedSkill,
    check_files,
    format_lock,
    parse_lock,
    read_lock,
)
from vskill_platform.errors import ConfigError, SourceRefused
from vskill_platform.fetch.snapshot import digest_of
from vskill_platform.model.skill import SkillFile

FILES = (
    SkillFile(path="SKILL.md", size=3, sha256="a" * 64, is_executable=False),
    SkillFile(path='scripts/"r\x7f"é.sh'.replace("\x7f", "u"), size=5, sha256="b" * 64,
              is_executable=True),
)  # fmt: skip


@pytest.fixture
def scope(tmp_path: Path) -> InstallScope:
    return InstallScope(kind=ScopeKind.PROJECT, root=tmp_path, lock=tmp_path / LOCK_NAME)


def a_skill(slug: str = "@acme/demo", **fields: Any) -> LockedSkill:
    given: dict[str, Any] = {
        "slug": slug,
        "name": slug.rpartition("/")[2],
        "registry": "https://skills.example",
        "version": "1.2.0",
        "range": "^1",
        "archive_sha256": "c" * 64,
        "content_hash": digest_of(FILES),
        "folders": (SkillsFolder(path=".claude/skills", agents=("claude-code",)),),
        "files": FILES,
        **fields,
    }
    return msgspec.convert(given, LockedSkill)


def test_a_lock_file_is_read_as_it_was_written(scope: InstallScope) -> None:
    skills = [a_skill(), a_skill("ada/notes/tidy", range="latest")]

    text = format_lock(skills)

    assert parse_lock(text, scope) == {skill.slug: skill for skill in skills}


def test_the_order_of_skills_files_and_folders_does_not_matter(scope: InstallScope) -> None:
    folders = (SkillsFolder(path=".agents/skills", agents=("codex", "amp")), SkillsFolder(path="z"))
    one = [a_skill(folders=folders), a_skill("ada/notes/tidy")]
    other = [
        a_skill("ada/notes/tidy", files=FILES[::-1]),
        a_skill(folders=(folders[1], SkillsFolder(path=".agents/skills", agents=("amp", "codex")))),
    ]

    assert format_lock(one) == format_lock(other)


def test_two_branches_that_add_a_skill_each_merge_into_a_valid_file(scope: InstallScope) -> None:
    first, second = a_skill("@acme/a"), a_skill("@acme/z")
    base = format_lock([a_skill()])
    ours = format_lock([a_skill(), first])
    theirs = format_lock([a_skill(), second])
    header, block = base.split("\n[[skill]]")
    added = [text for side in (ours, theirs) for text in side.split("\n[[skill]]")[1:]]

    merged = header + "".join(f"\n[[skill]]{text}" for text in dict.fromkeys([*added, block]))

    assert set(parse_lock(merged, scope)) == {"@acme/a", "@acme/demo", "@acme/z"}


HOSTILE = {
    "a path out of the project": {"folders": (SkillsFolder(path="../skills"),)},
    "an absolute path": {"folders": (SkillsFolder(path="/etc"),)},
    "the folder of git": {"folders": (SkillsFolder(path=".git/hooks"),)},
    "the folder of git on Windows": {"folders": (SkillsFolder(path=".GIT./hooks"),)},
}


@pytest.mark.parametrize("fields", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_path_that_leads_elsewhere_is_refused(
    scope: InstallScope, fields: dict[str, Any]
) -> None:
    text = format_lock([a_skill(**fields)])

    with pytest.raises(ConfigError, match="damaged"):
        parse_lock(text, scope)


@pytest.mark.parametrize("path", ["../x", "a/../x", "/x", "a\\b", ".git/config", "x\n"])
def test_a_file_that_could_leave_the_folder_or_act_is_refused(path: str) -> None:
    files = (msgspec.structs.replace(FILES[0], path=path),)

    with pytest.raises(SourceRefused):
        check_files(files, digest_of(files))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "demo"', 'name = "../demo"'),
        ('name = "demo"', 'name = "con"'),
        ('name = "demo"', 'name = "demo\\u001b[2J"'),
        ('slug = "@acme/demo"', 'slug = "@acme/\\u202edemo"'),
        ('version = "1.2.0"', 'version = "1.2.0; rm"'),
        ('range = "^1"', 'range = "newest"'),
        ("c" * 64, "c" * 63),
        ("a" * 64, "d" * 64),
        ('path = "SKILL.md"', 'path = "../SKILL.md"'),
        ("https://skills.example", "file:///etc"),
        ("size = 3", "size = -3"),
        ("version = 1\n", "version = 2\n"),
        ("[[skill]]", "[[skills]]"),
        ("[[skill]]", "[[skill]]\nmore = 1"),
        ("[[skill]]", "<<<<<<< ours\n[[skill]]"),
        ("[[skill]]", "[[skill]"),
    ],
)
def test_a_damaged_file_is_refused(scope: InstallScope, old: str, new: str) -> None:
    text = format_lock([a_skill()])
    assert old in text

    with pytest.raises(ConfigError, match=LOCK_NAME):
        parse_lock(text.replace(old, new, 1), scope)


def test_a_skill_that_is_in_it_twice_is_refused(scope: InstallScope) -> None:
    header, block = format_lock([a_skill()]).split("\n[[skill]]")

    with pytest.raises(ConfigError, match="twice"):
        parse_lock(f"{header}\n[[skill]]{block}\n[[skill]]{block}", scope)


def test_two_skills_in_one_folder_are_refused(scope: InstallScope) -> None:
    text = format_lock([a_skill(), a_skill("@evil/demo")])

    with pytest.raises(ConfigError, match="same folder"):
        parse_lock(text, scope)


def test_a_skills_folder_that_is_a_link_out_of_the_project_is_refused(
    scope: InstallScope, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (scope.root / ".claude").mkdir()
    (scope.root / ".claude" / "skills").symlink_to(tmp_path_factory.mktemp("elsewhere"))

    with pytest.raises(ConfigError, match="leads out of"):
        parse_lock(format_lock([a_skill()]), scope)


@pytest.mark.parametrize(
    "text", ['skill = "abc"', "skill = [1]", "skill = 1", f"a = {'[' * 5000}", "[skill]\nfiles = 1"]
)
def test_a_file_of_another_shape_is_damaged(scope: InstallScope, text: str) -> None:
    with pytest.raises(ConfigError, match="is damaged"):
        parse_lock(f"version = 1\n{text}\n", scope)


def test_a_lock_file_that_never_ends_is_refused(scope: InstallScope) -> None:
    scope.lock.symlink_to("/dev/zero")

    with pytest.raises(ConfigError, match="not a regular file"):
        read_lock(scope)


def test_a_pipe_in_place_of_a_lock_file_is_not_waited_for(scope: InstallScope) -> None:
    os.mkfifo(scope.lock)

    with pytest.raises(ConfigError, match="not a regular file"):
        read_lock(scope)


def test_a_folder_that_is_a_link_to_itself_is_refused(scope: InstallScope) -> None:
    (scope.root / ".claude").symlink_to(".claude")

    with pytest.raises(ConfigError, match="leads nowhere"):
        parse_lock(format_lock([a_skill()]), scope)


@all_cases(
    ("text", "words"),
    [
        ("", "is damaged: it has no version"),
        ("version = 0", "is damaged"),
        ("version = true", "is damaged"),
        ('version = "2"', "is damaged"),
        ("version = 2", "newer release.*upgrade vskill-platform"),
    ],
)
def test_a_file_of_a_newer_release_and_an_empty_one_are_distinguished(
    scope: InstallScope, text: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_lock(text, scope)
