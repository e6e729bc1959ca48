"""Ask the judge about one skill: build the question, send it, parse the answer, price it."""

from datetime import datetime
from pathlib import Path

import msgspec
from anyio import CapacityLimiter

from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.errors import JudgeFailed
from vskill_platform.model.judgement import Judgement
from vskill_platform.scan.check_skill import read_skill
from vskill_platform.scan.judge.answer import read_answer
from vskill_platform.scan.judge.endpoint import JudgeEndpoint
from vskill_platform.scan.judge.evidence import JudgeEvidence, clean, gather_evidence
from vskill_platform.scan.judge.exchange import Completion, exchange
from vskill_platform.scan.judge.prompt import PROMPT_VERSION, Prompt, build_prompt


class JudgeQuestion(msgspec.Struct, frozen=True, kw_only=True):
    evidence: JudgeEvidence
    prompt: Prompt


async def prepare_question(
    folder: Path, *, max_chars: int, slots: CapacityLimiter
) -> JudgeQuestion:
    """Read the skill in a killable process and build the question about it."""
    evidence = await read_skill(gather_evidence, folder, max_chars, slots=slots)
    return JudgeQuestion(evidence=evidence, prompt=build_prompt(evidence))


async def ask_judge(
    endpoint: JudgeEndpoint, question: JudgeQuestion, *, now: datetime
) -> Judgement:
    """Return the judgement; a missing or malformed answer is an error, never a verdict."""
    stopwatch = Stopwatch()
    completion = await exchange(endpoint, question.prompt, now=now)
    try:
        verdict = read_answer(completion.content, question.evidence, call=question.prompt.fence)
    except JudgeFailed as error:
        raise JudgeFailed(str(error), tokens=completion.tokens) from error
    tokens_in, tokens_out = _tokens(endpoint, question.prompt, completion)
    return Judgement(
        opinion=verdict.opinion,
        confidence=verdict.confidence,
        summary=verdict.summary,
        reasons=verdict.reasons,
        unseen=question.evidence.unseen,
        model=endpoint.model,
        answered_by=clean(completion.model),
        prompt=PROMPT_VERSION,
        asked_at=now,
        duration_seconds=stopwatch.total_seconds,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=endpoint.cost(tokens_in, tokens_out),
    )


def _tokens(endpoint: JudgeEndpoint, prompt: Prompt, completion: Completion) -> tuple[int, int]:
    """Return the tokens that the endpoint counted, or without a count a high estimate."""
    if completion.usage:
        return completion.usage.prompt_tokens, completion.usage.completion_tokens
    return prompt.estimated_tokens, endpoint.most_tokens(prompt) - prompt.estimated_tokens
