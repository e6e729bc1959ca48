"""What a caller did wrong, said in one sentence and with the status that fits."""

from typing import Any

from litestar import Request, Response

from vskill_platform.errors import InvalidInput, NotAllowed, NotFound, VskillError

STATUSES: dict[type[VskillError], int] = {InvalidInput: 400, NotAllowed: 403, NotFound: 404}


def answer_problem(_: Request[Any, Any, Any], error: VskillError) -> Response[dict[str, Any]]:
    status = next(code for kind, code in STATUSES.items() if isinstance(error, kind))
    return Response(
        {"type": "about:blank", "title": str(error), "status": status},
        status_code=status,
        media_type="application/problem+json",
    )
