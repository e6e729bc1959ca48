"""A problem as a whole HTTP/1.1 response, for requests that never reach the application."""

from http import HTTPStatus

import msgspec

from vskill_platform.web.http.problem_kinds import ProblemKind
from vskill_platform.web.http.problems import PROBLEM_TYPE, Problem
from vskill_platform.web.http.requests import new_request_id


def raw_problem(kind: ProblemKind, detail: str, *, retry_after: int | None = None) -> bytes:
    """Return the response; the connection is closed after it."""
    request_id = new_request_id()
    problem = Problem(
        title=kind.title,
        status=kind.status,
        detail=detail,
        code=kind.code,
        hint=kind.hint,
        request_id=request_id,
        error=kind.title,
    )
    body = msgspec.json.encode(problem)
    headers = {
        "Content-Type": PROBLEM_TYPE,
        "Content-Length": str(len(body)),
        "X-Request-Id": request_id,
        "Connection": "close",
    }
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    head = [f"HTTP/1.1 {kind.status} {HTTPStatus(kind.status).phrase}"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*head, "", ""]).encode() + body
