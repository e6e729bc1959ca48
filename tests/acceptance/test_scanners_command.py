"""Third-party scanners as an operator uses them: listed, tried, required by a policy."""

import json
from pathlib import Path

import pytest

from tests.acceptance.program import Platform
from tests.casts import a_skill_folder
from tests.scanners import a_program, a_result, sarif
from vskill_platform.model.submission import SubmissionState

POLICY = '[[scanners]]\nname = "probe"\nrequired = true\n\n[[scanners]]\nname = "clamscan"\n'
#: Answers to `--version`, else scans what it is given.
VERSION = "if folder == '--version':\n    print('probe 1.2')\n    sys.exit()\n"


@pytest.fixture
def probe(platform: Platform, tmp_path: Path) -> str:
    """Define a scanner that finds one thing in every skill, and require it."""
    program = a_program(tmp_path / "programs", VERSION + sarif(a_result()))
    definition = f'[probe]\nprogram = "{program}"\narguments = ["{{folder}}"]\nformat = "sarif"\n'
    (tmp_path / "scanners.toml").write_text(definition)
    (tmp_path / "policy.toml").write_text(POLICY)
    platform.settings |= {"scanners": "scanners.toml", "policy": "policy.toml"}
    return program


def test_the_list_says_what_is_used_found_and_which_version(platform: Platform, probe: str) -> None:
    done = platform.run("scanners", "--json")

    assert (done.code, done.err) == (0, "")
    rows = {row["name"]: row for row in json.loads(done.out)}
    assert rows["probe"] == {
        "name": "probe", "kind": "local", "use": "required", "found": probe, "version": "probe 1.2",
    }  # fmt: skip
    assert rows["clamscan"]["use"] == "informational"
    assert rows["gitleaks"]["use"] == "not used"
    assert "probe 1.2" in platform.run("scanners").out


def test_a_scanner_is_tried_on_a_folder(platform: Platform, probe: str, tmp_path: Path) -> None:
    skill = a_skill_folder(tmp_path)

    found = platform.run("scanners", "try", "probe", skill)
    missing = platform.run("scanners", "try", "nobody", skill)

    assert found.code == 1
    assert "FAIL 1 finding\n" in found.out
    assert "SKILL.md:2 probe: R1 in SKILL.md" in found.out
    assert missing.code == 1
    assert "there is no scanner 'nobody'; there are: gitleaks" in missing.err


@pytest.mark.slow
def test_a_skill_that_a_required_scanner_fails_needs_review(
    platform: Platform, probe: str, tmp_path: Path
) -> None:
    skill = a_skill_folder(tmp_path)
    submitted = json.loads(platform.run("submit", skill, "--json").out)["submission"]["id"]

    assert platform.run("work", "--drain").code == 0

    status = platform.status(submitted)
    assert status.submission.state is SubmissionState.NEEDS_REVIEW
    shown = platform.run("status", submitted).out
    assert "probe" in shown
    assert "FAIL" in shown
    assert "EXT-001" in shown


def test_a_policy_that_names_a_scanner_which_is_not_defined_stops_the_start(
    platform: Platform, tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").write_text('[[scanners]]\nname = "nobody"\n')

    done = platform.run("work", "--drain", policy="policy.toml")

    assert done.code == 1
    assert "the policy names the scanner 'nobody', which is not defined" in done.err


def test_a_policy_says_in_words_what_it_asks_of_scanners(platform: Platform, probe: str) -> None:
    done = platform.run("policy", "check", "policy.toml")

    assert "The scanner probe must pass before publication; a skill that fails it needs" in (
        done.out
    )
    assert "The scanner clamscan is informational only." in done.out
