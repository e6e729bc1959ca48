"""Run one input with a time limit, and give the same failure the same name."""

import hashlib
import signal
import traceback
from types import FrameType

from fuzz.targets import FuzzTarget

#: The promise: two seconds of processor time for 64 KiB, and half a second for anything.
_SECONDS_PER_BYTE = 2 / (64 * 1024)
_LEAST_SECONDS = 0.5


class TooSlow(BaseException):
    """No Exception: nothing in the code under test may catch it."""


def allowed_seconds(target: FuzzTarget, raw: bytes) -> float:
    return max(_LEAST_SECONDS, max(len(raw), target.grows_to) * _SECONDS_PER_BYTE)


def failure_of(target: FuzzTarget, raw: bytes, *, seconds: float) -> BaseException | None:
    """Run the check; return what it raised, or TooSlow if it took more than *seconds*."""
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        target.check(raw)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what we look for
        return error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def name_of(failure: BaseException) -> str:
    """Name a failure by its kind and the places that it came through in our own code."""
    frames = [
        f"{frame.filename.rpartition('/')[2]}:{frame.name}"
        for frame in traceback.extract_tb(failure.__traceback__)
        if "vskill_platform" in frame.filename
    ]
    # Where exactly the clock ran out is chance; the ways in are not.
    places = frames[:6] if isinstance(failure, TooSlow) else frames[-2:]
    seal = hashlib.sha256("\n".join(places).encode()).hexdigest()[:8]
    where = (places[-1] if places else "check").replace(":", "-").replace("<", "").replace(">", "")
    return f"{type(failure).__name__}-{where}-{seal}"


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise TooSlow
