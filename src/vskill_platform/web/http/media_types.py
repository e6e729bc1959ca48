"""Whether a body is of the kind that an operation takes: nothing else is read as if it were."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.enums import RequestEncodingType
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.handlers.base import BaseRouteHandler
from litestar.status_codes import HTTP_415_UNSUPPORTED_MEDIA_TYPE

from vskill_platform.web.http.framework_errors import body_media_type


async def check_media_type(
    connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler
) -> None:
    """Refuse a body of another kind; one that does not say its kind is taken for the right one.

    It waits for nothing, but what is not async would be sent to a thread with every request.
    """
    sent = connection.headers.get("content-type", "").partition(";")[0].strip().lower()
    wanted = body_media_type(handler) if sent and isinstance(handler, HTTPRouteHandler) else None
    if wanted is None or _fits(sent, wanted):
        return
    raise HTTPException(
        status_code=HTTP_415_UNSUPPORTED_MEDIA_TYPE, detail=f"{sent} was sent; {wanted} is taken"
    )


def _fits(sent: str, wanted: str) -> bool:
    is_json = wanted == RequestEncodingType.JSON and sent.startswith("application/")
    return sent == wanted or (is_json and sent.endswith("+json"))
