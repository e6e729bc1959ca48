"""Sources whose problems only fetching and checking reveals end with a finding.

All of them go through one worker together: what one does, no other feels.
"""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.program import Platform, Status
from tests.acceptance.records import read_statuses
from tests.casts import a_skill_folder
from tests.repos import a_repo
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.verdict import Finding


@pytest.fixture(scope="module")
def statuses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Status]:
    """Submit every bad source and a good one, let one worker drain the queue, ask for each."""
    folder = tmp_path_factory.mktemp("sources")
    platform = Platform(tmp_path_factory.mktemp("installation"), local_folders=str(folder))
    sources = dict(_sources(folder))
    ids = {name: platform.submit(*arguments) for name, arguments in sources.items()}
    worked = platform.run("work", "--drain")
    assert worked.code == 0, worked
    assert "Traceback" not in worked.err
    return dict(zip(ids, asyncio.run(read_statuses(platform, *ids.values())), strict=True))


def _sources(folder: Path) -> Iterator[tuple[str, tuple[str | Path, ...]]]:
    yield "good", (a_skill_folder(folder),)

    (folder / "empty").mkdir()
    yield "no manifest", (folder / "empty",)

    broken = a_skill_folder(folder, "broken")
    (broken / "SKILL.md").write_text("---\nname: broken\ndescription: [\n---\n\nDo it.\n")
    yield "broken yaml", (broken,)

    large = a_skill_folder(folder, "large")
    _write_large(large / "model.bin")
    yield "large file", (large,)

    huge = a_skill_folder(folder, "huge")
    for number in range(3):
        _write_large(huge / f"{number}.bin")
    yield "huge", (huge,)

    repo = folder / "ada" / "toolbox"
    repo.mkdir(parents=True)
    (repo / "outside").symlink_to("/etc")
    yield "path that leads out", (a_repo(repo), "--path", "outside")

    linking = a_skill_folder(folder, "linking")
    (linking / "passwd").symlink_to("/etc/passwd")
    yield "link", (linking,)

    yield "no repo", (f"file://{folder}/ada/nothing",)

    gone = a_repo(a_skill_folder(folder / "ada", "gone"))
    yield "no such path", (gone, "--path", "skills/gone")


def _write_large(path: Path) -> None:
    path.touch()
    os.truncate(path, 30 * 1024 * 1024)


def _only_finding(status: Status) -> Finding:
    assert status.report
    (finding,) = status.report.findings
    assert finding.fix
    return finding


@pytest.mark.slow
def test_a_good_skill_among_bad_ones_is_published(statuses: dict[str, Status]) -> None:
    published = [
        status.submission.slug
        for status in statuses.values()
        if status.submission.state is SubmissionState.PUBLISHED
    ]

    assert published == ["@local/tidy-notes"]


def test_a_folder_without_a_manifest_gets_the_advice_to_add_one(
    statuses: dict[str, Status],
) -> None:
    status = statuses["no manifest"]

    assert status.submission.state is SubmissionState.TIER1_FAILED
    finding = _only_finding(status)
    assert (finding.rule, finding.message) == ("MAN-001", "There is no SKILL.md.")


def test_broken_yaml_is_found_by_file_and_line(statuses: dict[str, Status]) -> None:
    status = statuses["broken yaml"]

    assert status.submission.state is SubmissionState.TIER1_FAILED
    finding = _only_finding(status)
    assert (finding.rule, finding.file, finding.line) == ("MAN-002", "SKILL.md", 4)
    assert finding.message.startswith("The frontmatter cannot be read: ")


def test_a_file_of_thirty_mebibytes_is_named_with_the_limit(statuses: dict[str, Status]) -> None:
    status = statuses["large file"]

    assert status.submission.state is SubmissionState.TIER1_FAILED
    assert status.report
    messages = [finding.message for finding in status.report.findings]
    assert "model.bin has 31,457,280 bytes; the limit is 10,485,760." in messages


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("huge", "the files are larger than 67,108,864 bytes in total"),
        ("path that leads out", "'outside' is a symbolic link; submit the folder it points to"),
        ("link", "passwd is a symbolic link; replace it with a copy"),
        ("no such path", "there is no folder 'skills/gone' in it"),
    ],
)
def test_a_refused_source_is_rejected_with_the_reason(
    statuses: dict[str, Status], name: str, reason: str
) -> None:
    status = statuses[name]

    assert status.submission.state is SubmissionState.REJECTED
    assert status.submission.reason == reason
    finding = _only_finding(status)
    assert (finding.rule, finding.message) == ("RUN-SOURCE", reason)


def test_a_missing_repo_is_rejected_with_the_message_of_git(
    statuses: dict[str, Status],
) -> None:
    status = statuses["no repo"]

    assert status.submission.state is SubmissionState.REJECTED
    assert status.submission.reason.startswith("git could not fetch the repo: fatal: ")
    assert status.steps.count("retry RECEIVED") == 0
