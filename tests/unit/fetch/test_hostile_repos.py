"""Malicious repos: each is refused with a reason, early, and leaves no files."""

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases import all_cases
from tests.git_server import GitServer
from tests.hostile_repos import FILE, FOLDER, LINK, MODULE, HostileRepo
from tests.repos import git
from vskill_platform.errors import InvalidInput, SourceRefused
from vskill_platform.fetch import guarded_proxy, snapshot
from vskill_platform.fetch.fetch_source import fetched
from vskill_platform.model.source import Source, git_source

Build = Callable[[HostileRepo], None]


@pytest.fixture
def repo(tmp_path: Path) -> HostileRepo:
    return HostileRepo(tmp_path / "hostile.git")


async def fetch(source: Source) -> list[str]:
    async with fetched(source) as snapshot:
        return [file.path for file in snapshot.files]


def nested(repo: HostileRepo, depth: int) -> str:
    tree = repo.tree((FILE, repo.manifest, "deep.md"))
    for _ in range(depth):
        tree = repo.tree((FOLDER, tree, "d"))
    return tree


def link_out_of_the_tree(repo: HostileRepo) -> None:
    repo.skill((LINK, repo.blob(b"../../../../etc/passwd"), "notes.md"))


def submodule(repo: HostileRepo) -> None:
    repo.skill((MODULE, "1" * 40, "vendor"))


def deep_tree(repo: HostileRepo) -> None:
    repo.skill((FOLDER, nested(repo, 60), "d"))


def newline_in_a_path(repo: HostileRepo) -> None:
    repo.skill((FILE, repo.manifest, "a\nb.md"))


def case_collision(repo: HostileRepo) -> None:
    repo.publish(
        repo.tree((FILE, repo.blob(b"run: evil"), "SKILL.MD"), (FILE, repo.manifest, "SKILL.md"))
    )


def folders_that_collide(repo: HostileRepo) -> None:
    inner = repo.tree((FILE, repo.manifest, "a.md"))
    repo.skill((FOLDER, inner, "Docs"), (FOLDER, inner, "docs"))


def unicode_collision(repo: HostileRepo) -> None:
    repo.skill((FILE, repo.manifest, "caf\u00e9.md"), (FILE, repo.manifest, "cafe\u0301.md"))


def git_inside(repo: HostileRepo) -> None:
    hook = repo.tree((FILE, repo.blob(b"[core]\n\tfsmonitor = evil\n"), "config"))
    repo.skill((FOLDER, hook, ".git"))


def git_in_capitals_inside(repo: HostileRepo) -> None:
    repo.skill((FOLDER, repo.tree((FILE, repo.manifest, "config")), ".GIT"))


def long_path(repo: HostileRepo) -> None:
    repo.skill((FILE, repo.manifest, "x" * 245))


def name_that_is_no_text(repo: HostileRepo) -> None:
    repo.skill((FILE, repo.manifest, b"\xff.md"))


def two_entries_of_one_name(repo: HostileRepo) -> None:
    repo.skill((FILE, repo.manifest, "a.md"), (FILE, repo.blob(b"other"), "a.md"))


def parent_folder(repo: HostileRepo) -> None:
    repo.skill((FOLDER, repo.tree((FILE, repo.manifest, "x.md")), ".."))


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (link_out_of_the_tree, "notes.md is a symbolic link"),
        (submodule, "vendor is a submodule"),
        (deep_tree, "nested more than 20 deep"),
        (newline_in_a_path, "character in its name that is not allowed"),
        (case_collision, "are the same name on other systems"),
        (folders_that_collide, "'Docs' and 'docs' are the same name|'docs' and 'Docs'"),
        (unicode_collision, "are the same name on other systems"),
        (git_inside, "hasDotgit"),
        (git_in_capitals_inside, "hasDotgit"),
        (long_path, "more than 240 characters"),
        (name_that_is_no_text, "character in its name that is not allowed"),
        (two_entries_of_one_name, "duplicateEntries"),
        (parent_folder, "hasDotdot"),
    ],
)
async def test_a_tree_made_to_do_harm_is_refused(
    git_server: GitServer, repo: HostileRepo, build: Build, complaint: str
) -> None:
    build(repo)
    source = git_source(git_server.serve_bare(repo.folder, "eve/evil"))

    with pytest.raises(SourceRefused, match=complaint):
        await fetch(source)


