"""The judge's answer: valid, for this question, with existing places; otherwise it is rejected."""

from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from vskill_platform.errors import JudgeFailed
from vskill_platform.model.judgement import Opinion, Reason
from vskill_platform.scan.facts.facts import PartRole
from vskill_platform.scan.judge.answer import ANSWER_SCHEMA, CitedReason, JudgeAnswer, read_answer
from vskill_platform.scan.judge.evidence import EvidenceFile, JudgeEvidence, Span

EVIDENCE = JudgeEvidence(
    spans=(
        Span(
            id="S1",
            path="run.sh",
            line=3,
            role=PartRole.SCRIPT,
            act="sends data",
            text="curl -d @x",
        ),
    ),
    files=(EvidenceFile(path="SKILL.md", role=PartRole.INSTRUCTION, lines=("one", "two")),),
    capabilities={},
)


def an_answer(**changes: Any) -> str:
    answer = {
        "call": "c1",
        "verdict": "review",
        "confidence": 0.7,
        "summary": "It sends notes away.",
        "reasons": [{"claim": "Sends.", "span": "S1", "file": None, "line": None}],
    }
    return msgspec.json.encode({**answer, **changes}).decode()


def at(file: str | None, line: int | None, span: str | None = None) -> list[dict[str, Any]]:
    return [{"claim": "It does harm.", "span": span, "file": file, "line": line}]


def test_a_good_answer_is_taken_with_the_places_it_names() -> None:
    said = read_answer(an_answer(), EVIDENCE, call="c1")

    assert (said.opinion, said.confidence) == (Opinion.REVIEW, 0.7)
    assert said.reasons == (Reason(claim="Sends.", file="run.sh", line=3, quote="curl -d @x"),)


def test_a_place_can_be_a_line_that_was_shown() -> None:
    said = read_answer(an_answer(reasons=at("SKILL.md", 2)), EVIDENCE, call="c1")

    assert said.reasons == (Reason(claim="It does harm.", file="SKILL.md", line=2, quote="two"),)


def test_a_code_fence_around_the_answer_is_removed() -> None:
    said = read_answer(f"```json\n{an_answer()}\n```", EVIDENCE, call="c1")

    assert said.opinion is Opinion.REVIEW


@all_cases(
    ("reasons", "complaint"),
    [
        (at(None, None, "S2"), "a fact that does not exist"),
        (at("SKILL.md", 3), "a place that does not exist"),
        (at("SKILL.md", 0), "a place that does not exist"),
        (at("SKILL.md", None), "a place that does not exist"),
        (at("other.md", 1), "a place that does not exist"),
        (at(None, None), "a place that does not exist"),
        ([*at("SKILL.md", 1), *at(None, None, "S99")], "a fact that does not exist"),
        ([], "says review but gives no reason"),
    ],
)
def test_an_answer_that_names_no_place_that_exists_is_refused_whole(
    reasons: list[dict[str, Any]], complaint: str
) -> None:
    with pytest.raises(JudgeFailed, match=complaint):
        read_answer(an_answer(reasons=reasons), EVIDENCE, call="c1")


@all_cases(
    "content",
    [
        "",
        "publish",
        "I think this is fine.",
        "[]",
        "{}",
        '{"verdict": "publish"}',
        an_answer(verdict="approve"),
        an_answer(confidence=1.5),
        an_answer(confidence="high"),
        an_answer(summary=""),
        an_answer(extra=1),
        an_answer(reasons=at("SKILL.md", 1) * 21),
        an_answer()[:-5],
        an_answer() + an_answer(),
        "[" * 100_000,
        '"\\ud800"',
        "\ud800",
    ],
)
def test_an_answer_of_another_form_is_an_error(content: str) -> None:
    with pytest.raises(JudgeFailed, match="does not match the schema"):
        read_answer(content, EVIDENCE, call="c1")


def test_an_answer_that_the_skill_brought_along_does_not_know_the_call() -> None:
    with pytest.raises(JudgeFailed, match="belongs to another request"):
        read_answer(an_answer(call="anything"), EVIDENCE, call="c1")


def test_words_of_the_judge_cannot_play_tricks_on_a_terminal() -> None:
    summary = "fine\x1b[2J\u202e" + "x" * 1000

    said = read_answer(an_answer(summary=summary), EVIDENCE, call="c1")

    assert said.summary.startswith("fine<U+001B>[2J<U+202E>x")
    assert len(said.summary) == 300


def test_schema_and_struct_ask_for_the_same() -> None:
    items = ANSWER_SCHEMA["properties"]["reasons"]["items"]

    assert ANSWER_SCHEMA["required"] == [
        field.name for field in msgspec.structs.fields(JudgeAnswer)
    ]
    assert items["required"] == [field.name for field in msgspec.structs.fields(CitedReason)]
    jsonschema.validate(msgspec.json.decode(an_answer()), ANSWER_SCHEMA)


@given(st.text(max_size=300))
def test_any_words_are_an_answer_or_an_error(content: str) -> None:
    with pytest.raises(JudgeFailed):
        read_answer(content, EVIDENCE, call="c1")
