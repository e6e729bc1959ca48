"""Parse and validate the judge's answer: its schema, and that the cited locations exist."""

from typing import Annotated, Any

import msgspec

from vskill_platform.errors import JudgeFailed
from vskill_platform.model.judgement import Opinion, Reason
from vskill_platform.scan.facts.facts import shorten
from vskill_platform.scan.judge.evidence import JudgeEvidence, clean

_MAX_REASONS = 20
_MAX_CLAIM, _MAX_SUMMARY = 2000, 4000


class CitedReason(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claim: Annotated[str, msgspec.Meta(min_length=1, max_length=_MAX_CLAIM)]
    span: str | None = None
    file: str | None = None
    line: int | None = None


class JudgeAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    call: str
    verdict: Opinion
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    summary: Annotated[str, msgspec.Meta(min_length=1, max_length=_MAX_SUMMARY)]
    reasons: Annotated[tuple[CitedReason, ...], msgspec.Meta(max_length=_MAX_REASONS)]


#: The same schema for the endpoint, in the subset of JSON schema that all endpoints support.
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "call": {"type": "string"},
        "verdict": {"type": "string", "enum": [opinion.value for opinion in Opinion]},
        "confidence": {"type": "number"},
        "summary": {"type": "string"},
        "reasons": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "claim": {"type": "string"},
                    "span": {"type": ["string", "null"]},
                    "file": {"type": ["string", "null"]},
                    "line": {"type": ["integer", "null"]},
                },
                "required": ["claim", "span", "file", "line"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["call", "verdict", "confidence", "summary", "reasons"],
    "additionalProperties": False,
}


class CheckedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    opinion: Opinion
    confidence: float
    summary: str
    reasons: tuple[Reason, ...]


def read_answer(content: str, evidence: JudgeEvidence, *, call: str) -> CheckedAnswer:
    """Parse the complete answer, or reject it: a partial answer does not count."""
    try:
        answer = msgspec.json.decode(_unwrapped(content), type=JudgeAnswer)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        wrong = shorten(clean(str(error)))
        raise JudgeFailed(f"the judge's answer does not match the schema: {wrong}") from error
    if answer.call != call:
        raise JudgeFailed("the judge's answer belongs to another request")
    if answer.verdict is not Opinion.PUBLISH and not answer.reasons:
        raise JudgeFailed(f"the judge says {answer.verdict.value} but gives no reason")
    return CheckedAnswer(
        opinion=answer.verdict,
        confidence=answer.confidence,
        summary=shorten(clean(answer.summary)),
        reasons=tuple(_located(reason, evidence) for reason in answer.reasons),
    )


def _unwrapped(content: str) -> str:
    """Remove the code fence that some models put around their answer."""
    text = content.strip()
    if text.startswith("```") and text.endswith("```"):
        return text.removeprefix("```").removeprefix("json").removesuffix("```")
    return text


def _located(reason: CitedReason, evidence: JudgeEvidence) -> Reason:
    """Find the location that a reason cites; a reason without an existing location is made up."""
    claim = shorten(clean(reason.claim))
    if reason.span is not None:
        span = next((span for span in evidence.spans if span.id == reason.span), None)
        if span is None:
            raise JudgeFailed("the judge cites a fact that does not exist")
        return Reason(claim=claim, file=span.path, line=span.line, quote=span.text)
    lines = next((file.lines for file in evidence.files if file.path == reason.file), ())
    if reason.line is None or not 1 <= reason.line <= len(lines):
        raise JudgeFailed("the judge cites a place that does not exist")
    quote = shorten(lines[reason.line - 1])
    return Reason(claim=claim, file=reason.file or "", line=reason.line, quote=quote)
