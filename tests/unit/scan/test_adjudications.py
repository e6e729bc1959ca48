"""The labels that `make bench-scan` corrects, and the rules that it measures."""

from pathlib import Path

import pytest

from benchmarks.scan_corpus import Adjudications, Skill, adjudications, rightly_labelled
from vskill_platform.scan.facts.data_files import load_data

JUDGED = adjudications()


def a_skill(*, campaign: str = "c1", kind: str = "real") -> Skill:
    return Skill("source/one", "malicious", kind, "source", campaign, Path("/nowhere"), 1)


def written(folder: Path, text: str) -> Adjudications:
    path = folder / "adjudicated.toml"
    path.write_text(text)
    return adjudications(path)


def test_every_judgement_has_a_reason_and_a_label() -> None:
    judged = [*JUDGED.skills.values(), *JUDGED.campaigns.values()]

    assert {one.label for one in judged} <= {"malicious", "benign", "incomplete", "unclear"}
    assert all(len(one.reason) > 20 for one in judged)


def test_a_campaign_found_harmless_counts_for_none_of_its_skills(tmp_path: Path) -> None:
    judged = written(
        tmp_path, '[[campaign]]\nid = "c1"\nlabel = "benign"\nreason = "a template, no more"\n'
    )

    assert rightly_labelled([a_skill()], judged) == []


def test_a_real_campaign_without_a_judgement_is_an_error(tmp_path: Path) -> None:
    judged = written(tmp_path, "")

    with pytest.raises(SystemExit, match="source/one"):
        rightly_labelled([a_skill()], judged)


def test_campaigns_of_one_actor_have_one_name(tmp_path: Path) -> None:
    judged = written(
        tmp_path,
        "".join(
            f'[[campaign]]\nid = "{name}"\nlabel = "malicious"\nactor = "lure"\nreason = "fake"\n'
            for name in ("c1", "c2")
        ),
    )

    assert {judged.actor_of(a_skill(campaign=name)) for name in ("c1", "c2", "c3")} == {
        "lure",
        "c3",
    }


def test_no_pattern_contains_a_word_that_only_a_dataset_uses() -> None:
    words = str(load_data("prose.toml")) + str(load_data("rules.toml"))

    assert "benchmark" not in words.lower()
