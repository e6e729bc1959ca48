"""`serve`: the whole platform, web, worker and cron, in one process or in several."""

import asyncio
import math
import socket
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import uvicorn

from vskill_platform.access.first_admin import invite_first_admin, link_file
from vskill_platform.access.oidc.group_rights import close_managed_namespaces
from vskill_platform.base.metrics import added_up_metrics
from vskill_platform.base.process_limits import raise_file_limit
from vskill_platform.base.systemd import report_alive
from vskill_platform.base.telemetry import get_logger
from vskill_platform.cli.empty_values import FilledPath
from vskill_platform.cli.lazy import load
from vskill_platform.cli.node.run_parts import run_parts
from vskill_platform.cli.node.stop_signals import stop_on_signals
from vskill_platform.cli.node.supervise import ServerProcess, supervise
from vskill_platform.cli.output.terminal import echo
from vskill_platform.cli.run_command import current_settings, run_worker
from vskill_platform.cron.nodes import beat
from vskill_platform.cron.schedule import run_cron, snapshot_job
from vskill_platform.engines.open_engine import database_file
from vskill_platform.errors import ConfigError, EngineError
from vskill_platform.intake.read_source import LocalFiles, read_source
from vskill_platform.intake.submission_request import prepare_request
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import Source
from vskill_platform.queue.worker import Worker
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.scan.read.manifest import MANIFEST
from vskill_platform.setting_values import listed
from vskill_platform.settings import Settings, variable
from vskill_platform.stores.submission_store import get_source_owner
from vskill_platform.web.http.slow_clients import ConnectionQuota, protocol_with

if TYPE_CHECKING:
    from vskill_platform.catalogue.catalogue import Catalogue
    from vskill_platform.web.live.broadcast import Broadcast

log = get_logger(__name__)

MAX_PROCESSES = 64
_BACKLOG = 2048
#: Room for all open pages, and as many other requests; further requests get a 503.
_MAX_CONNECTIONS = 4_000
#: Open files reserved for everything else: uploads, fetches, checks, the database.
_OTHER_FILES = 256
_KEEP_ALIVE_SECONDS = 5
_MAX_HEAD_BYTES = 32 * 1024


@click.command()
@click.option(
    "--submit-all",
    "folder",
    type=FilledPath(exists=True, file_okay=False),
    help="Submit every skill in this folder that was not submitted yet.",
)
@click.option("--no-worker", is_flag=True, help="Do not process submissions; other nodes do.")
@click.option("--no-cron", is_flag=True, help="Do not run scheduled jobs; other nodes do.")
@click.option(
    "--processes",
    type=click.IntRange(1, MAX_PROCESSES),
    default=1,
    help="How many processes answer requests; one of them also runs worker and cron.",
)
def serve(*, folder: Path | None, no_worker: bool, no_cron: bool, processes: int) -> None:
    """Run the platform: web pages, worker and cron."""
    member = _start_many(processes) if processes > 1 else None
    is_first = member is None or member.is_first
    parts = NodeParts(worker=is_first and not no_worker, cron=is_first and not no_cron)

    async def run(env: WorkerEnv) -> None:
        with _bound(env.settings, is_shared=member is not None) as listener:
            if folder and is_first:
                places = [
                    read_source(str(path), settings=env.settings) for path in _skill_folders(folder)
                ]
                await run_with_worker_env(env, partial(_submit_new, places))
            await _run_platform(env, listener, parts, member)

    run_worker(run, process=member.number if member else None)


class NodeParts(NamedTuple):
    """The parts that run in this process in addition to the web pages."""

    worker: bool
    cron: bool

    @property
    def roles(self) -> list[str]:
        return ["web", *(name for name in self._fields if getattr(self, name))]


def _start_many(processes: int) -> ServerProcess:
    """Return in each of the new processes; in the supervisor, exit when all have ended."""
    settings = current_settings()
    with _bound(settings) as listener, _port_errors_explained(settings):
        listener.listen()  # fails if another program listens on the port, even if it is shared
    load("vskill_platform.web.app:create_app")  # loaded once, so that the memory is shared
    # The port is kept while processes are restarted.
    with _bound(settings, is_shared=True), added_up_metrics():
        return supervise(processes, grace=settings.stop_grace)


