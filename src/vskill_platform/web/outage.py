"""An outage is said to be one: 503, never an empty page."""

from typing import Any

from litestar import Request, Response
from litestar.status_codes import HTTP_503_SERVICE_UNAVAILABLE

from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import EngineError

log = get_logger(__name__)
RETRY_AFTER_SECONDS = 5


def answer_outage(request: Request[Any, Any, Any], error: EngineError) -> Response[dict[str, Any]]:
    """Tell the visitor to come back; the details are for the operator's log."""
    log.error("request met an outage", path=request.url.path, error=str(error))
    return Response(
        {
            "type": "about:blank",
            "title": "The registry cannot reach its database",
            "status": HTTP_503_SERVICE_UNAVAILABLE,
            "detail": "Nothing is lost. Please try again in a moment.",
        },
        status_code=HTTP_503_SERVICE_UNAVAILABLE,
        media_type="application/problem+json",
        headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
    )
