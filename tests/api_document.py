"""Compare responses of the API with its document: fields that are not described are errors."""

import re
from functools import cache
from typing import Any

from httpx import Response

from vskill_platform.web.openapi import describe_api

_HEADERS = ("etag", "retry-after", "x-limit-clamped", "warning", "age", "www-authenticate")
_UNKNOWN_METHOD = 405


def check_described(answer: Response) -> None:
    """Check that the status, the kind and the headers of an answer are in the document."""
    method, path = answer.request.method, answer.request.url.path
    operation = find_operation("GET" if method == "HEAD" else method, path)
    if operation is None or answer.status_code == _UNKNOWN_METHOD:
        return
    what = f"{answer.status_code} of {method} {path}"
    described = operation["responses"].get(str(answer.status_code))
    assert described, f"{what} is not described: {answer.text}"
    described = resolved(described)
    kind = answer.headers.get("content-type", "").partition(";")[0]
    assert kind in described.get("content", {"": None}), f"{what}: {kind}"
    named = {name.lower() for name in described["headers"]}
    sent = {name for name in _HEADERS if name in answer.headers}
    assert sent <= named, f"{what}: {sent - named}"


def find_operation(method: str, path: str) -> dict[str, Any] | None:
    """Return what the document says of a request; None if it is about something else."""
    for pattern, item in _patterns():
        if pattern.fullmatch(path) and method.lower() in item:
            found: dict[str, Any] = item[method.lower()]
            return found
    return None


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in part:
        return part
    _, _, kind, name = part["$ref"].split("/")
    found: dict[str, Any] = describe_api()["components"][kind][name]
    return found


@cache
def _patterns() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """Return the paths, what is longest as it stands first; a slug may have slashes."""
    paths = sorted(describe_api()["paths"].items(), key=lambda one: (one[0].count("{"), one[0]))
    slugs_last = sorted(paths, key=lambda one: one[0].endswith("{slug}"))
    return [(_pattern(path), item) for path, item in slugs_last]


def _pattern(path: str) -> re.Pattern[str]:
    words = re.escape(path).replace(r"\{", "{").replace(r"\}", "}")
    return re.compile(re.sub(r"{\w+}", "[^/]+", words.replace("{slug}", ".+")))