async def _run_platform(
    env: WorkerEnv, listener: socket.socket, parts: NodeParts, member: ServerProcess | None
) -> None:
    # Imported here, so that neither other commands nor scan processes load the web.
    from vskill_platform.catalogue.catalogue import open_catalogue  # noqa: PLC0415 - loaded only when it is needed
    from vskill_platform.catalogue.search_process import is_worth_a_process  # noqa: PLC0415 - loaded only when it is needed
    from vskill_platform.web.live.broadcast import open_broadcast  # noqa: PLC0415 - loaded only when it is needed

    stop = stop_on_signals(env.settings.stop_grace, control=member.control if member else None)
    async with (
        open_catalogue(env, has_search_process=is_worth_a_process()) as catalogue,
        open_broadcast(env) as broadcast,
    ):
        server = _make_server(env, catalogue, broadcast)
        if member and not member.is_first:
            # Other processes answer meanwhile; requests to this one would get an error until it is
            # ready.
            await _wait_for_either(stop, catalogue.wait_until_ready())
        with _port_errors_explained(env.settings):
            listener.listen(_BACKLOG)
        if not member or member.is_first:
            await run_with_worker_env(env, partial(_prepare_access, env.settings))
            echo(f"vskill-platform is at http://{env.settings.host}:{env.settings.port}", err=True)
        if member:
            member.report_ready()
        running = [server.serve(sockets=[listener]), _end_pages(stop, broadcast, server)]
        if parts.worker:
            running.append(Worker(env).run(stop))
        if parts.cron:
            running.append(run_cron(env, stop))
        if database_file(env.settings.database_url) is None:  # other nodes may start from it
            running.append(run_cron(env, stop, jobs=[snapshot_job(catalogue.share_snapshot)]))
        meanwhile = [beat(env, parts.roles)]
        if not member or member.is_first:
            meanwhile.append(report_alive())
        await run_parts(*running, meanwhile=meanwhile)


async def _wait_for_either(stop: asyncio.Event, ready: Coroutine[Any, Any, None]) -> None:
    waiting = [asyncio.create_task(stop.wait()), asyncio.create_task(ready)]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()


async def _end_pages(stop: asyncio.Event, broadcast: "Broadcast", server: uvicorn.Server) -> None:
    await stop.wait()
    broadcast.close()  # otherwise the server would wait for every open page
    server.should_exit = True


def _make_server(env: WorkerEnv, catalogue: "Catalogue", broadcast: "Broadcast") -> "_Server":
    from vskill_platform.web.app import collect_rarely, create_app  # noqa: PLC0415 - see above

    connections = _count_connections()
    # One less than the server's own limit, at which the server refuses every connection.
    shares = ConnectionQuota(
        in_all=connections - 1,
        each=env.settings.connections_per_address,
        proxies=listed(env.settings.trusted_proxies),
    )
    config = uvicorn.Config(
        create_app(env, catalogue=catalogue, broadcast=broadcast),
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(env.settings.trusted_proxies),
        forwarded_allow_ips=env.settings.trusted_proxies,
        http=protocol_with(shares),
        limit_concurrency=connections,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        # Otherwise one slow upload or download delays the shutdown.
        timeout_graceful_shutdown=math.ceil(env.settings.stop_grace.total_seconds()),
        h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
    )
    collect_rarely()
    return _Server(config)


def _count_connections() -> int:
    """Return the connection limit, which leaves a free descriptor to refuse further connections."""
    left = raise_file_limit()
    connections = min(_MAX_CONNECTIONS, max(left - min(left // 2, _OTHER_FILES), 2))
    if connections < _MAX_CONNECTIONS:
        log.warning(
            "few connections possible: raise the limit on open files (ulimit -n)",
            connections=connections,
        )
    return connections


async def _prepare_access(settings: Settings) -> None:
    """Close the namespaces of groups, and print the link for the first admin.

    The link is also stored in a file next to the database.
    """
    try:
        await close_managed_namespaces()
        url = await invite_first_admin(settings)
    except EngineError as error:  # pages and health checks also report it
        echo(f"Could not check whether there is an admin: {error}", err=True)
        return
    if url:
        kept = f", also kept in {path}" if (path := link_file(settings)) else ""
        echo(
            "There is no admin yet. Open this link to become the admin "
            f"(valid once, for 24 hours{kept}):",
            err=True,
        )
        echo(f"  {url}", err=True)


class _Server(uvicorn.Server):
    """Leaves the signals to us, because worker and cron also need them."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def _bound(settings: Settings, *, is_shared: bool = False) -> Iterator[socket.socket]:
    """Bind the port; if it is shared, the kernel distributes connections to its listeners."""
    with socket.socket(socket.AF_INET) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        with _port_errors_explained(settings):
            listener.bind((settings.host, settings.port))
        yield listener


@contextmanager
def _port_errors_explained(settings: Settings) -> Iterator[None]:
    """Explain errors of the port; both bind and listen fail if another program was faster."""
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {settings.host}:{settings.port} ({error.strerror}); choose another "
            f"with {variable('host')} and {variable('port')}"
        ) from error


def _skill_folders(folder: Path) -> list[Path]:
    return sorted(manifest.parent for manifest in folder.glob(f"*/{MANIFEST}"))


async def _submit_new(places: list[Source | LocalFiles]) -> None:
    for place in places:
        request = await prepare_request(place)
        if await get_source_owner(request.source) is None:
            await submit(request, submitter="serve")
