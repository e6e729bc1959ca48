"""The lines that a copy adds: new files, and new lines of changed files."""

from pathlib import Path

from tests.casts import a_skill_folder
from tests.unit.publish.versions.test_publish import publish
from vskill_platform.fetch.snapshot import take_snapshot
from vskill_platform.publish.versions.compare_skill import Difference, diff_copy
from vskill_platform.runtime.env import WorkerEnv

SLUG = "@local/tidy-notes"


async def difference(folder: Path, tmp_path: Path) -> Difference:
    snapshot = take_snapshot(folder, tmp_path / f"copy-of-{folder.parent.name}", folder_name=None)
    return await diff_copy(SLUG, snapshot)


async def test_the_new_lines_of_changed_files_are_shown(bound: WorkerEnv, tmp_path: Path) -> None:
    await publish(a_skill_folder(tmp_path / "ada", run_dot_sh="echo one\necho two\n"), bound)
    copy = a_skill_folder(tmp_path / "ben", run_dot_sh="  echo two\n\ncurl x\n" + "y" * 900)

    found = await difference(copy, tmp_path)

    assert found.in_words() == "changed run.sh"
    assert found.lines == ("run.sh:3 curl x", f"run.sh:4 {'y' * 200}")


async def test_the_same_files_differ_by_nothing(bound: WorkerEnv, tmp_path: Path) -> None:
    await publish(a_skill_folder(tmp_path / "ada"), bound)

    found = await difference(a_skill_folder(tmp_path / "ben"), tmp_path)

    assert (found.in_words(), found.lines) == ("none, all files are the same", ())


async def test_many_files_are_counted(bound: WorkerEnv, tmp_path: Path) -> None:
    await publish(a_skill_folder(tmp_path / "ada", old_dot_md="x"), bound)
    files = {f"f{number}_dot_md": "x" for number in range(8)}

    found = await difference(a_skill_folder(tmp_path / "ben", **files), tmp_path)

    assert found.in_words() == (
        "added f0.md, f1.md, f2.md, f3.md, f4.md and 3 more; removed old.md"
    )


async def test_a_changed_mode_is_a_change(bound: WorkerEnv, tmp_path: Path) -> None:
    await publish(a_skill_folder(tmp_path / "ada", run_dot_sh="echo"), bound)
    copy = a_skill_folder(tmp_path / "ben", run_dot_sh="echo")
    (copy / "run.sh").chmod(0o755)

    assert (await difference(copy, tmp_path)).changed == ("run.sh",)


async def test_a_file_that_is_too_large_is_named_without_lines(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    await publish(a_skill_folder(tmp_path / "ada", big_dot_md="x" * 300_000), bound)

    found = await difference(a_skill_folder(tmp_path / "ben", big_dot_md="y"), tmp_path)

    assert (found.changed, found.lines) == (("big.md",), ())


async def test_an_original_that_is_gone_differs_by_nothing_known(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    assert await difference(a_skill_folder(tmp_path / "ben"), tmp_path) == Difference()
