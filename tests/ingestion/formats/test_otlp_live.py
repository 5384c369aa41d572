"""OpenTelemetry's SDK and its OTLP exporter against the real server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import Counter, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from ingestion.formats.otlp import PREFERENCE
from ingestion.models import RejectedEvent, UsageMetric, UsageSource
from ingestion.views.otlp import PATH
from tests.ingestion.push_client import inbox
from tests.servers import LiveServer

DELTA = {Counter: AggregationTemporality.DELTA}


def stored_events(lookup: str) -> list[list[str]]:
    """In the server's process: metric, customer and quantity of all that came by the source with this key."""
    source = UsageSource.objects.unscoped().get(keys__lookup=lookup)
    rows = [row for row in inbox() if row.source_id == source.pk]
    return sorted([row.metric, row.customer_id, str(row.quantity.normalize())] for row in rows)


def rejections(lookup: str) -> list[str]:
    """In the server's process: what was said of the points that the source with this key had rejected."""
    source = UsageSource.objects.unscoped().get(keys__lookup=lookup)
    return list(RejectedEvent.objects.unscoped().filter(source=source).values_list("error", flat=True))


def aggregation(name: str) -> str:
    """In the server's process."""
    return UsageMetric.objects.unscoped().get(name=name).aggregation


@pytest.fixture
def key(live_server_process: LiveServer, request: pytest.FixtureRequest) -> str:
    account = f"otlp-{sha256(request.node.name.encode()).hexdigest()[:8]}"
    plaintext: str = live_server_process.run("tests.ingestion.test_push_killed:usage_key", account)
    return plaintext


@contextmanager
def metering(server: LiveServer, key: str, **options: Any) -> Iterator[tuple[MeterProvider, Meter]]:
    exporter = OTLPMetricExporter(
        endpoint=server.url + PATH, headers={"Authorization": f"Bearer {key}"}, timeout=20, **options
    )
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = MeterProvider([reader], Resource.create({"service.name": "gateway"}), shutdown_on_exit=False)
    try:
        yield provider, provider.get_meter("tests", "1")
    finally:
        provider.shutdown()


def rows(server: LiveServer, key: str) -> list[list[str]]:
    stored_rows: list[list[str]] = server.run(
        "tests.ingestion.formats.test_otlp_live:stored_events", key[5:15]
    )
    return stored_rows


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_the_sdk_sends_counters_and_gauges(
    live_server_process: LiveServer, key: str, compression: Compression
) -> None:
    options = {"preferred_temporality": DELTA, "compression": compression}
    with metering(live_server_process, key, **options) as (provider, meter):
        requests, seats = meter.create_counter("requests", "{request}"), meter.create_gauge("seats")
        requests.add(3, {"customer.id": "c-1", "region": "eu"})
        requests.add(4, {"customer.id": "c-1", "region": "eu"})
        requests.add(0.5, {"customer.id": "c-2"})
        seats.set(9, {"customer.id": "c-1"})
        assert provider.force_flush()
        requests.add(1, {"customer.id": "c-1", "region": "eu"})
        assert provider.force_flush()

    counted = [row for row in rows(live_server_process, key) if row[0] == "requests"]
    assert counted == [["requests", "c-1", "1"], ["requests", "c-1", "7"], ["requests", "c-2", "0.5"]]
    assert ["seats", "c-1", "9"] in rows(live_server_process, key)


def test_the_gauge_of_the_sdk_counts_by_its_last_value(live_server_process: LiveServer, key: str) -> None:
    with metering(live_server_process, key) as (provider, meter):
        meter.create_gauge("open_seats_live").set(2, {"customer.id": "c-1"})
        assert provider.force_flush()

    assert (
        live_server_process.run("tests.ingestion.formats.test_otlp_live:aggregation", "open_seats_live")
        == "last"
    )


def test_a_push_of_the_sdk_without_the_setting_is_refused_with_its_name(
    live_server_process: LiveServer, key: str
) -> None:
    """The exporter takes a partial success for one, as the specification has it: nothing is sent again."""
    with metering(live_server_process, key) as (provider, meter):
        meter.create_counter("requests").add(3, {"customer.id": "c-1"})
        assert provider.force_flush()

    errors = live_server_process.run("tests.ingestion.formats.test_otlp_live:rejections", key[5:15])
    # Once by the flush, once as the provider ends.
    assert set(errors) == {f"cumulative sums are not accepted: set {PREFERENCE}"}
    assert rows(live_server_process, key) == []


def test_a_wrong_key_stores_nothing(
    live_server_process: LiveServer, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"preferred_temporality": DELTA}
    with metering(live_server_process, f"{key[:-1]}0", **options) as (provider, meter):
        meter.create_counter("requests").add(3, {"customer.id": "c-1"})
        provider.force_flush()

    assert "401" in caplog.text
    assert rows(live_server_process, key) == []
