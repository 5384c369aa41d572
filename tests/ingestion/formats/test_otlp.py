"""Metrics of OpenTelemetry at the push endpoint, as JSON and protobuf: which points count, whose they are, once each."""

from __future__ import annotations

import gzip
import json
import zlib
from decimal import Decimal
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client, override_settings
from google.protobuf.json_format import ParseDict
from google.rpc.status_pb2 import Status
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from ingestion import services
from ingestion.formats.otlp import PREFERENCE, check_points
from ingestion.formats.otlp_messages import decode_json, decode_protobuf
from ingestion.models import UsageBatch, UsageMetric
from ingestion.parsing import MalformedBody
from ingestion.views.otlp import JSON, PATH, PROTOBUF
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import PushClient, inbox
from tests.ingestion.test_any_push import with_examples
from tests.pages import text_of

pytestmark = pytest.mark.django_db

TIME = "time_unix_nano must be nanoseconds since 1970, of a time from 2000 to 2100"
START, END = 1763639940_000000000, 1763640000_000000000


def attributes(**texts: Any) -> list[dict[str, Any]]:
    """Attributes of texts; two underscores are a dot."""
    return [
        {"key": key.replace("__", "."), "value": value if isinstance(value, dict) else {"stringValue": value}}
        for key, value in texts.items()
    ]


def point(value: Any = 5, **fields: Any) -> dict[str, Any]:
    number = {"asDouble": value} if isinstance(value, float) else {"asInt": str(value)}
    times = {"startTimeUnixNano": str(START), "timeUnixNano": str(END)}
    whole = {"attributes": attributes(customer__id="c-1"), **number, **times, **fields}
    return {name: field for name, field in whole.items() if field is not ...}


def delta(*points: Any, name: str = "requests", **fields: Any) -> dict[str, Any]:
    data = {"dataPoints": list(points), "aggregationTemporality": 1, "isMonotonic": True}
    return {"name": name, "sum": {**data, **fields}}


def gauge(*points: Any, name: str = "seats") -> dict[str, Any]:
    return {"name": name, "gauge": {"dataPoints": list(points)}}


def request_of(*metrics: Any, **resource: Any) -> dict[str, Any]:
    scope = {"scope": {"name": "meter", "version": "1"}, "metrics": list(metrics)}
    return {
        "resourceMetrics": [{"resource": {"attributes": attributes(**resource)}, "scopeMetrics": [scope]}]
    }


def as_protobuf(request: Any) -> bytes:
    content: bytes = ParseDict(request, ExportMetricsServiceRequest()).SerializeToString()
    return content


def send(push_client: PushClient, body: Any, kind: str = JSON, **headers: str) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body) if kind == JSON else as_protobuf(body)
    all_headers = {
        "authorization": f"Bearer {push_client.key}",
        **{k.replace("_", "-"): headers[k] for k in headers},
    }
    return Client().generic("POST", PATH, content, kind, headers=all_headers)


def problem(push_client: PushClient, *metrics: Any, **resource: Any) -> str:
    """What is said of the rejected points of a request; empty where there is none."""
    answer = send(push_client, request_of(*metrics, **resource))
    assert answer.status_code == 200, answer.content
    partial = answer.json().get("partialSuccess", {})
    assert partial == {} or int(partial["rejectedDataPoints"]) > 0
    message: str = partial.get("errorMessage", "")
    return message


def test_a_delta_sum_becomes_usage_with_its_attributes_as_dimensions(push_client: PushClient) -> None:
    of_point = attributes(customer__id="c-1", region="eu", tries={"intValue": "3"}, ok={"boolValue": True})
    other = {"key": "list", "value": {"arrayValue": {"values": [{"stringValue": "a"}]}}}
    metric = {**delta(point(7, attributes=[*of_point, other])), "unit": "{request}"}

    assert problem(push_client, metric, service__name="api", telemetry__sdk__name="x", process__pid="7") == ""

    [row] = inbox()
    assert (row.customer_id, row.metric, row.quantity, row.unit) == ("c-1", "requests", Decimal(7), "request")
    assert row.event_time.isoformat() == "2025-11-20T12:00:00+00:00"
    assert row.dimensions == {"region": "eu", "tries": "3", "ok": "true", "service.name": "api"}


