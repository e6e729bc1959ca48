"""`submit` and other commands refuse wrong input in one sentence, before anything is stored."""

import os
from pathlib import Path

import pytest

from tests.acceptance.processes import Finished
from tests.acceptance.program import Platform
from tests.casts import a_skill_folder


def _assert_refused(finished: Finished, message: str) -> None:
    assert finished.code == 1
    assert finished.err == f"vskill-platform: {message}\n"
    assert finished.out == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://git.example/ada/toolbox", "a git URL starts with https://"),
        ("https://git.example/toolbox", "a git URL has an owner and a repo"),
        ("https://ada:secret@git.example/ada/toolbox", "no user or password"),
        ("file://ada/toolbox", "a file URL has three slashes"),
        ("nowhere/at/all", "is neither a folder or archive here, nor owner/repo, nor a git URL"),
        ("https://git.example/ada/toolbox/tree/main/skills", "is a page of the repo"),
        ("--upload-pack=evil://x/y", "No such option"),
    ],
)
def test_a_bad_url_is_refused_and_nothing_is_stored(
    platform: Platform, url: str, message: str
) -> None:
    refused = platform.run("submit", url)

    assert refused.code in {1, 2}
    assert message in refused.err
    assert "Traceback" not in refused.err
    assert not platform.database.exists()


def test_a_missing_path_is_named(platform: Platform, tmp_path: Path) -> None:
    a_skill_folder(tmp_path)

    refused = platform.run("submit", tmp_path, "--path", "skills/tidy-notes")

    _assert_refused(refused, f"there is no folder 'skills/tidy-notes' in '{tmp_path}'")


def test_a_file_is_not_a_skill(platform: Platform, tmp_path: Path) -> None:
    manifest = a_skill_folder(tmp_path) / "SKILL.md"

    refused = platform.run("submit", manifest)

    _assert_refused(
        refused,
        f"'{manifest}' is a file; submit the folder that contains SKILL.md, or an archive of it "
        "(.zip, .tar.gz, .tgz)",
    )


@pytest.mark.parametrize("path", ["../other", "/etc"])
def test_a_path_outside_of_the_repo_is_refused(platform: Platform, path: str) -> None:
    refused = platform.run("submit", "https://git.example/ada/toolbox", "--path", path)

    _assert_refused(refused, f"'{path}': the path must be inside the repo or folder")


@pytest.mark.parametrize("options", [(), ("--watch",)])
async def test_an_unknown_id_is_named(platform: Platform, options: tuple[str, ...]) -> None:
    async with platform.env():
        pass

    refused = platform.run("status", "sub_7", *options)

    _assert_refused(refused, "there is no submission 'sub_7'; `submissions` shows the newest")


@pytest.mark.parametrize("command", ["requeue", "revive", "drop"])
async def test_a_dead_letter_that_is_not_there_is_named(platform: Platform, command: str) -> None:
    async with platform.env():
        pass

    refused = platform.run("dead-letters", command, "7")

    _assert_refused(refused, "there is no dead letter 7; run `dead-letters list` to list all")


@pytest.mark.parametrize(
    ("duration", "message"),
    [
        ("soon", "'soon' is not a duration such as 90s, 10m or 1h30m"),
        ("0s", "a pause lasts more than 0s and at most 1d"),
        ("9d", "a pause lasts more than 0s and at most 1d"),
    ],
)
def test_a_pause_has_an_end_that_can_be_understood(
    platform: Platform, duration: str, message: str
) -> None:
    refused = platform.run("pause", "--for", duration)

    assert refused.code == 2
    assert message in refused.err


def test_a_folder_without_a_name_that_is_text_is_refused(
    platform: Platform, tmp_path: Path
) -> None:
    folder = os.fsdecode(bytes(tmp_path) + b"/\xff")
    Path(folder).mkdir()

    refused = platform.run("submit", folder)

    assert refused.code == 1
    assert "Traceback" not in refused.err
