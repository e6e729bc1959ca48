"""`versions`, `diff`, `yank` and `unyank` as a user runs them."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.program import Platform
from tests.casts import a_skill_folder

SLUG = "@local/tidy-notes"
_COMMIT = "vskill_platform.stores.change:commit"


@pytest.fixture
def published(platform: Platform, tmp_path: Path) -> Path:
    """Publish 1.0.0 and 1.0.1, which fetches something that the first one did not."""
    folder = a_skill_folder(tmp_path)
    for text in ("echo one\n", "echo two\ncurl https://api.example/notes\n"):
        (folder / "run.sh").write_text(text)
        platform.submit(folder)
        assert platform.run("work", "--drain").code == 0
    return folder


def printed(platform: Platform, *arguments: str) -> Any:
    finished = platform.run(*arguments, "--json")
    assert finished.code == 0, finished
    return json.loads(finished.out)


def standings(platform: Platform) -> dict[str, str]:
    rows = printed(platform, "versions", SLUG)["versions"]
    return {row["version"]["version"]: row["standing"] for row in rows}


@pytest.mark.slow
def test_versions_are_listed_with_how_far_the_skill_can_be_trusted(
    platform: Platform, published: Path
) -> None:
    shown = platform.run("versions", SLUG)

    assert shown.code == 0, shown
    assert "1.0.1" in shown.out
    assert "latest" in shown.out
    assert "Trust: T2, 35 of 100" in shown.out
    assert "it passed the scan (+30)" in shown.out


@pytest.mark.slow
def test_a_diff_shows_lines_and_new_capabilities(platform: Platform, published: Path) -> None:
    shown = platform.run("diff", SLUG)
    back = platform.run("diff", SLUG, "1.0.1", "1.0.0")
    same = platform.run("diff", SLUG, "1.0.1", "1.0.1")
    first = platform.run("diff", SLUG, "1.0.0")
    wrong = platform.run("diff", SLUG, "9.9.9")

    assert "1.0.0 → 1.0.1" in shown.out
    assert "changed run.sh" in shown.out
    assert "+echo two" in shown.out
    assert "New capabilities:" in shown.out
    assert "api.example" in shown.out
    assert "No new capabilities." in back.out
    assert "The files are the same." in same.out
    assert first.out == shown.out
    assert "has no version 9.9.9" in wrong.err
    assert printed(platform, "diff", SLUG)["files"][0]["path"] == "run.sh"


@pytest.mark.slow
def test_git_applies_the_printed_diff(platform: Platform, published: Path, tmp_path: Path) -> None:
    (published / "Makefile").write_text("all:\n\techo " + "long " * 60 + "\n")
    (published / "open.md").write_text("no end")
    platform.submit(published)
    assert platform.run("work", "--drain").code == 0
    copy = tmp_path / "copy"
    shutil.copytree(published, copy)
    for name in ("Makefile", "open.md"):
        (copy / name).unlink()

    (copy / "a.patch").write_text(platform.run("diff", SLUG).out)
    done = subprocess.run(
        ["git", "apply", "a.patch"], cwd=copy, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    for name in ("Makefile", "open.md"):
        assert (copy / name).read_bytes() == (published / name).read_bytes()


@pytest.mark.torture
def test_yanking_all_leaves_nothing_to_install_and_says_so(
    platform: Platform, published: Path
) -> None:
    first = platform.run("yank", SLUG, "1.0.1", "--reason", "loses notes")
    second = platform.run("yank", SLUG, "1.0.0", "--reason", "loses notes")
    again = platform.run("yank", SLUG, "1.0.0", "--reason", "loses notes")
    yanked = standings(platform)
    shown = platform.run("versions", SLUG)
    back = platform.run("unyank", SLUG, "1.0.1", "--reason", "it was another")

    assert first.out == f"{SLUG} 1.0.1 is yanked. The latest is 1.0.0.\n"
    assert second.out == f"{SLUG} 1.0.0 is yanked. No version can be installed by default.\n"
    assert "is already yanked" in again.out
    assert yanked == {"1.0.1": "yanked", "1.0.0": "yanked"}
    assert "All versions are yanked. No version can be installed by default." in shown.out
    assert back.out == f"{SLUG} 1.0.1 is available. The latest is 1.0.1.\n"
    assert standings(platform) == {"1.0.1": "latest", "1.0.0": "yanked"}
    shown_audit = platform.run("audit", "--limit", "1")
    assert "unyank" in shown_audit.out
    assert "more: vskill-platform admin audit" in shown_audit.out


@pytest.mark.torture
@pytest.mark.parametrize(
    ("moment", "place", "standing", "records"),
    [
        ("before", _COMMIT, "latest", 0),
        ("after", "vskill_platform.engines.sqlite.operations:_apply_to_records", "latest", 0),
        ("after", _COMMIT, "yanked", 1),
    ],
    ids=["before", "in the middle", "after"],
)
def test_a_yank_that_is_killed_is_whole_or_none(
    platform: Platform, published: Path, moment: str, place: str, standing: str, records: int
) -> None:
    platform.run_killed(moment, place, "yank", SLUG, "1.0.1", "--reason", "loses notes")

    assert standings(platform)["1.0.1"] == standing
    assert len(printed(platform, "audit")["records"]) == records


@pytest.mark.slow
def test_an_empty_audit_log_and_an_unknown_skill_have_messages(
    platform: Platform, published: Path
) -> None:
    assert platform.run("audit").out == "The audit log is empty.\n"
    unknown = platform.run("versions", "nobody/none")
    assert (unknown.code, "there is no published skill" in unknown.err) == (1, True)
