"""Programs that some tests need and not every machine has."""

import os
from typing import NoReturn

import pytest


def skip_without(program: str, *, untested: str, get_it: str) -> NoReturn:
    """Skip the test, which the run's last lines repeat; on CI, where all is installed, fail it."""
    why = f"{untested}: {program} is missing. To get it: {get_it}"
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
