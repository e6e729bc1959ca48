"""Fetching: a private copy, nothing of the repo is run, nothing outside of it is read."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from tests.repos import a_repo, commit_all, git
from vskill_platform.errors import SourceRefused, SourceUnavailable
from vskill_platform.fetch import snapshot as snapshot_module
from vskill_platform.fetch.fetch_source import fetched
from vskill_platform.model.source import folder_source, git_source


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


async def test_hooks_and_submodules_of_a_repo_do_nothing(tmp_path: Path) -> None:
    inner = a_skill_folder(tmp_path, "inner")
    inner_url = a_repo(inner)
    folder = a_skill_folder(tmp_path)
    url = a_repo(folder)
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", inner_url, "sub")
    commit_all(folder)
    marker = tmp_path / "hook-ran"
    hook = folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)

    async with fetched(git_source(url)) as snapshot:
        names = [file.path for file in snapshot.files]

    assert names == [".gitmodules", "SKILL.md"]
    assert not marker.exists()


async def test_a_repo_that_is_not_there_is_refused_for_good(tmp_path: Path) -> None:
    with pytest.raises(SourceRefused, match="git could not fetch"):
        async with fetched(git_source(f"file://{tmp_path}/no/repo")):
            pass


async def test_a_host_that_does_not_answer_may_answer_later(free_tcp_port: int) -> None:
    with pytest.raises(SourceUnavailable, match="could not reach"):
        async with fetched(git_source(f"https://127.0.0.1:{free_tcp_port}/a/b")):
            pass


async def test_git_does_not_outlive_who_called_it(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    started = tmp_path / "pid"
    (programs / "git").write_text(
        f"#!/bin/sh\necho $$ > {started}.new\nmv {started}.new {started}\nexec sleep 1000\n"
    )
    (programs / "git").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

        async def fetch() -> None:
            async with fetched(git_source("https://git.example/a/b")):
                pass

        task = asyncio.create_task(fetch())
        while not started.exists():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


async def test_a_link_is_refused(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    (folder / "passwords").symlink_to("/etc/passwd")

    with pytest.raises(SourceRefused, match="passwords is a symbolic link"):
        async with fetched(folder_source(str(folder))):
            pass


async def test_a_path_that_leads_out_through_a_link_is_refused(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path / "repo")
    (folder / "out").symlink_to(tmp_path)

    with pytest.raises(SourceRefused, match="leads out"):
        async with fetched(folder_source(str(folder), "out")):
            pass


async def test_a_special_file_is_refused(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    os.mkfifo(folder / "pipe")

    with pytest.raises(SourceRefused, match="pipe is not a plain file"):
        async with fetched(folder_source(str(folder))):
            pass


@pytest.mark.parametrize("name", ["tab\there", "back\\slash", "line\nbreak", "bidi\u202eexe.md"])
async def test_a_name_that_deceives_is_refused(tmp_path: Path, name: str) -> None:
    folder = a_skill_folder(tmp_path)
    (folder / name).write_text("x")

    with pytest.raises(SourceRefused, match="not allowed"):
        async with fetched(folder_source(str(folder))):
            pass


async def test_what_is_missing_is_named(tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)

    with pytest.raises(SourceRefused, match="there is no folder 'nowhere'"):
        async with fetched(folder_source(str(folder), "nowhere")):
            pass
    with pytest.raises(SourceRefused, match="is not a folder"):
        async with fetched(folder_source(str(tmp_path / "gone"))):
            pass


@pytest.mark.parametrize(
    ("limit", "value", "complaint"),
    [
        ("MAX_FILES", 2, "more than 2 files"),
        ("MAX_TOTAL_BYTES", 100, "more than 100 bytes"),
        ("MAX_DEPTH", 1, "more than 1 deep"),
    ],
)
async def test_too_much_is_refused_while_it_is_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, complaint: str
) -> None:
    folder = a_skill_folder(tmp_path, one_dot_md="x" * 90, two_dot_md="y")
    (folder / "deep" / "deeper").mkdir(parents=True)
    monkeypatch.setattr(snapshot_module, limit, value)

    with pytest.raises(SourceRefused, match=complaint):
        async with fetched(folder_source(str(folder))):
            pass
