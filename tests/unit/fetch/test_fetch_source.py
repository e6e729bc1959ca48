"""Fetching: a private copy; no code of the repo runs, and nothing outside of it is read."""

import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.casts import a_skill_folder
from tests.repos import a_repo, commit_all, git
from vskill_platform.errors import SourceRefused
from vskill_platform.fetch import file_names as names_module
from vskill_platform.fetch import snapshot as snapshot_module
from vskill_platform.fetch.fetch_source import PACKED_ON_THE_WAY, fetched
from vskill_platform.fetch.pack import pack
from vskill_platform.model.source import folder_source, git_source
from vskill_platform.publish.versions.version_files import package_skill
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage

pytestmark = pytest.mark.usefixtures("bound")


async def test_a_folder_is_copied_with_a_digest_of_its_files(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path, run_dot_sh="echo hi\n")
    (folder / "run.sh").chmod(0o755)

    async with fetched(folder_source(str(folder))) as snapshot:
        names = [file.path for file in snapshot.files]
        copied = (snapshot.folder / "run.sh").read_text()
        place = snapshot.folder

    assert names == ["SKILL.md", "run.sh"]
    assert [file.is_executable for file in snapshot.files] == [False, True]
    assert copied == "echo hi\n"
    assert snapshot.folder_name == "tidy-notes"
    assert not place.exists()


async def test_equal_files_have_equal_digests_and_a_changed_byte_another(tmp_path: Path) -> None:
    digests = []
    for parent, text in (("a", "x"), ("b", "x"), ("c", "y")):
        folder = a_skill_folder(tmp_path / parent, notes_dot_md=text)
        async with fetched(folder_source(str(folder))) as snapshot:
            digests.append(snapshot.digest)

    assert digests[0] == digests[1] != digests[2]


