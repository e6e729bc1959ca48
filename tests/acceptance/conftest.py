"""An installation of the platform for each test, with nothing left running afterwards."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.program import Platform

# Who starts the tests in the background of a shell makes them, and all that they start, deaf to
# Ctrl-C. Our handlers are not inherited, so the programs get it as on a terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    platform = Platform(tmp_path)
    yield platform
    platform.end_everything()
