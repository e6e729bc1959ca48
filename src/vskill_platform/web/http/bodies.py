"""Request bodies: their size limits, which media types are accepted, and the fields of a form.

A body is read on the event loop, often before the sender is known, so large bodies are refused
before they are parsed.
"""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl

from litestar import Request
from litestar.datastructures import FormMultiDict
from litestar.enums import RequestEncodingType
from litestar.exceptions import HTTPException
from litestar.exceptions.http_exceptions import (
    InternalServerException,
    RequestEntityTooLarge,
)
from litestar.handlers import HTTPRouteHandler
from litestar.handlers.base import BaseRouteHandler
from litestar.params import BodyKwarg
from litestar.status_codes import HTTP_415_UNSUPPORTED_MEDIA_TYPE
from litestar.types import Empty

from vskill_platform.errors import InvalidInput, TooLarge
from vskill_platform.intake.discover import MAX_SKILLS
from vskill_platform.web.http.concurrency_quota import ConcurrencyQuota, hold_until_response
from vskill_platform.web.http.requests import WebConnection, WebRequest

_KIB = 1024
#: The default limit.
MAX_BODY_BYTES = 256 * _KIB
#: Enough for the paths of all skills of the largest repository.
MAX_PATHS_BYTES = 512 * _KIB
#: Enough for a policy of 200,000 characters, as a form or with every character escaped.
MAX_POLICY_BYTES = 2048 * _KIB
#: Enough fields to select all skills of the largest repository.
MAX_FIELDS = MAX_SKILLS + 100
#: Limits large bodies, each of which takes memory or many open files until its response. Small
#: bodies are not limited, so most uploads work while others send large ones slowly.
LARGE_BODIES = ConcurrencyQuota(
    in_all=6, each=2, what="large uploads", retry_after=timedelta(seconds=15)
)
LARGE_BODY_SECONDS = 300.0
#: The name of the handler argument that is parsed from the body.
BODY_ARGUMENT = "data"
#: A key in `opt`: the handler's body limit is for multipart uploads only.
TAKES_FILES = "takes_files"
#: Longer form fields are cut.
_MAX_FIELD_LENGTH = 10_000


class BoundedRequest(Request[Any, Any, Any]):
    """A request that reads at most as much of the body as its handler allows."""

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
        if is_large and most > MAX_POLICY_BYTES:
            hold_until_response(self, LARGE_BODIES)
        until = asyncio.get_running_loop().time() + LARGE_BODY_SECONDS
        try:
            async for chunk in super().stream():
                count += len(chunk)
                if asyncio.get_running_loop().time() > until:
                    raise InvalidInput("the request body took too long")
                if count > most:  # Content-Length was missing or wrong
                    raise _too_large(most)
                yield chunk
        except RequestEntityTooLarge as error:
            raise _too_large(most) from error
        except InternalServerException as error:
            if not self.is_connected:  # the body was already read: a bug
                raise
            raise InvalidInput("the request body is incomplete") from error

    async def form(self) -> FormMultiDict:
        if self._form is Empty and self.content_type[0] == RequestEncodingType.URL_ENCODED:
            # Litestar's parser is not used: it has no limit, and caches forms with their passwords.
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
    return TooLarge(f"at most {most // _KIB:,} KiB are accepted here")


async def read_fields(request: WebRequest) -> dict[str, str]:
    """Return the text fields of a form; the last value if a field is repeated."""
    form = await request.form()
    return {
        name: value[:_MAX_FIELD_LENGTH]
        for name, value in form.multi_items()
        if isinstance(value, str)
    }


async def read_choices(request: WebRequest, name: str) -> list[str]:
    """Return the selected values of a group of checkboxes."""
    form = await request.form()
    return [value for value in form.getall(name, []) if isinstance(value, str)]


async def check_media_type(connection: WebConnection, handler: BaseRouteHandler) -> None:
    """Refuse a body with another media type; without a Content-Type, assume the right one.

    It is async because Litestar would run a sync guard in a thread for every request.
    """
    sent = connection.headers.get("content-type", "").partition(";")[0].strip().lower()
    wanted = body_media_type(handler) if sent and isinstance(handler, HTTPRouteHandler) else None
    if wanted is None or _fits(sent, wanted):
        return
    raise HTTPException(
        status_code=HTTP_415_UNSUPPORTED_MEDIA_TYPE, detail=f"got {sent}; send {wanted}"
    )


def _fits(sent: str, wanted: str) -> bool:
    is_json = wanted == RequestEncodingType.JSON and sent.startswith("application/")
    return sent == wanted or (is_json and sent.endswith("+json"))


def body_media_type(handler: HTTPRouteHandler) -> str | None:
    """Return the media type of the body that a handler accepts; None if it accepts none."""
    field = handler.parsed_fn_signature.parameters.get(BODY_ARGUMENT)
    if field is None:
        return None
    definition = field.kwarg_definition
    kind = definition.media_type if isinstance(definition, BodyKwarg) else RequestEncodingType.JSON
    return kind.value if isinstance(kind, RequestEncodingType) else kind
