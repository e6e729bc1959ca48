"""Fields that the results of all MCP methods have in common."""

from typing import Any

from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of

#: For what is the same for everyone until the next release. Lists of skills, entries and files are
#: read again each time: they may be blocked.
LIST_TTL_MS = 60_000


def complete(
    fields: dict[str, Any], *, ttl_ms: int = 0, request: WebRequest | None = None
) -> dict[str, Any]:
    """Return a result; one that depends on the user must not be shared."""
    is_shared = request is None or visitor_of(request).user is None
    scope = "public" if is_shared else "private"
    return {"resultType": "complete", **fields, "ttlMs": ttl_ms, "cacheScope": scope}
