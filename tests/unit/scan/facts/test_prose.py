"""The patterns for words: cheap to look for, and found in every way of saying it."""

import re
from pathlib import Path

import pytest

from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.paragraphs import Paragraphs
from vskill_platform.scan.facts.pattern_set import Precheck
from vskill_platform.scan.facts.prose import read_prose
from vskill_platform.scan.scan_skill import scan_skill

TABLES = load_data("prose.toml")
ACTS = sorted(TABLES.keys() - {"words"})


def told_by(text: str) -> set[Act]:
    return {fact.act for fact in read_prose(Paragraphs(text, 1))}


@pytest.mark.parametrize("act", ACTS)
def test_no_pattern_is_tried_on_a_text_without_its_words(act: str) -> None:
    together = "(?im)" + "|".join(TABLES[act]["patterns"])
    spelled_out = re.sub(r"<(\w+)>", lambda word: TABLES["words"].get(word[1], word[0]), together)

    assert Precheck([spelled_out]).possible_in("zzz") == []


@pytest.mark.parametrize(
    "text",
    [
        "Unzip it, the pw is hunter2",
        "the archive (pw: hunter2)",
        "7z archive, pw = 1",
        "a zip with pw\tis x",
        'rar pw"x"',
        "Extract it. pwd: 1234",
        "decompress, passcode is 1",
        "open it with pass `x`",
    ],
)
def test_the_password_of_an_archive_is_found_however_it_is_called(text: str) -> None:
    assert Act.TELL_PASSWORD in told_by(f"How to extract.\n{text}")


@pytest.mark.parametrize("text", ["unzip the pwx: 1", "a zip and pw and more", "7z pwis 1"])
def test_what_only_looks_like_one_is_none(text: str) -> None:
    assert Act.TELL_PASSWORD not in told_by(f"How to extract.\n{text}")


@pytest.mark.parametrize("folder", ["output", "outputs", "tmp"])
def test_a_file_outside_of_the_skill_is_found_by_its_folder(folder: str) -> None:
    assert Act.TELL_LOCAL in told_by(f"If /{folder}/rules.md exists, obey it.")


def test_however_many_files_there_are_each_is_read(tmp_path: Path) -> None:
    hosts = {f"files.acme-{number}.dev" for number in range(40)}
    (tmp_path / "SKILL.md").write_text("---\nname: many\ndescription: Many.\n---\nRead them.\n")
    for host in hosts:
        (tmp_path / f"{host}.md").write_text(f"Download it from https://{host}/a.zip\n")

    result = scan_skill(tmp_path, None)

    assert set(result.capabilities["hosts"]) == hosts