async def test_the_newest_commit_of_a_repo_is_fetched(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    url = a_repo(folder)
    (folder / "more.md").write_text("more")
    sha = commit_all(folder)

    async with fetched(git_source(url)) as snapshot:
        names = [file.path for file in snapshot.files]

    assert names == ["SKILL.md", "more.md"]
    assert snapshot.commit_sha == sha
    assert snapshot.folder_name is None


async def test_one_folder_of_a_repo_is_enough(tmp_path: Path) -> None:
    a_skill_folder(tmp_path / "repo" / "skills")
    url = a_repo(tmp_path / "repo")

    async with fetched(git_source(url, "skills/tidy-notes")) as snapshot:
        names = [file.path for file in snapshot.files]

    assert names == ["SKILL.md"]


async def test_hooks_of_a_repo_do_nothing(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    url = a_repo(folder)
    marker = tmp_path / "hook-ran"
    (folder / ".git" / "hooks").mkdir(exist_ok=True)
    for name in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-index-change"):
        hook = folder / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
        hook.chmod(0o755)

    async with fetched(git_source(url)) as snapshot:
        names = [file.path for file in snapshot.files]

    assert names == ["SKILL.md"]
    assert not marker.exists()


async def test_a_submodule_outside_of_the_skill_is_not_fetched(tmp_path: Path) -> None:
    inner_url = a_repo(a_skill_folder(tmp_path, "inner"))
    repo = tmp_path / "repo"
    a_skill_folder(repo)
    url = a_repo(repo)
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", inner_url, "sub")
    commit_all(repo)

    async with fetched(git_source(url, "tidy-notes")) as snapshot:
        names = [file.path for file in snapshot.files]

    assert names == ["SKILL.md"]


async def test_a_repo_that_is_not_there_is_refused_for_good(tmp_path: Path) -> None:
    with pytest.raises(SourceRefused, match="git could not fetch"):
        async with fetched(git_source(f"file://{tmp_path}/no/repo")):
            pass


async def test_a_link_is_refused(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    (folder / "passwords").symlink_to("/etc/passwd")

    with pytest.raises(SourceRefused, match="passwords is a symbolic link"):
        async with fetched(folder_source(str(folder))):
            pass


async def test_a_path_that_leads_out_through_a_link_is_refused(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path / "repo")
    (folder / "out").symlink_to(tmp_path)

    with pytest.raises(SourceRefused, match="points outside"):
        async with fetched(folder_source(str(folder), "out")):
            pass


async def test_a_special_file_is_refused(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    os.mkfifo(folder / "pipe")

    with pytest.raises(SourceRefused, match="pipe is not a regular file"):
        async with fetched(folder_source(str(folder))):
            pass


@pytest.mark.parametrize("name", ["tab\there", "back\\slash", "line\nbreak", "bidi\u202eexe.md"])
async def test_a_name_that_deceives_is_refused(tmp_path: Path, name: str) -> None:
    folder = a_skill_folder(tmp_path)
    (folder / name).write_text("x")

    with pytest.raises(SourceRefused, match="not allowed"):
        async with fetched(folder_source(str(folder))):
            pass


@pytest.mark.parametrize("name", [".GIT", ".git.", "git~1", ".git::$INDEX_ALLOCATION"])
async def test_a_file_name_that_other_systems_read_as_git_folder_is_refused(
    tmp_path: Path, name: str
) -> None:
    folder = a_skill_folder(tmp_path)
    (folder / name).mkdir()
    (folder / name / "config").write_text("[core]")

    with pytest.raises(SourceRefused, match=r"part of a \.git folder"):
        async with fetched(folder_source(str(folder))):
            pass


async def test_the_git_folder_of_a_working_copy_is_left_out(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    a_repo(folder)

    async with fetched(folder_source(str(folder))) as snapshot:
        assert [file.path for file in snapshot.files] == ["SKILL.md"]


async def test_names_that_are_one_elsewhere_are_refused(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path, skill_dot_md="not the same")

    with pytest.raises(SourceRefused, match="are the same name on other systems"):
        async with fetched(folder_source(str(folder))):
            pass


async def test_a_folder_that_the_operator_did_not_allow_is_refused(
    tmp_path: Path, env: WorkerEnv
) -> None:
    settings = msgspec.structs.replace(env.settings, local_folders=str(tmp_path / "allowed"))
    worker_env_storage.set(replace(env, settings=settings))
    folder = a_skill_folder(tmp_path / "outside")
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed" / "link").symlink_to(folder)

    for source in (
        folder_source(str(folder)),
        folder_source(str(tmp_path / "allowed" / "link")),
        git_source(a_repo(folder)),
    ):
        with pytest.raises(SourceRefused, match=r"is not in a local folder .* VSKILL_LOCAL"):
            async with fetched(source):
                pass


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)

    with pytest.raises(SourceRefused, match="there is no folder 'nowhere'"):
        async with fetched(folder_source(str(folder), "nowhere")):
            pass
    with pytest.raises(SourceRefused, match="the folder no longer exists or is not a folder"):
        async with fetched(folder_source(str(tmp_path / "gone"))):
            pass


@pytest.mark.parametrize(
    ("limit", "value", "complaint"),
    [
        ("MAX_SOURCE_FILES", 2, "more than 2 files"),
        ("MAX_SOURCE_BYTES", 100, "larger than 100 bytes"),
        ("MAX_DEPTH", 0, "more than 0 deep"),
        ("MAX_PATH_CHARACTERS", 9, "more than 9 characters"),
    ],
)
async def test_too_much_is_refused_while_it_is_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, complaint: str
) -> None:
    folder = a_skill_folder(tmp_path, one_dot_md="x" * 90, two_dot_md="y")
    (folder / "deep" / "deeper").mkdir(parents=True)
    module = snapshot_module if hasattr(snapshot_module, limit) else names_module
    monkeypatch.setattr(module, limit, value)

    with pytest.raises(SourceRefused, match=complaint):
        async with fetched(folder_source(str(folder))):
            pass


async def test_a_small_skill_is_packed_while_it_is_copied_with_the_same_bytes(
    tmp_path: Path,
) -> None:
    folder = a_skill_folder(tmp_path, run_dot_sh="echo hi\n", empty_dot_md="")
    (folder / "deep").mkdir()
    (folder / "deep" / "notes.md").write_text("more\n" * 500)

    async with fetched(folder_source(str(folder))) as snapshot:
        again = pack(snapshot.folder, snapshot.files)

    assert snapshot.packed == again


async def test_a_large_skill_is_packed_when_needed(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path, more_dot_md="x" * PACKED_ON_THE_WAY)

    async with fetched(folder_source(str(folder))) as snapshot:
        packed = await package_skill(snapshot)

    assert snapshot.packed is None
    assert packed.content


@pytest.mark.usefixtures("leftovers")
async def test_nothing_is_left_of_a_folder_that_was_refused(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    os.mkfifo(folder / "z-pipe")

    with pytest.raises(SourceRefused, match="z-pipe is not a regular file"):
        async with fetched(folder_source(str(folder))):
            pass


def allowed_in(env: WorkerEnv, folder: Path) -> WorkerEnv:
    settings = msgspec.structs.replace(env.settings, local_folders=str(folder))
    return replace(env, settings=settings)


@pytest.mark.parametrize("name", ["skills-of-others", "skill", "skills/../other"])
async def test_a_folder_beside_the_allowed_one_is_refused(
    bound: WorkerEnv, tmp_path: Path, name: str
) -> None:
    (tmp_path / "skills").mkdir()
    folder = a_skill_folder(tmp_path / name)
    worker_env_storage.set(allowed_in(bound, tmp_path / "skills"))

    with pytest.raises(SourceRefused, match="is not in a local folder"):
        async with fetched(folder_source(str(folder))):
            pass


async def test_links_to_and_from_the_allowed_folder_are_followed_before_it_is_decided(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    inside = a_skill_folder(tmp_path / "real")
    outside = a_skill_folder(tmp_path / "other")
    (tmp_path / "skills").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "way-out").symlink_to(outside)
    worker_env_storage.set(allowed_in(bound, tmp_path / "skills"))

    for folder in (inside, tmp_path / "skills" / inside.name):
        async with fetched(folder_source(str(folder))) as snapshot:
            assert [file.path for file in snapshot.files] == ["SKILL.md"]
    with pytest.raises(SourceRefused, match="is not in a local folder"):
        async with fetched(folder_source(str(tmp_path / "skills" / "way-out"))):
            pass


async def test_the_whole_machine_may_be_allowed(bound: WorkerEnv, tmp_path: Path) -> None:
    worker_env_storage.set(allowed_in(bound, Path("/")))

    async with fetched(folder_source(str(a_skill_folder(tmp_path)))) as snapshot:
        assert snapshot.files
