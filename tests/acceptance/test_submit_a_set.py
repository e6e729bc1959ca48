"""Many skills at once: one command each discovers, submits and follows them."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.program import Platform
from tests.archives import zip_of
from tests.casts import a_skill_folder
from tests.git_server import GitServer, a_git_server
from vskill_platform.model.submission import SubmissionState

NAMES = [f"skill-{number:02}" for number in range(8)]


@pytest.fixture
def toolbox(tmp_path: Path) -> Path:
    """Write a repo as they are in public: eight skills, a plugin's folder, and other things."""
    folder = tmp_path / "toolbox"
    for name in NAMES:
        skill = a_skill_folder(folder / "skills", name, LICENSE_dot_txt="Do as you like.\n")
        (skill / "references").mkdir()
        (skill / "references" / "guide.md").write_text(f"How to use {name}.\n")
    (folder / "README.md").write_text("Eight skills.\n")
    (folder / "AGENTS.md").symlink_to("README.md")
    return folder


@pytest.fixture
def git_server(tmp_path: Path, toolbox: Path) -> Iterator[GitServer]:
    with a_git_server(tmp_path / "served") as server:
        server.serve_repo(toolbox, "ada/toolbox")
        yield server


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_all_skills_of_a_repo_are_published_with_one_command(
    platform: Platform, git_server: GitServer
) -> None:
    url = f"{git_server.url}/ada/toolbox"
    platform.settings["private_hosts"] = git_server.origin
    platform.patience = 150
    worker = platform.start("work")

    done = platform.run("submit", "--all", url, "--watch")

    assert done.code == 0, done
    assert "8/8" in done.err
    assert done.err.count("PUBLISHED") == 8
    assert "8 skills in set_" in done.out
    assert "8 PUBLISHED" in done.out
    assert worker.end() == 0
    assert list((platform.folder / "tmp").iterdir()) == []
    again = platform.run("submit", "--all", url, "--watch", "--json")
    answers = msgspec.json.decode(again.out)["set"]["members"]
    assert again.code == 0
    assert {answer["result"]["kind"] for answer in answers} == {"already_verified"}


def test_a_set_can_be_shown(platform: Platform, tmp_path: Path) -> None:
    for name in ("one", "two"):
        a_skill_folder(tmp_path / "few", name)

    submitted = platform.run("submit", "--all", tmp_path / "few")
    _, _, proposal = submitted.out.partition("See them with: vskill-platform ")
    listed = platform.run(*proposal.split(), "--json")

    assert submitted.code == 0
    submissions = msgspec.json.decode(listed.out)["submissions"]
    assert [item["skill_name"] for item in submissions] == ["one", "two"]
    shown = platform.run("status", submissions[0]["id"])
    assert f"set\t{submissions[0]['set_id']}" in shown.out
    assert platform.run("list", "--set", "set_0").code == 1


@pytest.mark.slow
def test_discover_lists_the_skills_of_a_repo(
    platform: Platform, git_server: GitServer, toolbox: Path
) -> None:
    platform.settings["private_hosts"] = git_server.origin
    url = f"{git_server.url}/ada/toolbox"

    shown = platform.run("discover", url)
    listed = platform.run("discover", url, "--json")

    assert (shown.code, listed.code) == (0, 0)
    assert "skill-07" in shown.out
    assert "skills/skill-07" in shown.out
    found = msgspec.json.decode(listed.out)
    assert [skill["name"] for skill in found] == NAMES
    assert all(skill["is_fine"] for skill in found)
    assert not platform.database.exists()


def test_discover_says_what_is_wrong(platform: Platform, tmp_path: Path) -> None:
    skill = a_skill_folder(tmp_path / "few", "one")
    (skill / "SKILL.md").write_text("---\nname: other\n---\n")
    (tmp_path / "none").mkdir()

    broken = platform.run("discover", tmp_path / "few")
    nothing = platform.run("discover", tmp_path / "none")

    assert broken.code == 1
    assert "invalid" in broken.out
    assert "differs from the folder's name" in broken.out
    assert nothing.code == 1
    assert "there is no SKILL.md in" in nothing.err


def test_a_host_on_our_own_network_must_have_been_named(
    platform: Platform, git_server: GitServer
) -> None:
    url = f"{git_server.url}/ada/toolbox"

    plain = platform.run("submit", url, "--path", "skills/skill-00")
    private = platform.run("discover", url.replace("http://", "https://"))

    assert plain.code == 1
    assert "VSKILL_PRIVATE_HOSTS" in plain.err
    assert not platform.database.exists()
    assert private.code == 1
    assert "127.0.0.1 is not a public address" in private.err


def test_a_set_of_which_one_is_refused_submits_the_others(
    platform: Platform, tmp_path: Path
) -> None:
    platform.settings["local_folders"] = ""
    for name in ("one", "two"):
        a_skill_folder(tmp_path / "few", name)
    (tmp_path / "few" / "one" / "link").symlink_to("/etc/passwd")

    submitted = platform.run("submit", "--all", tmp_path / "few")

    assert submitted.code == 1
    assert "refused" in submitted.out
    assert "1 RECEIVED" in submitted.out


@pytest.mark.slow
@pytest.mark.parametrize("form", ["folder", "zip"])
def test_uploaded_files_need_not_stay_where_they_were(
    platform: Platform, tmp_path: Path, form: str
) -> None:
    platform.settings["local_folders"] = ""
    folder = a_skill_folder(tmp_path, "word-count")
    place = folder
    if form == "zip":
        place = tmp_path / "word-count.zip"
        place.write_bytes(zip_of(folder))

    submitted = platform.run("submit", place)
    (folder / "SKILL.md").unlink()
    platform.run("work", "--drain")

    assert submitted.out.startswith("Submitted: sub_")
    assert "position 1 in the queue" in submitted.out
    listed = msgspec.json.decode(platform.run("list", "--json").out)["submissions"]
    assert [item["state"] for item in listed] == [SubmissionState.PUBLISHED]
    assert listed[0]["slug"] == "@local/word-count"
