"""Every setting, read once from the environment; docs/settings.md explains each."""

import difflib
import os
import re
import socket
from collections.abc import Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from vskill_platform.errors import ConfigError

PREFIX = "VSKILL_"

#: Up to six digits each: a date so much later is still one that can be computed with.
_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6}(?:\.\d+)?)s)?")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    #: Where everything is kept.
    database_url: str = "sqlite:///vskill-platform.db"
    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] = 8000
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["text", "json"] = "text"
    #: How this process is called in heartbeats and histories.
    node: str = msgspec.field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}")

    max_batch_size: int = 3
    max_concurrency: int = 10
    #: How many skills are checked at the same time, each in a process of its own.
    scan_processes: int = msgspec.field(default_factory=lambda: os.cpu_count() or 1)
    max_retries: int = 3
    #: Before the n-th retry a message waits n times this long.
    retry_delay: timedelta = timedelta(seconds=10)

    # The deadlines nest: a judge that is too slow must not cost the message, nor a slow message
    # its lease, nor a lost lease the submission. check_nesting() holds them to it.
    judge_deadline: timedelta = timedelta(seconds=30)
    message_deadline: timedelta = timedelta(seconds=55)
    lease: timedelta = timedelta(seconds=85)
    stuck_threshold: timedelta = timedelta(minutes=5)
    #: How long a worker that was told to stop may finish what it holds.
    stop_grace: timedelta = timedelta(seconds=20)


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Build the settings; a wrong value stops the start and names its variable."""
    names = {variable(field.name): field for field in msgspec.structs.fields(Settings)}
    _refuse_misspelt(environ, set(names))
    values = {
        field.name: _parse(name, environ[name], field.type)
        for name, field in names.items()
        if name in environ
    }
    settings = Settings(**values)
    check_nesting(settings)
    return settings


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def check_nesting(settings: Settings) -> None:
    names = ("judge_deadline", "message_deadline", "lease", "stuck_threshold")
    for inner, outer in pairwise(names):
        if getattr(settings, inner) >= getattr(settings, outer):
            raise ConfigError(
                f"{variable(inner)} ({format_duration(getattr(settings, inner))}) must be shorter "
                f"than {variable(outer)} ({format_duration(getattr(settings, outer))})"
            )


def parse_duration(text: str) -> timedelta:
    """Read 90s, 10m, 1h30m or 1d."""
    found = _DURATION.fullmatch(text.strip())
    if not found or not text.strip():
        raise ValueError(f"{text!r} is not a duration such as 90s, 10m or 1h30m")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def format_duration(duration: timedelta) -> str:
    """Write a duration as parse_duration reads it."""
    seconds = duration.total_seconds()
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "m"), (round(rest, 3), "s")]
    return "".join(f"{amount:g}{unit}" for amount, unit in parts if amount) or "0s"


def _parse(name: str, text: str, kind: Any) -> Any:
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices and text not in choices:
        raise ConfigError(f"{name}={text}: choose one of {', '.join(choices)}")
    try:
        if kind is timedelta:
            return parse_duration(text)
        value = msgspec.convert(text, kind, strict=False)
    except (ValueError, msgspec.ValidationError) as error:
        raise ConfigError(f"{name}={text}: {error}") from error
    if kind is int and value < 1:
        raise ConfigError(f"{name}: {value} is too small, it must be at least 1")
    return value


def _refuse_misspelt(environ: Mapping[str, str], known: set[str]) -> None:
    """Stop at a name that is nearly one of ours; other programs share the prefix."""
    for name in environ:
        if name.startswith(PREFIX) and name not in known:
            meant = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
            if meant:
                raise ConfigError(f"{name} is not a setting; did you mean {meant[0]}?")
