"""The judge's endpoint and its limits, from the settings."""

from datetime import timedelta
from typing import Any

import msgspec

from vskill_platform.scan.judge.answer import ANSWER_SCHEMA
from vskill_platform.scan.judge.prompt import Prompt
from vskill_platform.secret_settings import Secret
from vskill_platform.settings import Settings, judge_options

#: Request fields that limit the length of the answer.
_LIMITS = ("max_tokens", "max_completion_tokens")
_MAX_TOKENS_OUT = 4000
_STRUCTURED = {
    "type": "json_schema",
    "json_schema": {"name": "judgement", "strict": True, "schema": ANSWER_SCHEMA},
}


class JudgeEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    model: str
    key: Secret
    options: dict[str, Any]
    deadline: timedelta
    price_in: float
    price_out: float

    def request(self, prompt: Prompt) -> dict[str, Any]:
        """Return the request body; an option that is null removes a field."""
        body = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
            "response_format": _STRUCTURED,
            **self.options,
        }
        return {name: value for name, value in body.items() if value is not None}

    def most_tokens(self, prompt: Prompt) -> int:
        """Return the maximum number of tokens for a question and its answer."""
        limits = [self.options.get(name) for name in _LIMITS]
        longest = next((limit for limit in limits if isinstance(limit, int)), _MAX_TOKENS_OUT)
        return prompt.estimated_tokens + longest

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        return round((tokens_in * self.price_in + tokens_out * self.price_out) / 1_000_000, 6)


def endpoint_of(settings: Settings) -> JudgeEndpoint | None:
    """Return the configured judge, or None."""
    if not settings.judge_url:
        return None
    return JudgeEndpoint(
        url=settings.judge_url.rstrip("/") + "/chat/completions",
        model=settings.judge_model,
        key=settings.judge_key,
        options=judge_options(settings),
        deadline=settings.judge_deadline,
        price_in=settings.judge_price_in,
        price_out=settings.judge_price_out,
    )
