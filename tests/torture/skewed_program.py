"""The real program on a machine whose clock is wrong.

python skewed_program.py SECONDS PROGRAM COMMAND…
"""

import sys
import time
from datetime import UTC, datetime, timedelta, tzinfo

from vskill_platform.base import clock
from vskill_platform.cli.main import main
from vskill_platform.engines.postgres import database

_, seconds, *command = sys.argv
_AHEAD = timedelta(seconds=float(seconds))
_REAL_TIME = time.time


class Skewed(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz or UTC) + _AHEAD


for module in (clock, database):
    setattr(module, "datetime", Skewed)  # noqa: B010 - the types say that it is not theirs
time.time = lambda: _REAL_TIME() + _AHEAD.total_seconds()
sys.argv = command
main()
