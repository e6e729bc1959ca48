"""Measure how long something takes, independent of other load on the machine."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def taking_less_than(seconds: float) -> Iterator[None]:
    """Fail if the block takes more processor time, not counting the measurement of coverage."""
    tracer = sys.gettrace()
    sys.settrace(None)
    started = time.process_time()
    try:
        yield
    finally:
        taken = time.process_time() - started
        sys.settrace(tracer)
    assert taken < seconds, f"it took {taken:.1f} s"
