"""`scan` as a person or a CI job runs it: the real program, without any database."""

import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.processes import Finished
from tests.acceptance.program import Platform
from tests.casts import GOOD_MANIFEST, a_skill_folder
from tests.repos import a_repo
from vskill_platform.model.verdict import Verdict
from vskill_platform.scan.rules.rules import load_rules
from vskill_platform.scan.scan_skill import scan_skill


def a_bad_skill(parent: Path, name: str = "bad-notes") -> Path:
    """Write a skill that one of our rules blocks."""
    folder = a_skill_folder(parent, name)
    good = (folder / "SKILL.md").read_text()
    for rule in load_rules():
        (folder / "SKILL.md").write_text(f"{good}\n{rule.bad}\n")
        if scan_skill(folder, name).verdict is Verdict.BLOCK:
            return folder
    raise AssertionError("no rule blocks its own sample")


def rows(finished: Finished) -> list[dict[str, Any]]:
    return [json.loads(line) for line in finished.out.splitlines()]


def verdicts(finished: Finished) -> dict[str, str]:
    return {row["path"]: row["verdict"] for row in rows(finished)}


def test_a_good_skill_passes_and_nothing_is_stored(platform: Platform, tmp_path: Path) -> None:
    a_skill_folder(tmp_path)

    done = platform.run("scan", "tidy-notes", "--fail-on", "review")

    assert done.code == 0
    assert done.out.startswith("✔ PASS  tidy-notes  risk 0/100")
    assert done.err == ""
    assert not platform.database.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "code"), [((), 0), (("--fail-on", "review"), 1), (("--fail-on", "block"), 1)]
)
def test_a_bad_skill_fails_only_where_that_was_asked_for(
    platform: Platform, tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    a_bad_skill(tmp_path)

    done = platform.run("scan", "bad-notes", *options)

    assert done.code == code
    assert done.out.startswith("✖ BLOCK  bad-notes")
    assert "why" in done.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "beginning"),
    [("text", "✖ BLOCK"), ("json", "{"), ("jsonl", '{"path":'), ("sarif", "{"), ("html", "<!doct")],
)
def test_every_format_goes_to_the_file_that_was_named(
    platform: Platform, tmp_path: Path, form: str, beginning: str
) -> None:
    a_bad_skill(tmp_path)

    done = platform.run("scan", "bad-notes", "--format", form, "--output", "report")

    assert (done.code, done.out, done.err) == (0, "", "")
    assert (tmp_path / "report").read_text().startswith(beginning)


@pytest.mark.parametrize("name", ["skill.md", "Skill.MD"])
def test_a_manifest_in_other_letters_is_found_below_a_folder_and_reported_as_wrong(
    platform: Platform, tmp_path: Path, name: str
) -> None:
    folder = a_skill_folder(tmp_path / "tree")
    (folder / "SKILL.md").rename(folder / name)

    done = platform.run("scan", "--recursive", "tree", "--format", "jsonl")

    (row,) = rows(done)
    assert row["path"].endswith("tidy-notes")
    assert "MAN-001" in {finding["rule"] for finding in row["findings"]}


def test_a_tree_is_scanned_in_order_without_what_belongs_to_git(
    platform: Platform, tmp_path: Path
) -> None:
    for name in ("zebra", "ant", "mole"):
        a_skill_folder(tmp_path / "tree", name)
    a_bad_skill(tmp_path / "tree/ant/inner", "bee")
    a_skill_folder(tmp_path / "tree/.git", "hook")
    (tmp_path / "tree/docs").mkdir()

    done = platform.run("scan", "--recursive", "tree", "--format", "jsonl", "--jobs", "2")

    assert list(verdicts(done)) == ["tree/ant", "tree/ant/inner/bee", "tree/mole", "tree/zebra"]
    assert done.code == 0


def test_an_unreadable_skill_is_not_verified_and_the_others_are(
    platform: Platform, tmp_path: Path
) -> None:
    a_skill_folder(tmp_path / "tree", "ant")
    (a_skill_folder(tmp_path / "tree", "bee") / "link.md").symlink_to("/etc/passwd")
    a_skill_folder(tmp_path, "elsewhere")
    (tmp_path / "tree/cat").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "tree/copy").symlink_to(tmp_path / "tree/ant")

    done = platform.run("scan", "-r", "tree", "--format", "jsonl")

    assert done.code == 3
    assert verdicts(done) == {"tree/cat": "error", "tree/ant": "pass", "tree/bee": "error"}
    assert "link.md is a symbolic link" in done.out


@pytest.mark.slow
def test_a_folder_that_may_not_be_entered_is_named(platform: Platform, tmp_path: Path) -> None:
    a_skill_folder(tmp_path / "tree", "ant")
    a_skill_folder(tmp_path / "tree/locked", "bee")
    (tmp_path / "tree/locked").chmod(0)

    done = platform.run_unprivileged("scan", "-r", "tree", "--format", "jsonl")
    (tmp_path / "tree/locked").chmod(0o755)

    assert done.code == 3
    assert verdicts(done) == {"tree/ant": "pass", "tree/locked": "error"}


def test_dangerous_skills_are_listed_before_those_not_verified(
    platform: Platform, tmp_path: Path
) -> None:
    (a_skill_folder(tmp_path / "tree", "ant") / "link.md").symlink_to("/etc/passwd")
    a_bad_skill(tmp_path / "tree")

    assert platform.run("scan", "-r", "tree", "--fail-on", "block").code == 1
    assert platform.run("scan", "-r", "tree").code == 3


