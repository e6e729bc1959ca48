"""Is the process alive, and does it get work done."""

from litestar import Response, get
from litestar.status_codes import HTTP_200_OK, HTTP_503_SERVICE_UNAVAILABLE

from vskill_platform.model.access import Right
from vskill_platform.queue.health import Health, check_health


@get("/healthz", opt={"right": Right.ANYONE})
async def healthz() -> dict[str, str]:
    """Say that the process answers; look at nothing else."""
    return {"status": "alive"}


@get("/readyz", opt={"right": Right.ANYONE})
async def readyz() -> Response[Health]:
    """Say whether the database answers and waiting work gets done, and if not, why."""
    health = await check_health()
    status = HTTP_503_SERVICE_UNAVAILABLE if health.problems else HTTP_200_OK
    return Response(health, status_code=status)
