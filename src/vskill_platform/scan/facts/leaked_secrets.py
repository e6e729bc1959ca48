"""Find secrets that an author left in a skill, by the formats of their providers."""

import base64
import binascii
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec
import re2

from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.hosts import HostClass, classify_host

#: Entropy in bits per character: words and repetitions have less, random text has more.
_MIN_ENTROPY = 3.0
_MIN_PASSWORD_ENTROPY = 2.7
#: This many consecutive neighbours ("abcde", "98765") are typed, not random.
_MAX_RUN = 4
#: A token with a longer lifetime is not short-lived.
_LONG_LIVED_SECONDS = 365 * 24 * 3600
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CHECKSUM_CHARACTERS = 6
#: The beginning of a real private key.
_KEY_STARTS = (b"0\x82", b"0\x81", b"0w", b"0t", b"0.", b"openssh-key-v1\0")
#: The shortest possible key, in base64.
_MIN_KEY_CHARACTERS = 64
#: How many characters of a secret may be shown.
_SHOWN_FIRST, _SHOWN_LAST = 4, 2
#: That would reveal a shorter secret.
_MIN_SHOWN = 16


class LeakedSecret(msgspec.Struct, frozen=True, kw_only=True):
    #: Its position in the text.
    start: int
    name: str
    rule: str


class _Secret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    rule: str
    hints: list[str]
    pattern: str
    mask: str
    check: str = ""


@cache
def _secrets() -> tuple[_Secret, ...]:
    return msgspec.convert(load_data("secrets.toml")["secret"], tuple[_Secret, ...])


@cache
def _compiled(pattern: str) -> Any:
    """Compile on demand, because most kinds of secrets never occur."""
    return re2.compile(pattern)


@cache
def _placeholders() -> tuple[Any, frozenset[str]]:
    data = load_data("secrets.toml")
    return re2.compile(data["placeholders"]), frozenset(data["documented"])


@cache
def _hints() -> tuple[list[str], Any]:
    """Return all hints, and a matcher that finds in one pass which of them a text contains."""
    hints = list(dict.fromkeys(hint for one in _secrets() for hint in one.hints))
    together = re2.Set.SearchSet()
    for hint in hints:
        together.Add(re2.escape(hint))
    together.Compile()
    return hints, together


def _hints_in(text: str) -> set[str]:
    hints, together = _hints()
    return {hints[place] for place in together.Match(text) or ()}


def find_leaked_secrets(text: str) -> Iterator[LeakedSecret]:
    """Yield text that looks like a working secret: in a provider's format, and not an example."""
    hints = _hints_in(text)
    for secret in _secrets() if hints else ():
        if not hints.isdisjoint(secret.hints):
            check = _CHECKS[secret.check]
            for found in _compiled(secret.pattern).finditer(text):
                if check(found[1], found[0]):
                    yield LeakedSecret(start=found.start(1), name=secret.name, rule=secret.rule)


def redact(text: str) -> str:
    """Redact everything that has the format of a secret; lines stay lines."""
    parts, end = [], 0
    for first, last in _spans_to_mask(text):
        parts += [text[end:first], _masked(text[first:last])]
        end = last
    return "".join([*parts, text[end:]]) if parts else text


def _spans_to_mask(text: str) -> list[tuple[int, int]]:
    """Return where secrets start and end; overlapping secrets become one span.

    All formats are searched in the unchanged text, because the mask of one secret could remove the
    words by which the next one is recognised.
    """
    hints = _hints_in(text)
    spans = sorted(
        found.span(1)
        for secret in (_secrets() if hints else ())
        if not hints.isdisjoint(secret.hints)
        for found in _compiled(secret.mask).finditer(text)
    )
    merged: list[tuple[int, int]] = []
    for first, last in spans:
        if merged and first < merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged


def _masked(secret: str) -> str:
    if "\n" in secret:
        return "\n".join("…" if line.strip() else "" for line in secret.split("\n"))
    if len(secret) < _MIN_SHOWN:
        return "…"
    return f"{secret[:_SHOWN_FIRST]}…{secret[-_SHOWN_LAST:]}"


def _looks_random(secret: str, least: float = _MIN_ENTROPY) -> bool:
    """Return whether it is random: without words for examples or runs, and with enough entropy."""
    pattern, documented = _placeholders()
    if secret in documented or pattern.search(secret):
        return False
    return _entropy(secret) >= least and not _has_run(secret)


def _entropy(text: str) -> float:
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _has_run(text: str) -> bool:
    """Find characters that repeat or follow each other in the alphabet."""
    steps = [ord(second) - ord(first) for first, second in pairwise(text)]
    return any(
        steps[at] in {-1, 0, 1} and len(set(steps[at : at + _MAX_RUN])) == 1
        for at in range(len(steps) - _MAX_RUN + 1)
    )


def _has_checksum(secret: str, _whole: str) -> bool:
    """Verify the end of a token: GitHub and npm append a CRC-32 in base 62."""
    body, given = secret[4:-_CHECKSUM_CHARACTERS], secret[-_CHECKSUM_CHARACTERS:]
    number, digits = zlib.crc32(body.encode()), ""
    while number:
        number, digit = divmod(number, 62)
        digits = _BASE62[digit] + digits
    return digits.rjust(_CHECKSUM_CHARACTERS, "0") == given and secret not in _placeholders()[1]


def _is_long_lived(secret: str, _whole: str) -> bool:
    try:
        claims = json.loads(base64.urlsafe_b64decode(secret.split(".")[1] + "=="))
    except (ValueError, binascii.Error, RecursionError):
        return False
    if not isinstance(claims, dict) or claims.get("role") == "anon":  # intended to be public
        return False
    start, end = claims.get("iat"), claims.get("exp")
    if not isinstance(start, int) or not isinstance(end, int):
        return False
    return end - start >= _LONG_LIVED_SECONDS


def _is_private_key(secret: str, _whole: str) -> bool:
    compact = re.sub(r"\\[nr]|[^A-Za-z0-9+/]", "", secret)[:96]
    head = base64.b64decode(compact[: len(compact) // 4 * 4])
    is_long = len(compact) >= _MIN_KEY_CHARACTERS
    return is_long and head.startswith(_KEY_STARTS) and not _has_run(compact[32:])


def _is_remote(secret: str, whole: str) -> bool:
    """Return False for secrets that only work on the author's own machine."""
    host = whole.rpartition("@")[2].lower()
    user = whole.partition("://")[2].partition(":")[0]
    if classify_host(host) in {HostClass.LOCAL, HostClass.PLACEHOLDER}:
        return False
    return secret != user and _looks_random(secret, _MIN_PASSWORD_ENTROPY)


_CHECKS: dict[str, Callable[[str, str], bool]] = {
    "": lambda secret, _whole: _looks_random(secret),
    "crc32": _has_checksum,
    "jwt": _is_long_lived,
    "key": _is_private_key,
    "remote": _is_remote,
}
