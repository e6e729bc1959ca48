"""Three questions of those who watch: is it alive, can this node serve, does work get done."""

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
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import identify

log = get_logger(__name__)

_MOMENT = timedelta(seconds=1)
#: How long an answer about the database is good: it takes a write.
_WRITE_EVERY = timedelta(seconds=3)
#: A database that takes longer to answer is not ready; those who ask must not wait for it.
_PATIENCE_SECONDS = 2.0


async def healthz() -> dict[str, str]:
    """Say that the process answers; look at nothing else."""
    return {"status": "alive"}


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    #: `ready` or `unavailable`.
    status: str
    #: Why this node cannot serve; the log says more.
    problems: tuple[str, ...]


class KnownReadiness:
    """Whether this node can serve, as of a few seconds ago.

    Anybody may ask as often as they like, so that all share one look at the database, and a look
    that does not end is waited for but not repeated.
    """

    def __init__(self, *, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._patience_seconds = patience_seconds
        self._looking: asyncio.Task[str] | None = None
        #: When a look ended, and the problem that it has found.
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
        if self._looking is looking:  # the first of those who share it
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
    """Say whether this node can serve: its database can be written and its index is built."""
    known: KnownReadiness = request.app.state.readiness
    readiness = await known.look(bound_env().engine, request.app.state.catalogue)
    status = HTTP_503_SERVICE_UNAVAILABLE if readiness.problems else HTTP_200_OK
    return Response(readiness, status_code=status)


class KnownHealth:
    """How the queue was a moment ago: nobody is counted here, so looking must cost little."""

    def __init__(self) -> None:
        self._looking = asyncio.Lock()
        self._found: tuple[datetime, Health] | None = None

    async def look(self) -> Health:
        async with self._looking:  # those who ask meanwhile share one look
            if self._found is None or abs(get_now() - self._found[0]) >= _MOMENT:
                self._found = (get_now(), await check_health())
            return self._found[1]


async def queue_healthz(request: WebRequest) -> Response[Health]:
    """Say whether waiting work gets done, by any node, and if not, why."""
    known: KnownHealth = request.app.state.health
    health = await known.look()
    status = HTTP_503_SERVICE_UNAVAILABLE if health.problems else HTTP_200_OK
    if not await _is_operator(request):
        health = _without_names(health)
    return Response(health, status_code=status)


async def _is_operator(request: WebRequest) -> bool:
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
