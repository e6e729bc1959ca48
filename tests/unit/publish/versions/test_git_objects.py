"""Git objects and packs, compared with what git itself makes of the same files."""

import os
import random
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.clocks import NOON
from vskill_platform.publish.versions.git_objects import (
    GitObject,
    ObjectKind,
    PackWriter,
    TreeFile,
    build_commit,
    build_tree,
    make_object,
)

FILES = {
    "SKILL.md": TreeFile(b"# Tidy\n", is_executable=False),
    "a.b/x": TreeFile(b"", is_executable=False),
    "a/run.sh": TreeFile(b"echo\n", is_executable=True),
    "a/deep/er/data": TreeFile(bytes(range(256)) * 300, is_executable=False),
    "a-b": TreeFile(b"sorted between the folders\n", is_executable=False),
    "grüße.md": TreeFile(b"hello\n", is_executable=False),
}


def run_git(folder: Path, *arguments: str) -> str:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "vskill-platform",
        "GIT_AUTHOR_EMAIL": "noreply@vskill.invalid",
        "GIT_COMMITTER_NAME": "vskill-platform",
        "GIT_COMMITTER_EMAIL": "noreply@vskill.invalid",
        "GIT_AUTHOR_DATE": f"{int(NOON.timestamp())} +0000",
        "GIT_COMMITTER_DATE": f"{int(NOON.timestamp())} +0000",
    }
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def a_work_tree(folder: Path, files: Mapping[str, TreeFile]) -> Path:
    for path, file in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
        place.chmod(0o755 if file.is_executable else 0o644)
    run_git(folder, "init", "-q")
    run_git(folder, "add", ".")
    return folder


def objects_of_two_versions() -> tuple[list[GitObject], list[GitObject]]:
    first = list(build_tree(FILES))
    commit = build_commit(first[-1].id, parent=None, version="1.0.0", digest="d1", at=NOON)
    changed = {**FILES, "SKILL.md": TreeFile(b"# Tidier\n", is_executable=False)}
    second = list(build_tree(changed))
    later = build_commit(second[-1].id, parent=commit.id, version="1.0.1", digest="d2", at=NOON)
    return [*first, commit], [*second, later]


def test_trees_and_commits_have_the_ids_that_git_gives_them(tmp_path: Path) -> None:
    folder = a_work_tree(tmp_path, FILES)
    tree = run_git(folder, "write-tree")
    message = "v1.0.0\n\nContent-Digest: sha256:d1\n"

    *_, root = build_tree(FILES)
    commit = build_commit(root.id, parent=None, version="1.0.0", digest="d1", at=NOON)

    assert root.id == tree
    assert commit.id == run_git(folder, "commit-tree", tree, "-m", message.rstrip("\n"))


def test_git_accepts_a_pack_and_its_index(tmp_path: Path) -> None:
    repo = tmp_path / "repo.git"
    run_git(tmp_path, "init", "-q", "--bare", str(repo))
    pack = repo / "objects/pack/pack-1.pack"

    with pack.open("w+b") as file:
        writer = PackWriter(file)
        first, second = objects_of_two_versions()
        writer.write(writer.find_new(first))
        new = writer.find_new(second)
        writer.write_header(len(new))
        writer.write(new)
        pack.with_suffix(".idx").write_bytes(writer.finish())

    checked = run_git(repo, "verify-pack", "-v", str(pack))
    assert "pack-1.pack: ok" in checked
    later = objects_of_two_versions()[1][-1]
    assert run_git(repo, "rev-list", "--count", later.id) == "2"
    run_git(repo, "update-ref", "refs/heads/main", later.id)
    assert run_git(repo, "fsck", "--strict", "--full") == ""


def test_objects_of_any_size_can_be_read_back(tmp_path: Path) -> None:
    # Around the sizes of headers and of zlib's windows; repeated, so that matches cross the window.
    sizes = [0, 15, 16, 511, 512, 2047, 2048, 8191, 8192, 32_767, 32_768, 300_000]
    noise = random.Random(1).randbytes(500)
    contents = [(noise * (size // 500 + 1))[:size] for size in sizes]
    repo = tmp_path / "repo.git"
    run_git(tmp_path, "init", "-q", "--bare", str(repo))
    pack = repo / "objects/pack/pack-1.pack"

    with pack.open("w+b") as file:
        writer = PackWriter(file)
        writer.write_header(len(contents))
        writer.write(make_object(ObjectKind.BLOB, content) for content in contents)
        pack.with_suffix(".idx").write_bytes(writer.finish())

    # Git computes the id of every object from its content.
    checked = run_git(repo, "verify-pack", "-v", str(pack))
    found = [line.split() for line in checked.splitlines() if " blob " in line]
    made = [make_object(ObjectKind.BLOB, content).id for content in contents]
    assert [(line[0], int(line[2])) for line in found] == list(zip(made, sizes, strict=True))