def test_a_tree_without_skills_is_not_verified(platform: Platform, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    done = platform.run("scan", "-r", "empty")

    assert done.code == 3
    assert "there is no SKILL.md in it or in a folder below" in done.out


def test_a_working_copy_is_scanned_without_its_history(platform: Platform, tmp_path: Path) -> None:
    folder = a_skill_folder(tmp_path)
    a_repo(folder)

    done = platform.run("scan", "tidy-notes", "--format", "json")

    (skill,) = json.loads(done.out)["skills"]
    assert (skill["verdict"], skill["files"], skill["name"]) == ("pass", 1, "tidy-notes")


def test_a_git_url_is_fetched_and_scanned(platform: Platform, tmp_path: Path) -> None:
    a_skill_folder(tmp_path / "box", "ant")
    a_bad_skill(tmp_path / "box", "bee")
    url = a_repo(tmp_path / "box")

    done = platform.run("scan", "-r", url, "--format", "jsonl", "--fail-on", "block")

    assert verdicts(done) == {f"{url}/ant": "pass", f"{url}/bee": "block"}
    assert done.code == 1
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_repo_that_is_not_there_is_not_verified(platform: Platform, tmp_path: Path) -> None:
    a_skill_folder(tmp_path)

    done = platform.run("scan", f"file://{tmp_path}/gone", "tidy-notes", "--format", "jsonl")

    assert list(verdicts(done).values()) == ["error", "pass"]
    assert done.code == 3


def test_archives_are_unpacked_and_scanned(platform: Platform, tmp_path: Path) -> None:
    bad = (a_bad_skill(tmp_path) / "SKILL.md").read_text()
    with zipfile.ZipFile(tmp_path / "box.zip", "w") as box:
        box.writestr("bad-notes/SKILL.md", bad)
    with tarfile.open(tmp_path / "flat.tar.gz", "w:gz") as flat:
        info = tarfile.TarInfo("SKILL.md")
        info.size = len(GOOD_MANIFEST.encode())
        flat.addfile(info, io.BytesIO(GOOD_MANIFEST.format(name="ant").encode().ljust(info.size)))

    done = platform.run("scan", "box.zip", "flat.tar.gz", "--format", "jsonl")

    assert verdicts(done) == {"box.zip": "block", "flat.tar.gz": "pass"}
    assert done.code == 0
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_hostile_archive_is_not_verified_and_writes_nothing(
    platform: Platform, tmp_path: Path
) -> None:
    a_skill_folder(tmp_path)
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as box:
        box.writestr("SKILL.md", "hi")
        box.writestr("../../escaped.txt", "x")
    (tmp_path / "broken.tgz").write_bytes(b"\x1f\x8b no")

    done = platform.run("scan", "evil.zip", "tidy-notes", "broken.tgz", "--format", "jsonl")

    assert list(verdicts(done).values()) == ["error", "pass", "error"]
    assert "points outside the archive" in done.out
    assert done.code == 3
    assert not list(tmp_path.rglob("escaped*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Give at least one PATH"),
        (("gone",), "'gone' does not exist; PATH must be a folder, an archive"),
        (("notes.txt",), "'notes.txt' is neither a folder, an archive"),
        (("http://git.example/ada/notes",), "a git URL starts with https://"),
        (("--explain", "SKR-NONE-999"), "There is no rule 'SKR-NONE-999'; `--explain all`"),
        (("--format", "pdf", "tidy-notes"), "'pdf' is not one of"),
        (("--output", "gone/report", "tidy-notes"), "cannot be written"),
        (("--jobs", "0", "tidy-notes"), "0 is not in the range"),
    ],
)
def test_wrong_usage_has_a_code_of_its_own(
    platform: Platform, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    a_skill_folder(tmp_path)
    (tmp_path / "notes.txt").touch()

    refused = platform.run("scan", *arguments)

    assert refused.code == 2
    assert message in " ".join(refused.err.split())
    assert refused.out == ""


def test_rules_are_explained(platform: Platform) -> None:
    rule = load_rules()[0]

    one, every = (
        platform.run("scan", "--explain", rule.id),
        platform.run("scan", "--explain", "all"),
    )

    assert one.code == every.code == 0
    assert rule.title in one.out
    assert rule.fix.split()[0] in one.out
    assert {line.split()[0] for line in every.out.splitlines()} >= {rule.id, "MAN-001", "LIM-001"}


@pytest.mark.slow
def test_scanning_loads_nothing_that_only_a_server_needs() -> None:
    code = (
        "import sys, vskill_platform.cli.main, vskill_platform.cli.scan.scan; print(*sys.modules)"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert not {"litestar", "uvicorn", "uvloop", "apsw", "jinja2", "asyncio"} & set(loaded)


@pytest.mark.slow
def test_scanning_a_folder_loads_nothing_that_only_other_things_need() -> None:
    code = (
        "import sys, vskill_platform.cli.main, vskill_platform.cli.scan.scan; print(*sys.modules)"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert not {"multiprocessing", "socket", "vskill_platform.settings"} & set(loaded)


def test_garbage_is_looked_for_while_a_command_runs_but_not_while_it_is_loaded() -> None:
    code = """
import gc, sys
from vskill_platform.cli import main
from vskill_platform.cli.admin import config
config.config.callback = lambda **_: print(gc.isenabled(), gc.get_freeze_count() > 0)
sys.argv = ["vskill-platform", "config"]
main.main()
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["True", "True"]
