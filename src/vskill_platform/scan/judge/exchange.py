"""Send one question to an OpenAI-compatible endpoint and parse the response envelope.

Errors contain neither the key nor text from the endpoint, because some endpoints repeat a wrong key
in their error message.
"""

import asyncio
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated

import httpx2
import msgspec

from vskill_platform.base.outgoing_http import BodyTooLarge, open_http_client, read_body
from vskill_platform.base.retry_after import parse_retry_after
from vskill_platform.base.tls import describe_failure
from vskill_platform.errors import JudgeFailed
from vskill_platform.scan.judge.endpoint import JudgeEndpoint
from vskill_platform.scan.judge.prompt import Prompt

#: An answer is at most one page of text.
MAX_ANSWER_BYTES = 1024 * 1024
#: An endpoint that requests a longer wait is retried earlier, before recovery takes over.
MAX_RETRY_AFTER = timedelta(minutes=4)
_TOKENS = msgspec.Meta(ge=0, le=100_000_000)


class _Message(msgspec.Struct, frozen=True):
    content: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: Annotated[int, _TOKENS]
    completion_tokens: Annotated[int, _TOKENS]


class Completion(msgspec.Struct, frozen=True):
    """The endpoint's response; fields that we do not need are ignored."""

    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    usage: _Usage | None = None
    model: Annotated[str, msgspec.Meta(max_length=300)] = ""

    @property
    def tokens(self) -> int | None:
        return self.usage.prompt_tokens + self.usage.completion_tokens if self.usage else None

    @property
    def content(self) -> str:
        first = self.choices[0]
        if first.finish_reason == "length":
            raise JudgeFailed(
                "the judge's answer was cut off; raise max_tokens in VSKILL_JUDGE_OPTIONS",
                tokens=self.tokens,
            )
        if not first.message.content:
            raise JudgeFailed("the judge gave an empty answer", tokens=self.tokens)
        return first.message.content


async def exchange(endpoint: JudgeEndpoint, prompt: Prompt, *, now: datetime) -> Completion:
    """Send the question and return the response, within the judge's deadline."""
    seconds = endpoint.deadline.total_seconds()
    try:
        async with asyncio.timeout(seconds):
            body = await _post(endpoint, prompt, now)
    except TimeoutError as error:
        raise JudgeFailed(f"the judge did not answer within {seconds:g} s") from error
    except httpx2.ConnectError as error:
        raise JudgeFailed("the judge cannot be reached", tokens=0) from error
    except httpx2.InvalidURL as error:
        raise JudgeFailed("the judge's URL is invalid", tokens=0) from error
    except httpx2.HTTPError as error:
        kind = describe_failure(error)
        raise JudgeFailed(f"the connection to the judge broke ({kind})") from error
    key = endpoint.key.reveal().encode()
    if key and key in body:
        raise JudgeFailed("the judge's answer contains the key; it was discarded")
    try:
        return msgspec.json.decode(body, type=Completion)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise JudgeFailed("the judge's endpoint did not answer with a completion") from error


async def _post(endpoint: JudgeEndpoint, prompt: Prompt, now: datetime) -> bytes:
    headers = {"accept-encoding": "identity", "content-type": "application/json"}
    if key := endpoint.key.reveal():
        headers["authorization"] = f"Bearer {key}"
    async with (
        open_http_client() as client,
        client.stream(
            "POST",
            endpoint.url,
            content=msgspec.json.encode(endpoint.request(prompt)),
            headers=headers,
        ) as response,
    ):
        if response.status_code != HTTPStatus.OK:
            raise _refused(response, now)
        try:
            return await read_body(response, limit=MAX_ANSWER_BYTES)
        except BodyTooLarge as error:
            raise JudgeFailed(
                f"the judge's answer has more than {MAX_ANSWER_BYTES:,} bytes"
            ) from error


def _refused(response: httpx2.Response, now: datetime) -> JudgeFailed:
    status = response.status_code
    note = "; redirects are not followed" if response.is_redirect else ""
    text = response.headers.get("retry-after", "")
    wait = parse_retry_after(text, now, most=MAX_RETRY_AFTER)
    return JudgeFailed(f"the judge answered {status}{note}", retry_after=wait, tokens=0)
