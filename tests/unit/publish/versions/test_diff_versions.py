"""The changes from one version to the next."""

from pathlib import Path

import msgspec
import pytest

from tests.casts import a_skill_folder
from tests.unit.publish.versions.test_publish import publish
from vskill_platform.base.bounded_turns import BoundedTurns
from vskill_platform.base.killable_process import BROKE_DOWN
from vskill_platform.base.lru_cache import LruCache
from vskill_platform.errors import Busy
from vskill_platform.fetch.pack import pack
from vskill_platform.fetch.snapshot import take_snapshot
from vskill_platform.model.skill import SkillVersion
from vskill_platform.publish.versions import diff_versions as module
from vskill_platform.publish.versions.diff_versions import FileChange, diff_versions
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.version_store import get_versions

pytestmark = pytest.mark.usefixtures("one_loop")
SLUG = "@local/tidy-notes"


@pytest.fixture(autouse=True)
def nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_recent", LruCache(capacity=10_000, size_of=len))


async def changes(folder: Path, env: WorkerEnv) -> dict[str, FileChange]:
    """Publish the folder as it is now and say what is other than in the version before."""
    await publish(folder, env)
    *_, old, new = await get_versions(SLUG)
    return {change.path: change for change in (await diff_versions(old, new)).files}


async def test_files_are_added_removed_and_changed_with_their_lines(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path, run_dot_sh="echo one\necho two\n", old_dot_md="bye\n")
    await publish(folder, bound)
    (folder / "run.sh").write_text("echo one\necho three\n")
    (folder / "old.md").unlink()
    (folder / "new.md").write_text("hello\n")

    found = await changes(folder, bound)

    assert {path: change.kind for path, change in found.items()} == {
        "new.md": "added",
        "old.md": "removed",
        "run.sh": "changed",
    }
    assert found["run.sh"].lines == (
        "@@ -1,2 +1,2 @@", " echo one", "-echo two", "+echo three",
    )  # fmt: skip
    assert found["new.md"].lines == ("@@ -0,0 +1 @@", "+hello")
    assert found["old.md"].lines == ("@@ -1 +0,0 @@", "-bye")


async def test_a_missing_final_newline_and_an_empty_file_are_reported(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path, run_dot_sh="echo one\n", old_dot_md="")
    await publish(folder, bound)
    (folder / "run.sh").write_text("echo one")
    (folder / "old.md").unlink()
    (folder / "new.md").write_text("")

    found = await changes(folder, bound)

    assert found["run.sh"].lines == (
        "@@ -1 +1 @@", "-echo one", "+echo one", "\\ No newline at end of file",
    )  # fmt: skip
    assert {path: found[path].note for path in ("new.md", "old.md")} == {
        "new.md": "an empty file",
        "old.md": "an empty file",
    }


async def test_a_binary_or_large_file_has_a_note_instead_of_a_diff(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    folder = a_skill_folder(tmp_path)
    await publish(folder, bound)
    (folder / "nul.txt").write_bytes(b"a\0b")
    (folder / "picture.png").write_bytes(b"\x89PNG\xff")
    (folder / "large.txt").write_text("x" * (module.MAX_BYTES + 1))
    (folder / "long.txt").write_text("\n" * (module.MAX_LINES + 1))

    found = await changes(folder, bound)

    assert {path: change.note for path, change in found.items()} == {
        "nul.txt": "not a text file",
        "picture.png": "not a text file",
        "large.txt": "too large to compare",
        "long.txt": "too many lines to compare",
    }


async def test_a_changed_mode_is_a_change(bound: WorkerEnv, tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path, run_dot_sh="echo one\n")
    await publish(folder, bound)
    (folder / "run.sh").chmod(0o755)

    found = await changes(folder, bound)

    assert (found["run.sh"].note, found["run.sh"].lines) == ("the mode has changed", ())


async def test_new_capabilities_are_reported(bound: WorkerEnv, tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    await publish(folder, bound)
    (folder / "more.md").write_text("more")
    await publish(folder, bound)
    old, new = await get_versions(SLUG)
    before = msgspec.structs.replace(old, capabilities={"hosts": ("a.example",)})
    after = msgspec.structs.replace(new, capabilities={"hosts": ("a.example", "b.example")})
    unknown = msgspec.structs.replace(old, capabilities=None)

    gained = (await diff_versions(before, after)).gained
    lost = (await diff_versions(after, before)).gained

    assert gained == {"hosts": ("b.example",)}
    assert lost == {}
    assert (await diff_versions(unknown, after)).gained is None


async def test_files_made_to_take_for_ever_cost_only_their_lines(
    bound: WorkerEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise BROKE_DOWN[0]

    monkeypatch.setattr(module, "run_for_visitor", broken)
    folder = a_skill_folder(tmp_path)
    await publish(folder, bound)
    (folder / "more.md").write_text("more")

    found = await changes(folder, bound)

    assert found["more.md"].note == "comparing its lines takes too long"


async def two_versions(env: WorkerEnv, folder: Path) -> list[SkillVersion]:
    await publish(a_skill_folder(folder), env)
    (folder / "tidy-notes" / "more.md").write_text("more")
    await publish(folder / "tidy-notes", env)
    return await get_versions(SLUG)


async def test_a_diff_is_refused_for_now_while_many_wait(
    bound: WorkerEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = BoundedTurns(at_once=1, waiting=0, busy="busy")
    monkeypatch.setattr(module, "_TURNS", turns)
    old, new = await two_versions(bound, tmp_path)

    async with turns.turn():
        with pytest.raises(Busy):
            await diff_versions(old, new)


async def test_a_recent_diff_is_cached(
    bound: WorkerEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = await two_versions(bound, tmp_path)
    first = await diff_versions(old, new)
    turns = BoundedTurns(at_once=1, waiting=0, busy="busy")
    monkeypatch.setattr(module, "_TURNS", turns)

    async with turns.turn():  # else it would have to wait
        second = await diff_versions(old, new)

    assert first == second
    assert [change.path for change in second.files] == ["more.md"]


def test_only_so_many_files_and_lines_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archives = []
    for name in ("old", "new"):
        folder = tmp_path / name
        for number in range(4):
            place = folder / f"{number}.txt"
            place.parent.mkdir(exist_ok=True)
            place.write_text(f"{name}\n" * 10)
        taken = take_snapshot(folder, tmp_path / f"{name} taken", folder_name=None)
        archives.append(pack(folder, taken.files))
    paths = [f"{number}.txt" for number in range(4)]
    old, new = (packed.content for packed in archives)

    monkeypatch.setattr(module, "MAX_COMPARED_LINES", 60)
    by_lines = [bool(one.lines) for one in module.compare_archives(old, new, paths).values()]
    monkeypatch.setattr(module, "MAX_COMPARED_FILES", 2)
    compared = module.compare_archives(old, new, paths)

    assert by_lines == [True, True, True, False]
    assert [bool(one.lines) for one in compared.values()] == [True, True, False, False]
    assert "only the first files" in compared["3.txt"].note


async def test_a_version_differs_from_itself_by_nothing(bound: WorkerEnv, tmp_path: Path) -> None:
    await publish(a_skill_folder(tmp_path), bound)
    (version,) = await get_versions(SLUG)

    assert (await diff_versions(version, version)).files == ()
