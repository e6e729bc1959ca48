"""The compare-and-set loop: read, plan, commit, and retry if another writer was faster."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import Overtaken
from vskill_platform.stores.db import commit

log = get_logger(__name__)

#: For each lost attempt another writer won, so even hundreds of writers finish. If a writer loses
#: this often, there is a bug.
MAX_ATTEMPTS = 200
#: Seconds. The pause before the next attempt is random, and its bound doubles up to the maximum,
#: so that writers that collided do not collide again.
_FIRST_PAUSE, _MAX_PAUSE = 0.001, 0.05

Result = TypeVar("Result")


class PlannedChange(msgspec.Struct, Generic[Result], frozen=True, kw_only=True):
    """What to commit, and what to return once it is committed."""

    #: Each operation expects the revision that was read. Empty if there is nothing to change.
    operations: Sequence[Operation] = ()
    result: Result


async def change(subject: str, plan: Callable[[], Awaitable[PlannedChange[Result]]]) -> Result:
    """Commit what *plan* returns; if another writer was faster, call it again for fresh records.

    An error in *plan* ends the change at once. *subject* names the changed thing in the error that
    is raised if every attempt is lost.
    """
    for attempt in range(MAX_ATTEMPTS):
        planned = await plan()
        if not planned.operations or await commit(planned.operations) is not None:
            return planned.result
        bound = min(_FIRST_PAUSE * 2 ** min(attempt, 10), _MAX_PAUSE)
        await asyncio.sleep(random.uniform(0, bound))  # noqa: S311 - not a secret
    log.error("write conflict: all attempts failed", subject=subject, attempts=MAX_ATTEMPTS)
    raise Overtaken(f"too many concurrent changes to {subject}; try again")
