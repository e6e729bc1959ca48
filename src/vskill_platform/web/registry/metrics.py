"""`/metrics` for Prometheus: for the metrics token, and for operators."""

import hmac
from collections.abc import Iterator

from litestar import Response

from vskill_platform.base.metrics import MetricReading, render_metrics
from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.errors import EngineError, NotSignedIn
from vskill_platform.queue.health import Health
from vskill_platform.settings import variable
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.mail_store import measure_mails
from vskill_platform.stores.records import Backlog
from vskill_platform.stores.webhook_store import measure_deliveries
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.registry.disk_use import measure_database, measure_disks
from vskill_platform.web.registry.probes import CachedHealth, count_credentials, is_operator


async def metrics(request: WebRequest) -> Response[bytes]:
    """Return the metrics of this node, and the state of the shared queue."""
    count_credentials(request)
    if not _has_metrics_token(request) and not await is_operator(request):
        raise NotSignedIn(
            f"metrics are for operators: send the token of {variable('metrics_token')}, or one of "
            "an operator, as a bearer token"
        )
    readings = [*await _read_queue(request), *_read_index(request), *_read_disks()]
    body, media_type = render_metrics(readings)
    return Response(body, media_type=media_type, headers={"Cache-Control": "no-store"})


def _has_metrics_token(request: WebRequest) -> bool:
    expected = get_settings().metrics_token.reveal()
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    is_bearer = scheme.lower() == "bearer" and bool(expected)
    return is_bearer and hmac.compare_digest(sent.strip().encode(), expected.encode())


async def _read_queue(request: WebRequest) -> list[MetricReading]:
    """Read the shared queue; without a database, return the other metrics anyway."""
    known: CachedHealth = request.app.state.health
    try:
        health = await known.look()
        mails, deliveries = await measure_mails(), await measure_deliveries()
    except EngineError:
        return [MetricReading("vskill_database_up", "Whether the database answers.", 0)]
    return [
        MetricReading("vskill_database_up", "Whether the database answers.", 1),
        *_queue(health),
        *_backlog("mails", "Emails", mails, counted="counted to 1,000"),
        *_backlog(
            "webhook_deliveries",
            "Deliveries of events",
            deliveries,
            counted="counted to 1,000 for each webhook",
        ),
    ]


def _backlog(name: str, what: str, found: Backlog, *, counted: str) -> Iterator[MetricReading]:
    waited = (get_now() - found.oldest).total_seconds() if found.oldest else 0
    yield MetricReading(f"vskill_{name}_waiting", f"{what} that wait, {counted}.", found.waiting)
    yield MetricReading(
        f"vskill_{name}_failed", f"{what} that are dead letters, {counted}.", found.failed
    )
    yield MetricReading(
        f"vskill_{name}_oldest_seconds", f"{what}: how long the oldest has waited.", max(waited, 0)
    )


def _queue(health: Health) -> Iterator[MetricReading]:
    stats, now = health.queue, get_now()
    for state in ("ready", "leased", "delayed", "dead"):
        yield MetricReading(
            "vskill_queue_messages",
            "Messages of submissions in the queue, on all nodes together.",
            getattr(stats, state),
            {"state": state},
        )
    for state in ("ready", "leased", "delayed"):
        yield MetricReading(
            "vskill_background_messages",
            "Rescans and additions to the similarity index, on all nodes together.",
            getattr(stats.background, state),
            {"state": state},
        )
    oldest = stats.oldest_ready_age.total_seconds() if stats.oldest_ready_age else 0
    yield MetricReading(
        "vskill_queue_oldest_seconds", "How long the oldest ready message has waited.", oldest
    )
    is_paused = stats.paused_until is not None
    yield MetricReading("vskill_queue_paused", "Whether the queue is paused.", is_paused)
    yield MetricReading(
        "vskill_queue_problems", "Problems of /healthz/queue.", len(health.problems)
    )
    yield MetricReading("vskill_workers", "Workers that are alive.", len(health.workers))
    reviews = health.reviews
    yield MetricReading(
        "vskill_reviews_waiting", "Submissions that need review, counted to 1,000.", reviews.count
    )
    waited = (now - reviews.oldest).total_seconds() if reviews.oldest else 0
    yield MetricReading(
        "vskill_reviews_oldest_seconds", "How long the oldest submission has needed review.", waited
    )


def _read_disks() -> Iterator[MetricReading]:
    settings = get_settings()
    for disk in measure_disks(settings):
        labels = {"of": disk.of}
        yield MetricReading("vskill_disk_free_bytes", "Free space on a disk.", disk.free, labels)
        yield MetricReading("vskill_disk_size_bytes", "Size of a disk.", disk.total, labels)
    if (size := measure_database(settings)) is not None:
        yield MetricReading(
            "vskill_database_bytes", "Size of the SQLite database and its log.", size
        )


def _read_index(request: WebRequest) -> Iterator[MetricReading]:
    catalogue: Catalogue | None = request.app.state.catalogue
    is_ready = catalogue is not None and catalogue.is_ready
    yield MetricReading(
        "vskill_index_ready", "Whether the search index of this node is built.", is_ready
    )
    if catalogue is None:
        return
    freshness = catalogue.freshness
    age = freshness.age.total_seconds() if freshness.age is not None else -1
    yield MetricReading(
        "vskill_index_lag_seconds", "Since when the search index is not current; -1: never.", age
    )
    yield MetricReading(
        "vskill_index_revision", "The revision that the search index has read.", freshness.revision
    )