async def test_more_files_than_anybody_can_list_are_not_listed(
    git_server: GitServer, repo: HostileRepo
) -> None:
    tree = repo.tree(*((FILE, repo.manifest, f"{number}.md") for number in range(10)))
    for _ in range(9):
        tree = repo.tree(*((FOLDER, tree, f"{number}") for number in range(10)))
    repo.publish(tree)  # ten thousand million files in eleven objects
    source = git_source(git_server.serve_bare(repo.folder, "eve/evil"))

    with pytest.raises(SourceRefused, match="too many branches, files or folders to list"):
        await fetch(source)


async def test_many_files_are_refused_before_one_of_them_is_fetched(
    git_server: GitServer, repo: HostileRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "MAX_SOURCE_FILES", 50)
    repo.publish(repo.tree(*((FILE, repo.manifest, f"{number:03}.md") for number in range(60))))
    source = git_source(git_server.serve_bare(repo.folder, "eve/evil"))

    with pytest.raises(SourceRefused, match="more than 50 files"):
        await fetch(source)

    assert len(git_server.asked) == 3  # greeting, refs, trees


@pytest.mark.slow
async def test_a_blob_that_unfolds_to_gigabytes_is_refused_by_its_size(
    git_server: GitServer, repo: HostileRepo
) -> None:
    repo.skill((FILE, repo.blob(bytes(90_000_000)), "zeros.bin"))
    source = git_source(git_server.serve_bare(repo.folder, "eve/evil"))

    with pytest.raises(SourceRefused, match=r"larger than 67,108,864 bytes.*'zeros.bin'"):
        await fetch(source)


async def test_a_huge_blob_is_cut_off_on_the_way(
    git_server: GitServer, repo: HostileRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded_proxy, "MAX_FETCH_BYTES", 500_000)
    repo.skill((FILE, repo.blob(random.Random(1).randbytes(3_000_000)), "noise.bin"))
    source = git_source(git_server.serve_bare(repo.folder, "eve/evil"))

    with pytest.raises(SourceRefused, match="sent more than 500,000 bytes"):
        await fetch(source)


async def test_a_filter_of_the_repo_is_never_run(
    git_server: GitServer, tmp_path: Path, repo: HostileRepo
) -> None:
    marker = tmp_path / "ran"
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    repo.skill(
        (FILE, repo.blob(b"* filter=evil text eol=crlf ident export-ignore\n"), ".gitattributes"),
        (FILE, repo.blob(pointer), "model.bin"),
        (FILE, repo.blob(b"$Id$\n"), "notes.md"),
    )
    git(repo.folder, "config", "filter.evil.smudge", f"touch {marker}")
    source = git_source(git_server.serve_bare(repo.folder, "eve/evil"))

    async with fetched(source) as taken:
        contents = {file.path: (taken.folder / file.path).read_bytes() for file in taken.files}

    assert contents["notes.md"] == b"$Id$\n"
    assert contents["model.bin"] == pointer
    assert not marker.exists()


