"""Where a scanner elsewhere brings its answer."""

from typing import Any

from litestar import Request, Response
from litestar.status_codes import HTTP_409_CONFLICT

from vskill_platform.intake.take_callback import MAX_CALLBACK_BYTES, take_callback
from vskill_platform.scan.external.signature import SIGNATURE_HEADER, TIMESTAMP_HEADER
from vskill_platform.web.http.route import operation


@operation(max_body=MAX_CALLBACK_BYTES)
async def external_scan_callback(request: Request[Any, Any, Any]) -> Response[dict[str, str]]:
    """Take a signed answer, once; docs/external-scanners.md says what it must look like."""
    is_taken = await take_callback(
        str(request.path_params["scan_id"]),
        await request.body(),
        moment=request.headers.get(TIMESTAMP_HEADER, ""),
        signature=request.headers.get(SIGNATURE_HEADER, ""),
    )
    if is_taken:
        return Response({"status": "taken"})
    return Response({"status": "this scan has ended already"}, status_code=HTTP_409_CONFLICT)
