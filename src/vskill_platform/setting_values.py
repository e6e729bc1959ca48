"""Read the values of settings: durations, choices, numbers and URLs; refuse misspelt names."""

import difflib
import ipaddress
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

import msgspec

from vskill_platform.errors import ConfigError

#: Up to six digits each, so that date arithmetic cannot overflow.
_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6}(?:\.\d+)?)s)?")

#: How msgspec reports that a number is too large or too small.
_BOUND = re.compile(r"Expected `(?:int|float)` ([<>]=) ([\d.]+)")
_WORDS = {"int": "use a whole number", "float": "use a number", "bool": "use true or false"}


def parse_duration(text: str) -> timedelta:
    """Parse 90s, 10m, 1h30m or 1d."""
    found = _DURATION.fullmatch(text.strip())
    if not found or not text.strip():
        raise ValueError(f"{text!r} is not a duration such as 90s, 10m or 1h30m")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def format_duration(duration: timedelta) -> str:
    """Format a duration for parse_duration."""
    days, rest = divmod(duration.total_seconds(), 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "m"), (round(rest, 3), "s")]
    return "".join(f"{amount:g}{unit}" for amount, unit in parts if amount) or "0s"


def parse_value(name: str, text: str, kind: Any) -> Any:
    """Parse the value of the variable *name*."""
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices and text not in choices:
        raise ConfigError(f"{name}={text}: choose one of {', '.join(choices)}")
    try:
        if kind is timedelta:
            return parse_duration(text)
        value = msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{name}={text}: {_in_words(str(error))}") from error
    except ValueError as error:
        raise ConfigError(f"{name}={text}: {error}") from error
    if kind is int and value < 1:
        raise ConfigError(f"{name}={text}: it must be at least 1")
    return value


def _in_words(error: str) -> str:
    """Describe the valid values after msgspec has refused one."""
    if bound := _BOUND.match(error):
        return f"it must be at {'least' if bound[1] == '>=' else 'most'} {float(bound[2]):.0f}"
    return next(
        (words for kind, words in _WORDS.items() if error.startswith(f"Expected `{kind}`")), error
    )


def is_plain_url(text: str) -> bool:
    """Return whether it is a URL with a host, and without a user, password, query or fragment."""
    try:
        url = urlsplit(text)
        has_place = bool(url.hostname) and url.port != 0
    except ValueError:  # an invalid port
        return False
    is_bare = not (url.username or url.password or url.query or url.fragment)
    is_plain = text.isascii() and text.isprintable() and " " not in text
    return url.scheme in {"http", "https"} and has_place and is_bare and is_plain


def refuse_misspelt(environ: Mapping[str, str], known: set[str], *, prefix: str) -> None:
    """Refuse a name that is nearly one of ours; other programs share the prefix."""
    for name in (name for name in environ if name.startswith(prefix) and name not in known):
        if meant := difflib.get_close_matches(name, known, n=1, cutoff=0.85):
            raise ConfigError(f"{name} is not a setting; did you mean {meant[0]}?")


def is_loopback(host: str) -> bool:
    """Return whether a name or an address is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
