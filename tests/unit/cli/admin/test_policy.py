"""`admin policy` on this machine: saved, listed, compared and restored."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from vskill_platform.cli.main import cli


@pytest.fixture(autouse=True)
def own_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSKILL_DATABASE_URL", f"sqlite:///{tmp_path / 'skills.db'}")
    monkeypatch.delenv("VSKILL_POLICY", raising=False)


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["admin", "policy", *words])


def a_file(folder: Path, text: str) -> str:
    file = folder / "policy.toml"
    file.write_text(text)
    return str(file)


def test_a_policy_is_saved_listed_compared_and_restored(tmp_path: Path) -> None:
    none = run("show")
    first = run("save", a_file(tmp_path, '[thresholds]\nreview_at = "low"\n'), "--reason", "May")
    second = run("save", a_file(tmp_path, "# none\n"), "--reason", "June", "--base", "1")
    late = run("save", a_file(tmp_path, "# late\n"), "--reason", "July", "--base", "1")
    compared = run("diff", "1", "2")
    restored = run("restore", "1", "--reason", "as in May", "--json")
    shown = run("show")
    text = run("show", "--version", "2", "--text")
    listed = run("versions", "--json")
    missing = run("show", "--version", "9")

    assert none.output.startswith("No policy is set (VSKILL_POLICY is empty), and none is saved.")
    assert first.output == "Version 1 is saved. All nodes apply it from now on.\n"
    assert second.exit_code == 0
    assert late.exit_code == 1
    assert "saved version 2 of the policy on" in str(late.exception)
    assert "+# none" in compared.output
    assert msgspec.json.decode(restored.stdout)["restored"] == 1
    assert "low and above require review" in shown.output
    assert shown.output.startswith("Version 3 was saved by")
    assert text.output == "# none\n"
    assert [one["number"] for one in msgspec.json.decode(listed.stdout)] == [3, 2, 1]
    assert missing.exit_code == 1
    assert "the policy has no version 9" in str(missing.exception)


def test_an_invalid_policy_is_refused_with_its_line(tmp_path: Path) -> None:
    done = run("save", a_file(tmp_path, "\n[limits]\nmax_files = 0\n"), "--reason", "x")

    assert done.exit_code == 2
    assert "(line 3)" in done.stderr
    assert not (tmp_path / "skills.db").exists()


def test_nothing_is_saved_beside_a_file_of_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = a_file(tmp_path, "# file\n")
    monkeypatch.setenv("VSKILL_POLICY", file)

    refused = run("save", file, "--reason", "x")
    shown = run("show", "--text")

    assert refused.exit_code == 1
    assert "because VSKILL_POLICY is set" in str(refused.exception)
    assert shown.output == "# file\n"
