"""Prometheus metrics of this process; docs/monitoring.md lists them.

Until a server or worker calls `start_metrics`, nothing is measured and the library is not imported,
so that other commands start faster. With PROMETHEUS_MULTIPROC_DIR set, the processes of one node
are added up.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from prometheus_client import Counter, Gauge, Histogram
    from prometheus_client.core import GaugeMetricFamily

_MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
#: The prefix of the folder that the processes of a node share, and the name of its lock file.
_FOLDER, _LOCK = "vskill-metrics-", "lock"
_REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_CRON_BUCKETS = (0.1, 1, 10, 60, 600)
_STAGE_BUCKETS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_COMMIT_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2)
_GROUP_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class _Collectors(msgspec.Struct, frozen=True):
    requests: "Counter"
    request_seconds: "Histogram"
    stage_seconds: "Histogram"
    submissions: "Counter"
    verdicts: "Counter"
    commits: "Counter"
    commit_seconds: "Histogram"
    commit_group: "Histogram"
    cron_runs: "Counter"
    cron_seconds: "Histogram"
    cron_last_success: "Gauge"
    killed: "Counter"
    blob_operations: "Counter"
    blob_bytes: "Counter"
    exchanges: "_Outgoing"


class _Outgoing(msgspec.Struct, frozen=True):
    """Counters of emails, webhooks and requests to other registries."""

    mails: "Counter"
    deliveries: "Counter"
    mirror_fetches: "Counter"


_collectors: _Collectors | None = None


class MetricReading(msgspec.Struct, frozen=True):
    """A value that is read when Prometheus asks, such as the length of the queue."""

    name: str
    help: str
    value: float
    labels: dict[str, str] = {}


def start_metrics() -> None:
    """Start to measure."""
    global _collectors  # noqa: PLW0603 - one set for the process, as the library wants it
    if _collectors is not None:
        return
    from prometheus_client import Counter, Gauge, Histogram  # noqa: PLC0415 - see above

    _collectors = _Collectors(
        requests=Counter(
            "vskill_http_requests", "Answered requests.", ["method", "route", "status"]
        ),
        request_seconds=Histogram(
            "vskill_http_request_seconds",
            "Time until a request was answered.",
            ["route"],
            buckets=_REQUEST_BUCKETS,
        ),
        stage_seconds=Histogram(
            "vskill_pipeline_stage_seconds",
            "Time of one stage of one submission.",
            ["stage"],
            buckets=_STAGE_BUCKETS,
        ),
        submissions=Counter(
            "vskill_submissions_processed", "Submissions by the state they reached.", ["state"]
        ),
        verdicts=Counter("vskill_verdicts", "Verdicts of the scanner.", ["verdict"]),
        commits=Counter("vskill_engine_commits", "Commits of this process.", ["outcome"]),
        commit_seconds=Histogram(
            "vskill_engine_commit_seconds",
            "Time of one group of commits in the database.",
            buckets=_COMMIT_BUCKETS,
        ),
        commit_group=Histogram(
            "vskill_engine_commit_group_size",
            "Commits that shared one transaction.",
            buckets=_GROUP_BUCKETS,
        ),
        cron_runs=Counter("vskill_cron_runs", "Finished cron jobs.", ["cron_job", "outcome"]),
        cron_seconds=Histogram(
            "vskill_cron_seconds", "Time of a cron job.", ["cron_job"], buckets=_CRON_BUCKETS
        ),
        cron_last_success=Gauge(
            "vskill_cron_last_success_timestamp_seconds",
            "When a cron job last succeeded on this node.",
            ["cron_job"],
            multiprocess_mode="max",
        ),
        killed=Counter(
            "vskill_check_processes_killed",
            "Check processes that were killed or broke down.",
            ["reason"],
        ),
        blob_operations=Counter(
            "vskill_blob_operations", "Reads and writes of blobs.", ["operation", "outcome"]
        ),
        blob_bytes=Counter("vskill_blob_bytes", "Bytes of blobs.", ["operation"]),
        exchanges=_start_outgoing(),
    )
    _begin_at_zero(_collectors)


def _begin_at_zero(collectors: _Collectors) -> None:
    """Export the series of alerts at 0: Prometheus sees no increase when a new series appears."""
    exchanges = collectors.exchanges
    for counter in (exchanges.mails, exchanges.deliveries):
        counter.labels("failed")
    collectors.killed.labels("broke down")
    collectors.requests.labels("GET", "/", "500")
    for operation in ("read", "write"):
        collectors.blob_operations.labels(operation, "failed")


def _start_outgoing() -> _Outgoing:
    from prometheus_client import Counter  # noqa: PLC0415 - see above

    return _Outgoing(
        mails=Counter("vskill_mails", "Attempts to send an email.", ["outcome"]),
        deliveries=Counter(
            "vskill_webhook_deliveries", "Attempts to deliver an event.", ["outcome"]
        ),
        mirror_fetches=Counter(
            "vskill_mirror_fetches",
            "Requests to mirrored registries and downloads from them.",
            ["mirror", "step", "outcome"],
        ),
    )


def count_request(method: str, route: str, status: int, seconds: float) -> None:
    if _collectors:
        _collectors.requests.labels(method, route, str(status)).inc()
        _collectors.request_seconds.labels(route).observe(seconds)


def observe_stage(stage: str, seconds: float) -> None:
    if _collectors:
        _collectors.stage_seconds.labels(stage).observe(seconds)


def count_submission(state: str) -> None:
    if _collectors:
        _collectors.submissions.labels(state).inc()


def count_verdict(verdict: str) -> None:
    if _collectors:
        _collectors.verdicts.labels(verdict).inc()


def count_commits(outcomes: Sequence[object], seconds: float) -> None:
    """Count a group of commits; the outcome None is a commit that another one preceded."""
    if _collectors:
        refused = sum(outcome is None for outcome in outcomes)
        failed = sum(isinstance(outcome, BaseException) for outcome in outcomes)
        written = len(outcomes) - refused - failed
        for name, number in (("written", written), ("refused", refused), ("failed", failed)):
            if number:
                _collectors.commits.labels(name).inc(number)
        _collectors.commit_seconds.observe(seconds)
        _collectors.commit_group.observe(len(outcomes))


def count_cron_run(job: str, *, is_failure: bool, seconds: float, at: datetime) -> None:
    if _collectors:
        _collectors.cron_runs.labels(job, "failed").inc(is_failure)
        _collectors.cron_runs.labels(job, "ok").inc(not is_failure)
        _collectors.cron_seconds.labels(job).observe(max(seconds, 0))
        if not is_failure:
            _collectors.cron_last_success.labels(job).set(at.timestamp())


def count_killed(reason: str) -> None:
    if _collectors:
        _collectors.killed.labels(reason).inc()


def count_blob(operation: str, outcome: str, size: int = 0) -> None:
    if _collectors:
        _collectors.blob_operations.labels(operation, outcome).inc()
        _collectors.blob_bytes.labels(operation).inc(size)


def count_mail(outcome: str) -> None:
    if _collectors:
        _collectors.exchanges.mails.labels(outcome).inc()


def count_delivery(outcome: str) -> None:
    if _collectors:
        _collectors.exchanges.deliveries.labels(outcome).inc()


def count_mirror_fetch(mirror: str, step: str, outcome: str) -> None:
    if _collectors:
        _collectors.exchanges.mirror_fetches.labels(mirror, step, outcome).inc()


class _Readings:
    """A collector of values that are read for each scrape."""

    def __init__(self, readings: Iterable[MetricReading]) -> None:
        self._readings = tuple(readings)

    def collect(self) -> "Iterable[GaugeMetricFamily]":
        from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - see above

        families: dict[str, GaugeMetricFamily] = {}
        for each in self._readings:
            family = families.setdefault(
                each.name, GaugeMetricFamily(each.name, each.help, labels=tuple(each.labels))
            )
            family.add_metric(tuple(each.labels.values()), each.value)
        return families.values()


def render_metrics(readings: Iterable[MetricReading] = ()) -> tuple[bytes, str]:
    """Return all metrics in the text format of Prometheus, and its media type."""
    from prometheus_client import (  # noqa: PLC0415 - see above
        CONTENT_TYPE_LATEST,
        REGISTRY,
        CollectorRegistry,
        generate_latest,
        multiprocess,
    )

    fresh = CollectorRegistry()
    fresh.register(_Readings(readings))
    if _MULTIPROCESS not in os.environ:
        return generate_latest(REGISTRY) + generate_latest(fresh), CONTENT_TYPE_LATEST
    multiprocess.MultiProcessCollector(fresh)  # type: ignore[no-untyped-call]  # the library has no types
    return generate_latest(fresh), CONTENT_TYPE_LATEST


@contextmanager
def added_up_metrics() -> Iterator[None]:
    """Add up the metrics of all processes that are forked in this block."""
    _remove_abandoned()
    folder, owner = tempfile.mkdtemp(prefix=_FOLDER), os.getpid()
    _lock(Path(folder))
    os.environ[_MULTIPROCESS] = folder  # read by the library when a process starts to measure
    try:
        yield
    finally:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)


def _lock(folder: Path) -> None:
    """Lock a folder until this process and all its forks have ended."""
    new = folder / f"new-{_LOCK}"
    handle = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    new.rename(folder / _LOCK)  # only now, so that it never appears unlocked


def _remove_abandoned() -> None:
    """Remove the folders of killed servers, whose locks are free."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        with suppress(OSError):  # locked, or another user's
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            with open(handle, "rb") as lock:  # noqa: PTH123 - a descriptor
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


def serve_metrics(port: int, address: str) -> None:
    """Serve /metrics on a port of its own, for a worker without a web server."""
    from prometheus_client import start_http_server  # noqa: PLC0415 - see above

    start_http_server(port, address)
