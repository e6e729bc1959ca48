"""How much of a request is read, by what it says it is: forms and JSON are small, files are not.

A body is read on the event loop, and often for somebody unknown: what is too large is refused
before any of it is parsed.
"""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl

from litestar import Request
from litestar.datastructures import FormMultiDict
from litestar.enums import RequestEncodingType
from litestar.exceptions.http_exceptions import (
    InternalServerException,
    RequestEntityTooLarge,
)
from litestar.types import Empty

from vskill_platform.errors import InvalidInput, TooLarge
from vskill_platform.intake.discover import MAX_SKILLS
from vskill_platform.web.http.concurrency_quota import Shares, hold_until_answered

_KIB = 1024
#: For all that does not say otherwise.
MAX_BODY_BYTES = 256 * _KIB
#: For the paths of all skills of the largest repo.
MAX_PATHS_BYTES = 512 * _KIB
#: For a policy of 200,000 characters, written as a form or with every character escaped.
MAX_POLICY_BYTES = 2048 * _KIB
#: All skills of the largest repo ticked, and what else a form holds.
MAX_FIELDS = MAX_SKILLS + 100
#: A large body is in memory, or takes many open files, until it is answered. Small ones need not
#: wait for those, so that most skills can be handed in also while others send large ones slowly.
LARGE_BODIES = Shares(in_all=6, each=2, what="sending files", retry_after=timedelta(seconds=15))
LARGE_BODY_SECONDS = 300.0
#: In `opt`: what this handler allows is for files alone.
TAKES_FILES = "takes_files"


class BoundedRequest(Request[Any, Any, Any]):
    """A request of which no more is read than its handler takes."""

    @property
    def max_body_bytes(self) -> int:
        most = self.route_handler.resolve_request_max_body_size() or MAX_BODY_BYTES
        is_files = self.content_type[0] == RequestEncodingType.MULTI_PART
        if self.route_handler.opt.get(TAKES_FILES) and not is_files:
            return min(most, MAX_BODY_BYTES)
        return most

    async def stream(self) -> AsyncGenerator[bytes, None]:
        most, count = self.max_body_bytes, 0
        length = self.content_length
        if length is not None and length > most:
            raise _too_large(most)
        is_large = length is None or length > MAX_BODY_BYTES
        if is_large and self.route_handler.opt.get(TAKES_FILES):
            hold_until_answered(self, LARGE_BODIES)
        until = asyncio.get_running_loop().time() + LARGE_BODY_SECONDS
        try:
            async for chunk in super().stream():
                count += len(chunk)
                if asyncio.get_running_loop().time() > until:
                    raise InvalidInput("it took too long to come")
                if count > most:  # it did not say so, or not the truth
                    raise _too_large(most)
                yield chunk
        except RequestEntityTooLarge as error:
            raise _too_large(most) from error
        except InternalServerException as error:
            if not self.is_connected:  # it was read before, which is a mistake of ours
                raise
            raise InvalidInput("the request ended before all of it had come") from error

    async def form(self) -> FormMultiDict:
        if self._form is Empty and self.content_type[0] == RequestEncodingType.URL_ENCODED:
            # Not by the framework: it has no limit, and remembers what it has read, with passwords.
            self._form = FormMultiDict(_fields(await self.body()))
        return await super().form()

    async def json(self) -> Any:
        try:
            return await super().json()
        except RecursionError as error:
            raise InvalidInput("this JSON is nested too deeply") from error


def _fields(body: bytes) -> list[tuple[str, Any]]:
    if body.count(b"&") >= MAX_FIELDS:
        raise TooLarge(f"a form has at most {MAX_FIELDS:,} fields")
    return list(parse_qsl(body.decode("latin-1"), keep_blank_values=True))


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"at most {most // _KIB:,} KiB are read here")
