"""The parts of a skill that are compared: its content, without its formatting."""

from pathlib import Path

import pytest

from vskill_platform.model.similarity import similarity
from vskill_platform.scan import sketch_skill as module
from vskill_platform.scan.sketch_skill import sketch_skill, words_of

TEXT = " ".join(
    f"Sort note {number} by its date and put it into folder {number}." for number in range(40)
)


def a_skill(folder: Path, body: str = TEXT, head: str = "name: notes", **files: str) -> Path:
    folder.mkdir()
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\n\n{body}\n")
    for name, text in files.items():
        (folder / name.replace("_dot_", ".")).write_text(text)
    return folder


def test_the_frontmatter_has_no_part_in_it(tmp_path: Path) -> None:
    one = sketch_skill(a_skill(tmp_path / "a"), {})
    other = sketch_skill(a_skill(tmp_path / "b", head="name: other\ndescription: x y z w"), {})

    assert one == other


@pytest.mark.parametrize(
    "disguise",
    [
        str.upper,
        lambda text: text.replace("o", "\u043e"),
        lambda text: text.replace("t", "t\u200b"),
        lambda text: text.replace(" ", "\n\n"),
        lambda text: text.replace(".", " !"),
    ],
)
def test_a_disguise_changes_nothing(tmp_path: Path, disguise: object) -> None:
    assert callable(disguise)
    plain = sketch_skill(a_skill(tmp_path / "a"), {})
    dressed = sketch_skill(a_skill(tmp_path / "b", disguise(TEXT)), {})

    assert similarity(plain.instructions, dressed.instructions) == 1.0


def test_a_language_without_spaces_has_words_too() -> None:
    assert words_of("把笔记 sort 好") == ["把", "笔", "记", "sort", "好"]


def test_scripts_are_measured_apart(tmp_path: Path) -> None:
    code = "\n".join(f"print('note', {number}, file{number})" for number in range(50))
    one = sketch_skill(a_skill(tmp_path / "a", run_dot_py=code, data_dot_csv="a,b\n" * 99), {})
    other = sketch_skill(a_skill(tmp_path / "b"), {})

    assert one.instructions == other.instructions
    assert one.scripts.size > 40
    assert other.scripts.size == 0


def test_a_script_is_known_by_its_first_line(tmp_path: Path) -> None:
    code = "#!/bin/sh\n" + "\n".join(f"echo note {number} is sorted" for number in range(50))

    assert sketch_skill(a_skill(tmp_path / "a", run=code), {}).scripts.size > 40


def test_a_manifest_that_cannot_be_read_is_measured_whole(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text(TEXT)

    assert sketch_skill(tmp_path, {}).instructions.size > 40


def test_a_folder_without_anything_can_be_measured(tmp_path: Path) -> None:
    assert sketch_skill(tmp_path, {}).instructions.size == 0


def test_much_text_costs_no_more_than_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WORDS", 100)
    monkeypatch.setattr(module, "_MAX_SCRIPTS_BYTES", 1000)
    code = "\n".join(f"print({number})" for number in range(1000))

    found = sketch_skill(a_skill(tmp_path / "a", x_dot_py=code, y_dot_py=code), {})

    assert found.instructions.size <= 100
    assert found.scripts.size <= 200
