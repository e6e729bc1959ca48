"""Read responses of a registry with limits, decode them, and extract its error messages.

Everything in them is untrusted.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, is_typeddict

import msgspec

from vskill_platform.base.retry_after import parse_retry_after
from vskill_platform.errors import RegistryError, RegistryUnavailable

#: Called with the bytes that have been transferred and the total, if it is known.
OnProgress = Callable[[int, int | None], None]

#: Compressed at most once: each further layer can make a response a thousand times larger.
_ENCODINGS = frozenset({"", "identity", "gzip", "deflate"})
#: A response may take this long, or longer if it is large and arrives at this rate.
_MAX_SECONDS = 300.0
MIN_BYTES_PER_SECOND = 4096
_MAX_RETRY_AFTER = timedelta(days=1)
#: The code of an error about a response with an unexpected form.
UNEXPECTED_RESPONSE = "unexpected_answer"  # also in the output of --json
#: The maximum number of rows in a list of several pages.
_MAX_ROWS = 100_000
#: The maximum length of an error message, because a registry may send anything.
_MAX_EXPLANATION = 2000
#: Codes whose hints are for authors of programs; the details say enough on a terminal.
_HINTS_FOR_PROGRAMS = frozenset({"invalid_input", "invalid_policy", "not_signed_in", "wrong_state"})
_MISSING = re.compile(r"Object missing required field `([^`]*)`")


class RegistryResponse(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    #: Names are in lower case.
    headers: dict[str, str]
    content: bytes


def read_limited(
    where: str,
    headers: Mapping[str, str],
    chunks: Iterable[bytes],
    *,
    limit: int,
    on_progress: OnProgress | None,
    clock: Callable[[], float],
) -> bytes:
    """Return the content; raise if it is too large or comes too slowly."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise RegistryError(f"{where} sent a response with the encoding {encoding[:80]!r}; refused")
    declared = headers.get("content-length", "")
    total = int(declared) if declared.isascii() and declared.isdecimal() else None
    found, start = bytearray(), clock()
    for chunk in chunks:  # chunk by chunk, so that the time is checked
        found += chunk
        if len(found) > limit:
            raise RegistryError(
                f"{where} sent more than {limit:,} bytes; refused", code="too_large"
            )
        if clock() - start > _MAX_SECONDS + len(found) / MIN_BYTES_PER_SECOND:
            raise RegistryUnavailable(f"{where} responds too slowly; try again later")
        if on_progress:
            on_progress(len(found), total)
    return bytes(found)


def decode_object(content: bytes) -> dict[str, Any]:
    """Return the object in a response; raise ValueError if it is not one."""
    try:
        found = msgspec.json.decode(content)
    except RecursionError as error:
        raise ValueError("too deeply nested") from error
    if not isinstance(found, dict):
        raise ValueError("not an object")  # noqa: TRY004 - the caller reports both alike
    return found


def check_shape(response: Any, kind: Any) -> Any:
    """Check a response by type; return it unchanged for a TypedDict, otherwise converted."""
    try:
        found = msgspec.convert(response, kind)
    except msgspec.ValidationError as error:
        missing = _MISSING.match(str(error))
        wrong = f"has no field {missing[1]!r}" if missing else f"is not understood ({error})"
        raise RegistryError(
            f"the response {wrong}: it is from another kind of server, or from a registry of "
            "another version",
            code=UNEXPECTED_RESPONSE,
        ) from error
    return response if is_typeddict(kind) else found


def retry_after_of(response: RegistryResponse) -> timedelta | None:
    """Return how long the registry asks to wait, given in seconds or as a date."""
    text = response.headers.get("retry-after", "")
    return parse_retry_after(text, datetime.now(UTC), most=_MAX_RETRY_AFTER)


def add_page(response: Any, more: Any, name: str) -> None:
    """Add the next page of a list; raise if the list does not end."""
    following = more.get("nextCursor")
    is_same = following == response.get("nextCursor")
    if following and (is_same or not more[name] or len(response[name]) > _MAX_ROWS):
        raise RegistryError(f"the list of {name} does not end", code=UNEXPECTED_RESPONSE)
    response[name] += more[name]
    response["nextCursor"] = following


def problem_in(response: RegistryResponse) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(response.content)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def in_words(where: str, status: int, problem: dict[str, Any]) -> str:
    """Return the registry's message in one line, or the status if there is none."""
    title, detail, hint = (
        str(problem.get(name) or "").strip()[:_MAX_EXPLANATION]
        for name in ("title", "detail", "hint")
    )
    if not title and not detail:
        return f"{where} answered with status {status}."
    text = ": ".join(part for part in (title, detail) if part)
    if str(problem.get("code")) in _HINTS_FOR_PROGRAMS:
        hint = ""
    return " ".join(
        part if part.endswith((".", "!", "?")) else f"{part}." for part in (text, hint) if part
    )