async def test_the_operators_own_git_configuration_has_no_say(
    git_server: GitServer, tmp_path: Path, repo: HostileRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.skill()
    url = git_server.serve_bare(repo.folder, "ada/notes")
    marker = tmp_path / "ran"
    config = tmp_path / "gitconfig"
    config.write_text(f'[credential]\n\thelper = "!touch {marker}"\n[http]\n\tproxy = "http://x"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("GIT_PROXY_COMMAND", f"touch {marker}")
    monkeypatch.setenv("GIT_SSL_NO_VERIFY", "1")

    names = await fetch(git_source(url))

    assert names == ["SKILL.md"]
    assert not marker.exists()


@all_cases(
    "ref",
    ["--upload-pack=touch x", "-x", "a b", "a..b", "a:b", "+main", "main^{}", "a\nb", "@{u}", "a*"],
)
def test_a_ref_that_git_could_misread_is_refused(ref: str) -> None:
    with pytest.raises(InvalidInput, match="not the name of a branch or tag"):
        git_source("https://git.example/a/b", ref=ref)


@pytest.mark.parametrize("path", ["--output=x", "skills/-x"])
def test_a_path_that_git_could_misread_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match="start with a hyphen"):
        git_source("https://git.example/a/b", path)


async def test_a_branch_that_is_called_like_an_option_harms_nobody(
    git_server: GitServer, repo: HostileRepo, tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    repo.skill()
    sha = git(repo.folder, "rev-parse", "main")
    refs = repo.folder / "refs" / "heads"
    (refs / f"--upload-pack=touch {marker}".replace("/", "_")).write_text(f"{sha}\n")
    (refs / "--exec=x").write_text(f"{sha}\n")
    source = git_source(git_server.serve_bare(repo.folder, "eve/evil"), ref="main")

    assert await fetch(source) == ["SKILL.md"]
    assert not marker.exists()


async def test_a_branch_a_tag_or_the_commit_of_one_is_fetched(
    git_server: GitServer, repo: HostileRepo
) -> None:
    repo.skill((FILE, repo.manifest, "old.md"))
    old = git(repo.folder, "rev-parse", "main")
    git(repo.folder, "tag", "-a", "-m", "first", "v1", old)
    repo.skill((FILE, repo.manifest, "new.md"))
    url = git_server.serve_bare(repo.folder, "ada/notes")

    for ref in ("v1", old):
        assert await fetch(git_source(url, ref=ref)) == ["SKILL.md", "old.md"]
    git(repo.folder, "branch", "stable/1", old)
    git(repo.folder, "tag", "-d", "v1")
    for ref in ("stable/1", old):
        assert await fetch(git_source(url, ref=ref)) == ["SKILL.md", "old.md"]
    assert await fetch(git_source(url)) == ["SKILL.md", "new.md"]


async def test_a_commit_that_no_branch_owns_is_refused(
    git_server: GitServer, repo: HostileRepo
) -> None:
    repo.skill()
    strangers = git(repo.folder, "commit-tree", "-m", "from a fork", f"{repo.tree()}")
    git(repo.folder, "update-ref", "refs/pull/1/head", strangers)
    url = git_server.serve_bare(repo.folder, "ada/notes")

    for ref in (strangers, "refs/pull/1/head", "pull/1/head"):
        with pytest.raises(SourceRefused, match="has no branch or tag"):
            await fetch(git_source(url, ref=ref))


async def test_only_the_skills_own_files_are_fetched(
    git_server: GitServer, repo: HostileRepo
) -> None:
    skill = repo.tree((FILE, repo.manifest, "SKILL.md"))
    other = repo.tree((LINK, repo.blob(b"/etc"), "etc"), (FILE, repo.blob(b"x"), "big.bin"))
    repo.publish(repo.tree((FOLDER, other, "other"), (FOLDER, skill, "tidy-notes")))
    url = git_server.serve_bare(repo.folder, "ada/notes")

    async with fetched(git_source(url, "tidy-notes")) as taken:
        assert [file.path for file in taken.files] == ["SKILL.md"]
        assert (taken.commit_sha, taken.tree_sha) == (git(repo.folder, "rev-parse", "main"), skill)
        held = subprocess.run(  # noqa: ASYNC221 - nothing else runs here
            ["git", "-C", str(taken.folder.parent / "git" / "repo"), "cat-file",
             "--batch-all-objects", "--batch-check=%(objecttype)"],
            check=True, capture_output=True, text=True,
        ).stdout.split()  # fmt: skip

    assert held.count("blob") == 1


async def test_a_path_through_a_link_is_no_folder(git_server: GitServer, repo: HostileRepo) -> None:
    repo.skill((LINK, repo.blob(b"/etc"), "out"))
    url = git_server.serve_bare(repo.folder, "eve/evil")

    for path in ("out", "out/ssh", "SKILL.md", "nowhere"):
        with pytest.raises(
            SourceRefused, match=r"there is no folder|is a symbolic link; submit the"
        ):
            await fetch(git_source(url, path))


async def test_an_empty_repo_is_refused(git_server: GitServer, repo: HostileRepo) -> None:
    with pytest.raises(SourceRefused, match="git could not fetch"):
        await fetch(git_source(git_server.serve_bare(repo.folder, "eve/empty")))
