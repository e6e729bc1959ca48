"""The judge's opinion of a skill, and what it cost."""

from datetime import datetime
from enum import StrEnum

import msgspec


class Opinion(StrEnum):
    PUBLISH = "publish"
    REVIEW = "review"
    REJECT = "reject"


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """What the judge holds against a skill, at a place that exists."""

    claim: str
    file: str
    line: int
    #: What stands at that place.
    quote: str


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    opinion: Opinion
    #: How sure the judge is, from 0 to 1.
    confidence: float
    summary: str
    reasons: tuple[Reason, ...]
    #: Files that the agent would obey or run and that were not shown in full.
    unseen: tuple[str, ...]
    #: Which model was asked, and which one the endpoint says has answered.
    model: str
    answered_by: str
    #: The version of the question.
    prompt: str
    asked_at: datetime
    duration_seconds: float
    tokens_in: int
    tokens_out: int
    #: In the currency that the operator's prices are in.
    cost: float
    #: Whether it was said before, of the same content, and asking cost nothing this time.
    is_cached: bool = False
