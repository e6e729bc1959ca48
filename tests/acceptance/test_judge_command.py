"""The judge as an operator configures and tries it: the real program, a real endpoint."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.program import Platform
from tests.casts import a_skill_folder
from tests.judges import KEY, JudgeServer, judge_server, saying, sending


@pytest.fixture
async def judge() -> AsyncIterator[JudgeServer]:
    async with judge_server() as server:
        server.will(saying("review", {"claim": "It never says where.", "line": 6}))
        yield server


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    return a_skill_folder(tmp_path)


async def test_an_operator_tries_the_judge_on_a_folder(
    platform: Platform, judge: JudgeServer, skill: Path
) -> None:
    setup: dict[str, Any] = {
        "judge_url": judge.url,
        "judge_model": "m-1",
        "judge_key": KEY,
        "judge_price_in": "2",
    }

    done = await asyncio.to_thread(platform.run, "judge", skill, **setup)

    assert done.code == 0
    assert "review, confidence 95%" in done.out
    assert "0.002 (1,000 in, 100 out tokens)" in done.out
    assert "review (tier 1 alone: pass)" in done.out
    assert "SKILL.md:6 The judge has doubts: It never says where. JUDGE-002" in done.out
    assert KEY not in done.out + done.err
    assert not platform.database.exists()


async def test_a_program_reads_the_opinion_of_the_judge(
    platform: Platform, judge: JudgeServer, skill: Path
) -> None:
    done = await asyncio.to_thread(
        platform.run, "judge", skill, "--json", judge_url=judge.url, judge_model="m-1"
    )

    trial = json.loads(done.out)
    assert (trial["tier1"], trial["verdict"]) == ("pass", "review")
    assert trial["judgement"]["answered_by"] == "test-model-2026"
    assert trial["characters"] > trial["estimated_tokens"] > 0


def test_the_question_can_be_read_without_asking(platform: Platform, skill: Path) -> None:
    done = platform.run("judge", skill, "--prompt")

    assert done.code == 0
    assert "     2| name: tidy-notes" in done.out


async def test_a_judge_that_fails_is_one_sentence(
    platform: Platform, judge: JudgeServer, skill: Path
) -> None:
    judge.will(sending(KEY.encode(), 401))

    done = await asyncio.to_thread(
        platform.run, "judge", skill, judge_url=judge.url, judge_model="m-1", judge_key=KEY
    )

    assert (done.code, done.err) == (1, "vskill-platform: the judge answered 401\n")


def test_without_a_judge_it_says_what_to_set(platform: Platform, skill: Path) -> None:
    done = platform.run("judge", skill)

    assert (done.code, done.out) == (1, "")
    assert "set VSKILL_JUDGE_URL and VSKILL_JUDGE_MODEL" in done.err


def test_the_key_is_never_shown(platform: Platform, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    setup: dict[str, Any] = {"judge_url": "https://judge.example/v1", "judge_model": "m-1"}

    by_variable = platform.run("config", "--json", judge_key=KEY, **setup)
    by_file = platform.run("config", "--json", judge_key_file=str(file), **setup)

    shown = [
        next(row for row in json.loads(done.out) if row["variable"] == "VSKILL_JUDGE_KEY")
        for done in (by_variable, by_file)
    ]
    assert [(row["value"], row["from"]) for row in shown] == [
        ("(hidden)", "environment"),
        ("(hidden)", "file"),
    ]
    assert KEY not in by_variable.out + by_file.out
    assert KEY not in platform.run("config", judge_key=KEY, **setup).out


@pytest.mark.slow
async def test_a_submitted_skill_is_judged_and_its_status_says_so(
    platform: Platform, judge: JudgeServer, skill: Path
) -> None:
    setup: dict[str, Any] = {"judge_url": judge.url, "judge_model": "m-1", "judge_key": KEY}
    submission_id = await asyncio.to_thread(platform.submit, skill)

    await asyncio.to_thread(platform.run, "work", "--drain", **setup)
    shown = await asyncio.to_thread(platform.run, "status", submission_id)

    assert "NEEDS_REVIEW" in shown.out
    assert "m-1: review (confidence 95%): It tidies notes. Cost 0." in shown.out
