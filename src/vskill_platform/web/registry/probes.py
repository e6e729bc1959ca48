"""Health probes: liveness, readiness of this node, and progress of the queue."""

import asyncio
from datetime import datetime, timedelta

import msgspec
from litestar import Response
from litestar.status_codes import HTTP_200_OK, HTTP_503_SERVICE_UNAVAILABLE

from vskill_platform.base.telemetry import get_logger
from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import EngineError, NotSignedIn
from vskill_platform.model.rights import Right
from vskill_platform.queue.health import Health, check_health
from vskill_platform.stores.db import bound_env, get_now, get_settings
from vskill_platform.web.http.rate_limits import address_key, limits_of
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import SESSION_COOKIE, address_of, identify

log = get_logger(__name__)

_MOMENT = timedelta(seconds=1)
#: How long a result is reused, because the check writes to the database.
_WRITE_EVERY = timedelta(seconds=3)
#: A database that takes longer is not ready, because probes must not wait.
_PATIENCE_SECONDS = 2.0


async def healthz() -> dict[str, str]:
    """Report that the process responds; check nothing else."""
    return {"status": "alive"}


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    #: `ready` or `unavailable`.
    status: str
    #: Why this node cannot serve; the log has the details.
    problems: tuple[str, ...]


class CachedReadiness:
    """Whether this node can serve, cached for a few seconds.

    Probes are not rate limited, so they share one check of the database. A hanging check is not
    started again.
    """

    def __init__(self, *, timeout_seconds: float = _PATIENCE_SECONDS) -> None:
        self._patience_seconds = timeout_seconds
        self._looking: asyncio.Task[str] | None = None
        #: When the last check ended, and its problem.
        self._found: tuple[datetime, str] | None = None
        self._logged: tuple[str, ...] = ()

    async def look(self, engine: Engine, catalogue: Catalogue | None) -> Readiness:
        problems = [await self._problem_of(engine)]
        if catalogue is None or not catalogue.is_ready:
            problems.append("the search index is being built")
        found = tuple(filter(None, problems))
        if found != self._logged:
            self._logged = found
            log.warning("node is not ready", problems=found) if found else log.info("node is ready")
        return Readiness(status="unavailable" if found else "ready", problems=found)

    async def _problem_of(self, engine: Engine) -> str:
        if self._found and abs(get_now() - self._found[0]) < _WRITE_EVERY:
            return self._found[1]
        looking = self._looking = self._looking or asyncio.create_task(_find_problem(engine))
        await asyncio.wait([looking], timeout=self._patience_seconds)
        if not looking.done():
            return "the database does not respond"
        if self._looking is looking:  # the first one that shares the check
            self._looking, self._found = None, (get_now(), looking.result())
        return looking.result()


async def _find_problem(engine: Engine) -> str:
    try:
        await engine.check_writable()
    except EngineError as error:
        log.error("database cannot be written", error=str(error))
        return "the database cannot be written"
    return ""


async def readyz(request: WebRequest) -> Response[Readiness]:
    """Report whether this node can serve: database writable, search index built."""
    known: CachedReadiness = request.app.state.readiness
    readiness = await known.look(bound_env().engine, request.app.state.catalogue)
    status = HTTP_503_SERVICE_UNAVAILABLE if readiness.problems else HTTP_200_OK
    return Response(readiness, status_code=status)


class CachedHealth:
    """The health of the queue, cached for a second, because probes are not rate limited."""

    def __init__(self) -> None:
        self._looking = asyncio.Lock()
        self._found: tuple[datetime, Health] | None = None

    async def look(self) -> Health:
        async with self._looking:  # concurrent requests share one check
            if self._found is None or abs(get_now() - self._found[0]) >= _MOMENT:
                self._found = (get_now(), await check_health())
            return self._found[1]


async def queue_healthz(request: WebRequest) -> Response[Health]:
    """Report whether queued work is processed by any node, and if not, why."""
    known: CachedHealth = request.app.state.health
    health = await known.look()
    status = HTTP_503_SERVICE_UNAVAILABLE if health.problems else HTTP_200_OK
    count_credentials(request)
    if not await is_operator(request):
        health = _without_names(health)
    return Response(health, status_code=status)


def count_credentials(request: WebRequest) -> None:
    """Count a request that could guess a token: probes are not rate limited, but guesses are."""
    if "authorization" in request.headers or SESSION_COOKIE in request.cookies:
        limits_of(request).take(
            "probe",
            address_key(address_of(request)),
            per_minute=get_settings().reads_per_minute,
            now=get_now(),
        )


async def is_operator(request: WebRequest) -> bool:
    """Return whether the visitor is an operator; an invalid token is ignored here."""
    try:
        visitor = (await identify(request)).visitor
    except NotSignedIn:
        return False
    return visitor.may(Right.OPERATE, get_settings())


def _without_names(health: Health) -> Health:
    """Return the health without node names."""
    nameless = tuple(msgspec.structs.replace(worker, node="") for worker in health.workers)
    return msgspec.structs.replace(health, workers=nameless)
