"""Is the process alive, and does it get work done."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import msgspec
from litestar import Request, Response, get
from litestar.status_codes import HTTP_200_OK, HTTP_503_SERVICE_UNAVAILABLE

from vskill_platform.errors import NotSignedIn
from vskill_platform.model.access import Right
from vskill_platform.queue.health import Health, check_health
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.web.access.identify import identify

_MOMENT = timedelta(seconds=1)


@get("/healthz", opt={"right": Right.ANYONE})
async def healthz() -> dict[str, str]:
    """Say that the process answers; look at nothing else."""
    return {"status": "alive"}


class KnownHealth:
    """What was found out a moment ago: nobody is counted here, so looking must cost little."""

    def __init__(self) -> None:
        self._looking = asyncio.Lock()
        self._found: tuple[datetime, Health] | None = None

    async def look(self) -> Health:
        async with self._looking:  # those who ask meanwhile share one look
            if self._found is None or abs(get_now() - self._found[0]) >= _MOMENT:
                self._found = (get_now(), await check_health())
            return self._found[1]


@get("/readyz", opt={"right": Right.ANYONE})
async def readyz(request: Request[Any, Any, Any]) -> Response[Health]:
    """Say whether the database answers and waiting work gets done, and if not, why."""
    known: KnownHealth = request.app.state.health
    health = await known.look()
    status = HTTP_503_SERVICE_UNAVAILABLE if health.problems else HTTP_200_OK
    if not await _is_operator(request):
        health = _without_names(health)
    return Response(health, status_code=status)


async def _is_operator(request: Request[Any, Any, Any]) -> bool:
    """Tell who asks. Nobody is looked up before the check, nor refused because of a bad token."""
    try:
        visitor = (await identify(request)).visitor
    except NotSignedIn:
        return False
    return visitor.may(Right.OPERATE, get_settings())


def _without_names(health: Health) -> Health:
    """Return how the workers are, but not on which machines they run."""
    nameless = tuple(msgspec.structs.replace(worker, node="") for worker in health.workers)
    return msgspec.structs.replace(health, workers=nameless)
