"""Fields that the results of all MCP methods have in common."""

from typing import Any

from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of

#: For results that are the same for everyone until the next release. Lists of skills, entries and
#: files are read again each time, because a skill may be blocked.
LIST_TTL_MS = 60_000


def complete(
    fields: dict[str, Any], *, ttl_ms: int = 0, request: WebRequest | None = None
) -> dict[str, Any]:
    """Complete a result; clients must not share one that depends on the user."""
    is_shared = request is None or visitor_of(request).user is None
    scope = "public" if is_shared else "private"
    return {"resultType": "complete", **fields, "ttlMs": ttl_ms, "cacheScope": scope}
