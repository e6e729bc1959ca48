"""Run the real program and send it a signal when it first calls a named function.

    python signal_at_function.py SIGKILL|SIGSTOP before|after MODULE:FUNCTION SECONDS_AGO COMMAND…

Its clock is SECONDS_AGO behind: whoever comes later need not wait for what a dead worker held.
"""

import functools
import importlib
import inspect
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from vskill_platform.cli.main import main

Function = Callable[..., Any]


def strike(number: str, moment: str, place: str, seconds_ago: str) -> None:
    """Let a signal come when this process gets to *place*, and let its clock be behind."""
    behind = timedelta(seconds=float(seconds_ago))
    replace(place, functools.partial(struck, number=signal.Signals[number], moment=moment))
    replace(
        "vskill_platform.base.clock:SystemClock.now",
        lambda _: lambda _self: datetime.now(UTC) - behind,
    )


def replace(place: str, make: Callable[[Function], Function]) -> None:
    """Replace a function by what *make* returns for it."""
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    owner = functools.reduce(getattr, owners, importlib.import_module(module))
    setattr(owner, name, make(getattr(owner, name)))


def struck(real: Function, *, number: signal.Signals, moment: str) -> Function:
    strikes = [number]

    def strike_if(now: str) -> None:
        if now == moment and strikes:
            os.kill(os.getpid(), strikes.pop())

    def call(*arguments: Any, **options: Any) -> Any:
        strike_if("before")
        result = real(*arguments, **options)
        strike_if("after")
        return result

    async def call_and_wait(*arguments: Any, **options: Any) -> Any:
        strike_if("before")
        result = await real(*arguments, **options)
        strike_if("after")
        return result

    return call_and_wait if inspect.iscoroutinefunction(real) else call


if __name__ == "__main__":
    program, number, moment, place, seconds_ago, *command = sys.argv
    strike(number, moment, place, seconds_ago)
    sys.argv = [program, *command]
    main()
