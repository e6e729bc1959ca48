"""Traces of a submission, as a real collector on loopback receives them."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.casts import a_skill_folder
from tests.pipeline.conftest import Process
from vskill_platform.base.tracing import record_span, request_span, tracing
from vskill_platform.errors import ConfigError
from vskill_platform.model.source import folder_source

Spans = list[Span]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    received: Spans = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    received.extend(scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        yield received
        server.shutdown()
        thread.join()


async def test_every_stage_of_a_submission_is_a_span_of_one_trace(
    process: Process, tmp_path: Path, collector: Spans
) -> None:
    folder = a_skill_folder(tmp_path / "traced", "traced")

    with tracing("1.0"), request_span("POST", "/submit"):
        journey = await process(folder_source(str(folder)))

    by_name = {span.name: span for span in collector}
    assert {"submit", "fetch", "check", "compare", "process", "POST"} <= set(by_name)
    trace = hashlib.sha256(journey.submission.id.encode()).digest()[:16]
    assert {span.trace_id for name, span in by_name.items() if name != "POST"} == {trace}
    assert by_name["submit"].links[0].trace_id == by_name["POST"].trace_id
    state = {item.key: item.value.string_value for item in by_name["process"].attributes}["state"]
    assert state == "PUBLISHED"


def test_without_an_address_nothing_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)

    with tracing("1.0"), request_span("GET", "/") as span:
        record_span("sub_1", "fetch", 0.1)

    assert span is None


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setitem(
        __import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None
    )

    with pytest.raises(ConfigError, match=r"install vskill-platform\[otel\]"), tracing("1.0"):
        pass