def test_a_gauge_counts_by_its_last_value_unless_the_account_says_otherwise(
    push_client: PushClient, cast: Cast
) -> None:
    services.set_metric(account=cast.account, actor=cast.actor, name="mine", aggregation="max")

    assert problem(push_client, gauge(point(1)), gauge(point(2.5), name="mine"), delta(point())) == ""

    aggregations = dict(UsageMetric.objects.unscoped().values_list("name", "aggregation"))
    assert aggregations == {"seats": "last", "mine": "max", "requests": "sum"}
    services.set_metric(account=cast.account, actor=cast.actor, name="seats", aggregation="sum")
    assert problem(push_client, gauge(point(3, timeUnixNano=str(END + 1)))) == ""
    assert UsageMetric.objects.unscoped().get(name="seats").aggregation == "sum"


def test_protobuf_and_json_are_the_same_points_and_count_once(push_client: PushClient) -> None:
    body = request_of(
        delta(point(), point(2.5, attributes=attributes(customer__id="c-2"))), service__name="api"
    )

    first = send(push_client, body)
    again = send(push_client, body, PROTOBUF)
    packed = send(push_client, gzip.compress(as_protobuf(body)), PROTOBUF, content_encoding="gzip")
    deflated = send(push_client, zlib.compress(as_protobuf(body)), PROTOBUF, content_encoding="deflate")

    assert (first.headers["Content-Type"], first.json()) == (JSON, {})
    for answer in (again, packed, deflated):
        assert answer.headers["Content-Type"] == PROTOBUF
        assert not ExportMetricsServiceResponse.FromString(answer.content).HasField("partial_success")
        assert answer.headers["Usage-Duplicates"] == "2"
    assert [row.quantity for row in inbox()] == [5, Decimal("2.5")]


@pytest.mark.parametrize(
    "other",
    [
        {"startTimeUnixNano": str(START - 1)},
        {"timeUnixNano": str(END + 1)},
        {"attributes": attributes(customer__id="c-1", a="b")},
    ],
    ids=["start", "end", "attributes"],
)
def test_another_identity_is_another_point(push_client: PushClient, other: dict[str, Any]) -> None:
    assert problem(push_client, delta(point(), point(**other))) == ""
    assert len(inbox()) == 2


def test_a_point_that_comes_again_with_another_value_is_rejected(push_client: PushClient) -> None:
    assert problem(push_client, delta(point(1))) == ""
    assert problem(push_client, delta(point(2))).startswith(
        "1 data point: resource, scope, metric, attributes and times must not"
    )
    assert [row.quantity for row in inbox()] == [1]


def test_metrics_that_do_not_add_up_are_rejected_with_the_setting_that_helps(push_client: PushClient) -> None:
    histogram = {"name": "h", "histogram": {"dataPoints": [{"count": "3", "explicitBounds": [1, 2]}] * 2}}
    summary = {"name": "s", "summary": {"dataPoints": [{"count": "3"}]}}
    growing = delta(point(), name="total", aggregationTemporality=2)
    falling = delta(point(), name="queue", aggregationTemporality=2, isMonotonic=False)
    unspecified = delta(point(), name="unclear", aggregationTemporality=0)

    message = problem(push_client, histogram, summary, growing, falling, unspecified, delta(point()))

    assert message == (
        f"3 data points: histograms and summaries are not accepted: record counters, sent with {PREFERENCE}, or gauges; "
        f"1 data point: cumulative sums are not accepted: set {PREFERENCE}; "
        "1 data point: cumulative sums that may fall (UpDownCounter) are not accepted: record a gauge; "
        "1 data point: aggregation_temporality must be 1 (delta)"
    )
    assert [row.metric for row in inbox()] == ["requests"]
    batch = UsageBatch.objects.unscoped().get()
    assert (batch.accepted, batch.rejected) == (1, 6)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"attributes": []}, "an attribute must name the customer: customer.id or customer_id or tenant.id or organization.id or user.id"),
        ({"attributes": attributes(customer__id="")}, "the attribute that names the customer must be a non-empty string up to 255 characters"),
        ({"timeUnixNano": ...}, f"{TIME}"),
        ({"timeUnixNano": "1763640000"}, f"{TIME}, and looks like seconds"),
        ({"timeUnixNano": 1763640000}, f"{TIME}, and looks like seconds"),
        ({"timeUnixNano": "1763640000123"}, f"{TIME}, and looks like milliseconds"),
        ({"timeUnixNano": "1763640000123456"}, f"{TIME}, and looks like microseconds"),
        ({"timeUnixNano": "946684799999999999"}, TIME),
        ({"timeUnixNano": "4133980800000000000"}, TIME),
        ({"timeUnixNano": "18446744073709551616"}, TIME),
        ({"timeUnixNano": "1763640000_000000000"}, TIME),
        ({"timeUnixNano": "-1763640000000000000"}, TIME),
        ({"timeUnixNano": "2026-11-20T12:00:00Z"}, TIME),
        ({"asInt": "1_000"}, "value must be a finite number"),
        ({"asInt": "1,5"}, "value must be a finite number"),
        ({"asInt": ..., "asDouble": "1_0.5"}, "value must be a finite number"),
        ({"asInt": ..., "asDouble": "1,5"}, "value must be a finite number"),
        ({"asInt": ...}, "value must be a finite number"),
        ({"asInt": ..., "asDouble": "NaN"}, "value must be a finite number"),
        ({"asInt": ..., "asDouble": 1e20}, "value must be below 10^20 in size, rounded to 12 decimal places"),
    ],
)  # fmt: skip
def test_a_wrong_point_is_rejected_alone(
    push_client: PushClient, fields: dict[str, Any], reason: str
) -> None:
    wrong = {**point(), **fields}
    wrong = {name: field for name, field in wrong.items() if field is not ...}

    assert problem(push_client, delta(wrong, point())) == f"1 data point: {reason}"
    assert len(inbox()) == 1


