"""Wait until the check of a submission has ended, for clients that expect a single response."""

import asyncio
import re

from vskill_platform.errors import NotFound
from vskill_platform.model.submission import IN_PROGRESS_STATES, Submission
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.live.broadcast import Broadcast, submission_topic

#: RFC 7240: `Prefer: wait=10`.
_PREFERRED = re.compile(r"(?:^|[,;\s])wait=(\d{1,6})(?:$|[,;\s])")


def wanted_seconds(request: WebRequest, *, most: float) -> float:
    """Return how long the client wants to wait."""
    found = _PREFERRED.search(request.headers.get("prefer", ""))
    return min(float(found[1]), most) if found else most


async def wait_seconds(broadcast: Broadcast, submission_id: str, seconds: float) -> Submission:
    """Call `wait_for_end` for modules of lower layers, which get it from the application."""
    return await wait_for_end(broadcast, submission_id, within_seconds=seconds)


async def wait_for_end(
    broadcast: Broadcast, submission_id: str, *, within_seconds: float
) -> Submission:
    """Return the submission when it is published, rejected or needs review, or at a timeout."""
    loop = asyncio.get_running_loop()
    until = loop.time() + within_seconds
    async with broadcast.listening([submission_topic(submission_id)]) as listener:
        while True:
            stored = await get_submission(submission_id)
            if stored is None:
                raise NotFound(f"there is no submission {submission_id!r}")
            left = until - loop.time()
            if stored.record.state not in IN_PROGRESS_STATES or left <= 0 or listener.is_closed:
                return stored.record
            try:
                await asyncio.wait_for(listener.wait(), left)
            except TimeoutError:
                continue
