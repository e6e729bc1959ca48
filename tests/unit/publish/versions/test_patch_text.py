"""The text of a diff is accepted by git."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from tests.unit.publish.versions.test_publish import publish
from vskill_platform.publish.versions.diff_versions import diff_versions, patch_text
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.version_store import get_versions

pytestmark = pytest.mark.usefixtures("one_loop")
SLUG = "@local/tidy-notes"

#: The files before and after; None for no file.
CASES: dict[str, tuple[bytes | None, bytes | None]] = {
    "new": (None, b"new\n"),
    "new of three": (None, b"a\n\nb\n"),
    "new without a final newline": (None, b"new"),
    "new and empty": (None, b""),
    "removed": (b"old\ntext\n", None),
    "removed without a final newline": (b"old", None),
    "removed and empty": (b"", None),
    "changed": (b"a\nb\nc\nd\ne\nf\n", b"a\nb\nc\nD\ne\nf\n"),
    "changed at both ends": (b"a\nb\nc\nd\ne\nf\ng\nh\n", b"A\nb\nc\nd\ne\nf\ng\nH\n"),
    "loses its final newline": (b"a\nb\n", b"a\nb"),
    "gets a final newline": (b"a\nb", b"a\nb\n"),
    "changed without a final newline": (b"a\nb", b"a\nc"),
    "emptied": (b"a\n", b""),
    "filled": (b"", b"a\n"),
    "ends of lines of another kind": (b"a\r\nb\r\n", b"a\r\nc\r\n"),
    "a line that looks like a head": (b"-- a\n", b"-- b\n++ c\n"),
    "a very long line": (b"x" * 2_000 + b"\n", b"y" * 2_000 + b"\n"),
    "many lines": (None, b"y\n" * 700),
    "other characters": (
        "\N{SNOWMAN}\u2028x\x0cy\n".encode(),
        "\N{SNOWMAN}\u2028z\x0cy\n".encode(),
    ),
}


def write(folder: Path, side: int) -> None:
    for number, contents in enumerate(CASES.values()):
        place, content = folder / f"file {number}.txt", contents[side]
        if content is None:
            place.unlink(missing_ok=True)
        else:
            place.write_bytes(content)


def contents(folder: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        str(place.relative_to(folder)): (place.read_bytes(), bool(place.stat().st_mode & 0o100))
        for place in folder.rglob("*")
        if place.is_file() and place.name != "a.patch"
    }


def apply(patch: str, folder: Path) -> None:
    (folder / "a.patch").write_bytes(patch.encode())
    command = ["git", "apply", "--whitespace=nowarn", "a.patch"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


async def test_git_makes_the_new_version_of_the_old_one_and_back(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path, run_dot_sh="echo one\n", both_dot_sh="echo one\n")
    write(folder, 0)
    await publish(folder, bound)
    shutil.copytree(folder, tmp_path / "old")
    write(folder, 1)
    (folder / "run.sh").chmod(0o755)
    (folder / "both.sh").write_text("echo two\n")
    (folder / "both.sh").chmod(0o755)
    (folder / 'said "so".md').write_text("quoted\n")
    await publish(folder, bound)
    shutil.copytree(folder, tmp_path / "new")
    old, new = await get_versions(SLUG)

    there = patch_text((await diff_versions(old, new)).files)
    back = patch_text((await diff_versions(new, old)).files)
    apply(there, tmp_path / "old")
    apply(back, tmp_path / "new")

    # Each now has what the other was before.
    after, before = contents(tmp_path / "old"), contents(tmp_path / "new")
    assert after == contents(folder)
    write(folder, 0)
    (folder / 'said "so".md').unlink()
    (folder / "both.sh").write_text("echo one\n")
    for name in ("run.sh", "both.sh"):
        (folder / name).chmod(0o644)
    assert before == contents(folder)


async def test_a_binary_file_is_named_and_the_rest_of_the_patch_applies(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path, a_dot_md="one\n", z_dot_md="one\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\xff")
    await publish(folder, bound)
    shutil.copytree(folder, tmp_path / "old")
    for name in ("a.md", "z.md"):
        (folder / name).write_text("two\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\xfe")
    await publish(folder, bound)
    old, new = await get_versions(SLUG)

    patch = patch_text((await diff_versions(old, new)).files)
    apply(patch, tmp_path / "old")

    assert "(changed picture.png: not a text file)\n" in patch
    found = contents(tmp_path / "old")
    assert (found["a.md"][0], found["z.md"][0]) == (b"two\n", b"two\n")