@pytest.mark.parametrize("kind", [JSON, PROTOBUF])
def test_points_in_another_unit_of_time_are_a_partial_success_in_either_format(
    push_client: PushClient, kind: str
) -> None:
    points = [point(at, timeUnixNano=str(END // 10**at)) for at in (0, 3, 6, 9)]
    ends = [point(9, timeUnixNano=str(at)) for at in (946684800_000000000, 4133980799_999999999)]

    answer = send(push_client, request_of(delta(*points, *ends)), kind)

    partial = (
        int(answer.json()["partialSuccess"]["rejectedDataPoints"])
        if kind == JSON
        else ExportMetricsServiceResponse.FromString(answer.content).partial_success.rejected_data_points
    )
    assert (answer.status_code, partial, answer.headers["Usage-Rejected"]) == (200, 3, "3")
    assert sorted(row.event_time.year for row in inbox()) == [2000, 2025, 2100]


def test_a_point_without_a_recorded_value_is_no_event_and_no_error(push_client: PushClient) -> None:
    assert problem(push_client, gauge(point(flags=1), point())) == ""
    assert len(inbox()) == 1


def test_the_source_says_which_attribute_names_the_customer(push_client: PushClient, cast: Cast) -> None:
    client = signed_in(cast.member)
    page = client.post(
        f"{push_client.page}customer-attribute/", {"customer_attribute": " team.name "}, follow=True
    )
    assert "Customer attribute saved." in text_of(page)
    of_point = attributes(customer__id="c-1", region="eu")

    assert problem(push_client, delta(point(attributes=of_point)), team__name="Search") == ""
    assert "1 data point: an attribute must name the customer: team.name" in problem(
        push_client, delta(point(8))
    )

    [row] = inbox()
    assert (row.customer_id, row.dimensions) == ("Search", {"customer.id": "c-1", "region": "eu"})


def test_the_longest_attribute_is_named_in_the_reason(push_client: PushClient, cast: Cast) -> None:
    name = "x" * 255
    services.set_customer_attribute(source=push_client.source, actor=cast.actor, customer_attribute=name)

    assert name in problem(push_client, delta(point()))


def test_an_attribute_that_is_too_long_is_refused_in_its_form(push_client: PushClient, cast: Cast) -> None:
    answer = signed_in(cast.member).post(
        f"{push_client.page}customer-attribute/", {"customer_attribute": "x" * 256}
    )

    assert "255" in text_of(answer, status=422)


@pytest.mark.parametrize("kind", [JSON, PROTOBUF])
def test_an_entirely_refused_request_gets_a_status_in_its_format(
    push_client: PushClient, cast: Cast, kind: str
) -> None:
    def refuse(body: Any, **headers: str) -> tuple[int, int]:
        answer = send(push_client, body, kind, **headers)
        assert answer.headers["Content-Type"] == kind
        if kind == JSON:
            return answer.status_code, answer.json()["code"]
        return answer.status_code, Status.FromString(answer.content).code

    good = request_of(delta(point()))
    assert refuse(b"\xff[") == (400, 3)
    assert refuse(request_of(delta(*[point()] * 1_001))) == (400, 3)
    assert refuse(b" " * (2 * 2**20 + 1)) == (413, 8)
    assert refuse(good, content_encoding="br") == (415, 3)
    assert refuse(good, authorization="Bearer fuse_nobody") == (401, 16)
    with override_settings(USAGE_RATE_LIMIT_PER_MINUTE=0):
        limited = send(push_client, good, kind)
        assert (limited.status_code, int(limited.headers["Retry-After"]) > 0) == (429, True)
    services.revoke_usage_key(source=push_client.source, actor=cast.actor)
    assert refuse(good) == (401, 16)
    assert inbox() == []


def test_storage_that_is_away_is_a_status_to_try_again(
    push_client: PushClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise OperationalError

    monkeypatch.setattr("ingestion.views.push.accept_events", fail)
    answer = send(push_client, request_of(delta(point())), PROTOBUF)

    assert (answer.status_code, Status.FromString(answer.content).code) == (503, 14)
    assert int(answer.headers["Retry-After"]) > 0


def test_other_content_types_are_refused_as_json(push_client: PushClient) -> None:
    answer = send(push_client, b"x", "text/plain")

    assert (answer.status_code, answer.headers["Content-Type"]) == (415, JSON)
    assert answer.json()["message"] == "Content-Type must be application/x-protobuf or application/json."


# Whatever is sent

values = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5), st.sampled_from(["NaN", "7", str(END)])
)  # fmt: skip
any_attributes = st.lists(
    st.fixed_dictionaries(
        {"key": st.sampled_from(["customer.id", "user.id", "", "a", "\0", "x" * 256])},
        optional={
            "value": st.dictionaries(
                st.sampled_from(
                    ["stringValue", "intValue", "boolValue", "doubleValue", "arrayValue", "bytesValue"]
                ),
                values,
                max_size=1,
            )
        },
    ),
    max_size=3,
)
any_points = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "attributes": any_attributes,
            "asInt": values,
            "asDouble": values,
            "timeUnixNano": st.just(str(END)) | values,
            "startTimeUnixNano": values,
            "flags": st.integers(-1, 2),
        },
    ),
    max_size=3,
)
any_metrics = st.builds(
    lambda name, kind, points, temporality: {"name": name, kind: {"dataPoints": points, "aggregationTemporality": temporality}},
    st.text(max_size=5) | st.just("x" * 101),
    st.sampled_from(["sum", "gauge", "histogram", "summary", "other"]),
    any_points,
    st.integers(0, 2),
)  # fmt: skip
any_requests = st.lists(any_metrics, max_size=3).map(
    lambda metrics: json.dumps(request_of(*metrics)).encode()
)
good_protobuf = as_protobuf(request_of(delta(point(), point(2.5)), gauge(point()), service__name="api"))
broken_protobuf = st.tuples(st.integers(0, len(good_protobuf)), st.binary(max_size=4)).map(
    lambda two: good_protobuf[: two[0]] + two[1] + good_protobuf[two[0] + len(two[1]) :]
)


def check_request(request: Any) -> None:
    try:
        points = check_points(request)
    except MalformedBody:
        return
    translation = points.translation
    rejected = {translation.items[each.index] for each in translation.batch.rejected}
    accepted = {translation.items[event.position] for event in translation.batch.events}
    assert rejected.isdisjoint(accepted)
    assert all(each.error for each in translation.batch.rejected)
    assert len(rejected) + len(accepted) <= translation.item_count


@with_examples(0.5)
@given(
    body=any_requests
    | st.binary(max_size=40)
    | st.integers(1, 3_000).map(lambda deep: b'{"resourceMetrics":[' * deep)
)
def test_any_json_is_validated_or_refused(body: bytes) -> None:
    try:
        request = decode_json(body)
    except MalformedBody:
        return
    check_request(request)


@with_examples(0.5)
@given(body=broken_protobuf | st.binary(max_size=60))
def test_any_protobuf_is_validated_or_refused(body: bytes) -> None:
    try:
        request = decode_protobuf(body)
    except MalformedBody:
        return
    check_request(request)
