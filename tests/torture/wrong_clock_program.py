"""The real program on a machine whose clock is wrong.

python wrong_clock_program.py SECONDS PROGRAM COMMAND…
"""

import sys
from datetime import UTC, datetime, timedelta, tzinfo

from vskill_platform.base import clock
from vskill_platform.cli.main import main
from vskill_platform.engines.postgres import database


def skew(ahead: timedelta) -> None:
    class Skewed(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]  # only the part that is used
            return datetime.now(tz or UTC) + ahead

    for module in (clock, database):
        setattr(module, "datetime", Skewed)  # noqa: B010 - the types say that it is not theirs


if __name__ == "__main__":  # scan processes import this file, too
    _, seconds, *command = sys.argv
    skew(timedelta(seconds=float(seconds)))
    sys.argv = command
    main()
