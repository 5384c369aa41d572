from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.test import Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from finops.celery import app
from finops.lib.telemetry import context, spans
from finops.lib.telemetry.context import Work
from finops.telemetry import traces

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


class Collector(ThreadingHTTPServer):
    """An OTLP collector on this machine."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.spans: list[Any] = []


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        server: Any = self.server
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            server.spans += [span for scope in resource.scope_spans for span in scope.spans]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        return


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What it has of this process, once asked."""
    server = Collector()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    provider = traces.start("tests")

    def export_spans() -> list[Any]:
        assert provider.force_flush(20_000)
        return server.spans

    yield export_spans
    spans.use(None)
    provider.shutdown()
    server.shutdown()
    server.server_close()
    server.server_close()


def attributes(span: Any) -> dict[str, str]:
    return {each.key: each.value.string_value or str(each.value.int_value) for each in span.attributes}


@pytest.mark.django_db
def test_a_request_and_its_statements_are_spans_of_the_callers_trace(collector: Any, client: Client) -> None:
    client.get("/readyz?secret=planted", headers={"traceparent": PARENT, "X-Request-Id": "walk-5"})

    spans_sent = collector()
    (request,) = [span for span in spans_sent if span.name == "GET probes"]
    statements = [span for span in spans_sent if span.name == "postgresql"]
    assert request.trace_id.hex() == TRACE
    assert request.parent_span_id.hex() == "b7ad6b7169203331"
    assert attributes(request)["http.response.status_code"] == "200"
    assert attributes(request)["finops.request_id"] == "walk-5"
    assert {span.parent_span_id for span in statements} == {request.span_id}
    assert "planted" not in str(spans_sent)


@pytest.mark.usefixtures("collector")
def test_a_message_carries_the_trace_and_a_log_line_names_it() -> None:
    with spans.span("outer", parent=PARENT), context.work(Work("x")):
        headers: dict[str, Any] = {}
        spans.carry(headers)
        fields = spans.fields()

    assert headers["traceparent"].startswith(f"00-{TRACE}-")
    assert fields["trace_id"] == TRACE
    assert spans.fields() == {}


def test_an_error_is_marked_without_its_message(collector: Any) -> None:
    with pytest.raises(ValueError, match="planted"), spans.span("statement"):
        raise ValueError("DETAIL: Key (email)=(planted)")

    (span,) = collector()
    assert span.status.code == 2
    assert attributes(span)["error.type"] == "ValueError"
    assert b"planted" not in span.SerializeToString()


@pytest.mark.django_db
def test_a_method_of_a_strangers_invention_names_no_span(collector: Any, client: Client) -> None:
    client.generic("PLANTED", "/readyz")

    assert "_OTHER probes" in [span.name for span in collector()]
    assert "PLANTED" not in str(collector())


def test_the_service_is_named_as_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "cost-console")
    provider = traces.start("tests")
    spans.use(None)

    assert provider.resource.attributes["service.name"] == "cost-console"
    provider.shutdown()


def test_a_task_is_a_span(collector: Any) -> None:
    app.tasks["finops.note_worker"].apply()

    assert [span.name for span in collector()] == ["task finops.note_worker"]


def test_spans_are_off_by_default() -> None:
    with spans.span("anything") as span:
        assert span is None
    assert spans.fields() == {}
    assert not spans.are_on()
