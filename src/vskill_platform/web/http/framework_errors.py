"""What the framework refuses by itself, in words for those who sent it."""

from enum import Enum
from typing import Any, get_args

from litestar import Request
from litestar.enums import RequestEncodingType
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.params import BodyKwarg, ParameterKwarg
from litestar.status_codes import (
    HTTP_400_BAD_REQUEST,
    HTTP_404_NOT_FOUND,
    HTTP_405_METHOD_NOT_ALLOWED,
    HTTP_413_REQUEST_ENTITY_TOO_LARGE,
)
from litestar.typing import FieldDefinition

#: The argument of a handler that is made from the body.
_BODY = "data"
#: What the framework says of a body that is not there.
_NO_BODY = f"'{_BODY}'"
_IN_THE_BODY = "the body"


def words_of_refusal(request: Request[Any, Any, Any], error: HTTPException) -> str:
    """Say what is wrong, with the names that the sender knows."""
    handler = request.scope.get("route_handler")
    if error.status_code == HTTP_404_NOT_FOUND:
        return "No page and no answer has this address."
    if error.status_code == HTTP_405_METHOD_NOT_ALLOWED:
        return f"{request.scope['method']} is not known here."
    if not isinstance(handler, HTTPRouteHandler):
        return error.detail
    if error.status_code == HTTP_413_REQUEST_ENTITY_TOO_LARGE:
        return f"At most {handler.resolve_request_max_body_size():,} bytes are taken here."
    if isinstance(error.extra, list):
        return "; ".join(_mistake(item, handler) for item in error.extra)
    is_unreadable = error.status_code == HTTP_400_BAD_REQUEST and body_media_type(handler)
    return f"{_IN_THE_BODY} cannot be read: {error.detail}" if is_unreadable else error.detail


def headers_of_refusal(request: Request[Any, Any, Any], error: HTTPException) -> dict[str, str]:
    """Return the headers of a refusal; the framework does not know that HEAD is answered as GET."""
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    allowed = set(headers.get("allow", "").split(", "))
    if "GET" in allowed and request.scope["method"] != "HEAD":
        headers["allow"] = ", ".join(sorted(allowed | {"HEAD"}))
    return headers


def body_media_type(handler: HTTPRouteHandler) -> str | None:
    """Return what a handler takes as its body; None if it takes none."""
    field = handler.parsed_fn_signature.parameters.get(_BODY)
    if field is None:
        return None
    said = field.kwarg_definition
    kind = said.media_type if isinstance(said, BodyKwarg) else RequestEncodingType.JSON
    return kind.value if isinstance(kind, RequestEncodingType) else kind


def _mistake(item: dict[str, str], handler: HTTPRouteHandler) -> str:
    key, message = item.get("key", ""), item.get("message", "")
    if key == _BODY:
        if message == _NO_BODY:
            return f"{_IN_THE_BODY} is missing: send {body_media_type(handler)}"
        return f"{_IN_THE_BODY}: {message}"
    field = handler.parsed_fn_signature.parameters.get(key)
    if field is None or item.get("source") == "body":
        return f"{key}: {message}"
    words = ", ".join(_choices(field.annotation))
    return f"{_sent_name(key, field)}: {message}" + (f"; it is one of {words}" if words else "")


def _sent_name(key: str, field: FieldDefinition) -> str:
    """Return what a parameter is called in the address."""
    definition = field.kwarg_definition
    return (isinstance(definition, ParameterKwarg) and definition.name) or key


def _choices(annotation: Any) -> list[str]:
    """Return the words that a parameter may be; none if it is no choice."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(item.value) for item in annotation if item.value]
    return [word for inner in get_args(annotation) for word in _choices(inner)]
