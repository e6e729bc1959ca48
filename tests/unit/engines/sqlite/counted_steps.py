"""How much work SQLite does, in steps of its virtual machine: the same on every machine."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw


class CountedSteps:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, connection: apsw.Connection) -> None:
        connection.set_progress_handler(self._step, 1)

    def _step(self) -> bool:
        self.count += 1
        return False  # go on


@contextmanager
def counted_steps() -> Iterator[CountedSteps]:
    """Count the steps of the connections that are opened inside."""
    steps = CountedSteps()
    apsw.connection_hooks.append(steps)
    try:
        yield steps
    finally:
        apsw.connection_hooks.remove(steps)
