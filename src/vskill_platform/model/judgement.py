"""The judge's opinion of a skill, and what it cost."""

from datetime import datetime
from enum import StrEnum

import msgspec


class Opinion(StrEnum):
    PUBLISH = "publish"
    REVIEW = "review"
    REJECT = "reject"


class Reason(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One objection of the judge, at an existing location."""

    claim: str
    file: str
    line: int
    #: The text at that location.
    quote: str


class Judgement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    opinion: Opinion
    #: The judge's confidence, from 0 to 1.
    confidence: float
    summary: str
    reasons: tuple[Reason, ...]
    #: Files that the agent would follow or run and that were not shown in full.
    unseen: tuple[str, ...]
    #: The requested model, and the one that the endpoint reports.
    model: str
    answered_by: str
    #: The version of the prompt.
    prompt: str
    asked_at: datetime
    duration_seconds: float
    tokens_in: int
    tokens_out: int
    #: In the currency of the operator's prices.
    cost: float
    #: Whether it is a cached response for the same content, at no cost.
    is_cached: bool = False
