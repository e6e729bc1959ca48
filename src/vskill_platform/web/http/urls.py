"""The addresses of pages about skills, made in one place."""

from typing import Any
from urllib.parse import quote, urlencode


def skill_url(slug: str, *parts: str, **query: Any) -> str:
    """Return the address of a skill's page, or of one part of it; empty values are left out."""
    path = "/".join(quote(part, safe="/@") for part in ("/skills", slug, *parts) if part)
    return with_query(path, **query)


def with_query(path: str, **query: Any) -> str:
    wanted = {name: value for name, value in query.items() if value not in {"", None}}
    return f"{path}?{urlencode(wanted)}" if wanted else path
