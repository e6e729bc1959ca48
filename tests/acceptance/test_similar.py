"""`similar` as a user runs it."""

import json
from pathlib import Path

import pytest

from tests.acceptance.program import Platform
from tests.casts import a_skill_folder

NOTES = "\n".join(f"Sort note {number} by its date and say where it went." for number in range(20))


def a_long_skill(parent: Path, name: str, text: str = NOTES) -> Path:
    folder = a_skill_folder(parent, name)
    with (folder / "SKILL.md").open("a") as manifest:
        manifest.write(text)
    return folder


@pytest.mark.slow
def test_skills_similar_to_a_folder_or_a_published_skill_are_listed(
    platform: Platform, tmp_path: Path
) -> None:
    for name in ("tidy-notes", "sort-papers"):
        platform.submit(a_long_skill(tmp_path / "ada", name))
    assert platform.run("work", "--drain").code == 0
    copy = a_long_skill(tmp_path / "ben", "tidy-note", f"{NOTES}\nThen be quick about it.\n")

    by_path = json.loads(platform.run("similar", "--json", copy).out)
    by_slug = platform.run("similar", "@local/sort-papers")

    assert [(row["slug"], row["name"]) for row in by_path] == [
        ("@local/sort-papers", ""),
        ("@local/tidy-notes", "differs by little"),
    ]
    assert all(0.85 < row["instructions"] < 1 for row in by_path)
    assert "@local/tidy-notes" in by_slug.out
    assert "100%" in by_slug.out


def test_similar_says_that_there_is_no_similar_skill(platform: Platform, tmp_path: Path) -> None:
    platform.submit(a_long_skill(tmp_path / "ada", "tidy-notes"))

    alone = platform.run("similar", a_skill_folder(tmp_path, "weather"))
    gone = platform.run("similar", "ada/box/gone")

    assert (alone.code, alone.err) == (0, "No similar skill is published.\n")
    assert gone.code == 1
    assert "is neither a folder nor the slug of a published skill" in gone.err
