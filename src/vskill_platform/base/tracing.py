"""OpenTelemetry traces: one for each submission, from the request to its publication.

Tracing is on if OTEL_EXPORTER_OTLP_ENDPOINT is set. The SDK also reads its other settings (OTEL_*)
from the environment. The trace of a submission is derived from its id, so that every node adds to
the same trace without storing anything.
"""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vskill_platform.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_NANOSECONDS = 1_000_000_000

_provider: "TracerProvider | None" = None


@contextmanager
def tracing(version: str) -> Iterator[None]:
    """Send traces while the block runs, if the environment says where to."""
    global _provider  # noqa: PLW0603 - one for the process, as the library wants it
    if not any(map(os.environ.get, _ENDPOINTS)):
        yield
        return
    _provider = _make_provider(version)
    try:
        yield
    finally:
        _provider.shutdown()  # sends what is left
        _provider = None


def _make_provider(version: str) -> "TracerProvider":
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - loaded only when it is needed
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an optional dependency
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - loaded only when it is needed
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - loaded only when it is needed
    except ImportError as error:
        raise ConfigError(
            f"{_ENDPOINTS[0]} is set, but OpenTelemetry is not installed: "
            "install vskill-platform[otel]"
        ) from error
    name = os.environ.get("OTEL_SERVICE_NAME", "vskill-platform")
    provider = TracerProvider(
        resource=Resource.create({"service.name": name, "service.version": version})
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


@contextmanager
def request_span(method: str, path: str) -> "Iterator[Span | None]":
    """Trace a request; what it submits is linked to it."""
    if _provider is None:
        yield None
        return
    from opentelemetry.trace import SpanKind  # noqa: PLC0415 - loaded only when it is needed

    tracer = _provider.get_tracer(__name__)
    with tracer.start_as_current_span(
        method,
        kind=SpanKind.SERVER,
        attributes={"http.request.method": method, "url.path": path},
    ) as span:
        yield span


def end_request(span: "Span | None", method: str, route: str, status: int) -> None:
    if span is not None:
        span.update_name(f"{method} {route}")
        span.set_attribute("http.route", route)
        span.set_attribute("http.response.status_code", status)


def record_span(submission_id: str, name: str, seconds: float = 0.0, **attributes: str) -> None:
    """Add a span that has just ended to the trace of a submission."""
    if _provider is None:
        return
    from opentelemetry.trace import Link, get_current_span  # noqa: PLC0415 - loaded only when it is needed

    now = time.time_ns()
    current = get_current_span().get_span_context()
    span = _provider.get_tracer(__name__).start_span(
        name,
        context=_trace_of(submission_id),
        start_time=now - int(seconds * _NANOSECONDS),
        attributes={"vskill.submission": submission_id, **attributes},
        links=[Link(current)] if current.is_valid else [],
    )
    span.end(now)


def _trace_of(submission_id: str) -> "Context":
    from opentelemetry.trace import (  # noqa: PLC0415 - loaded only when it is needed
        NonRecordingSpan,
        SpanContext,
        TraceFlags,
        set_span_in_context,
    )

    digest = hashlib.sha256(submission_id.encode()).digest()
    parent = SpanContext(
        trace_id=int.from_bytes(digest[:16], "big"),
        span_id=int.from_bytes(digest[16:24], "big"),
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )
    return set_span_in_context(NonRecordingSpan(parent))
