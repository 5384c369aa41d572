"""Traces by OTLP over HTTP, where OTEL_EXPORTER_OTLP_ENDPOINT is set. The SDK reads its other variables itself: sampling
(OTEL_TRACES_SAMPLER), headers (OTEL_EXPORTER_OTLP_HEADERS), the name (OTEL_SERVICE_NAME). Only this module imports it."""

from __future__ import annotations

import os

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from finops.lib.telemetry import spans


def start(program: str) -> TracerProvider:
    """Start sending spans of this process, in a thread of its own; while the collector is unavailable only spans are lost."""
    # These arguments take precedence over the environment that the SDK reads.
    service = os.environ.get("OTEL_SERVICE_NAME") or "finops"
    provider = TracerProvider(resource=Resource.create({"service.name": service, "finops.program": program}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    spans.use(provider.get_tracer("finops"))
    return provider
