"""OTLP metrics requests, as protobuf or JSON. The fields have the same names in both, so that one reader is enough;
`set_field` tells which field of a oneof is set. Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from ingestion.parsing import MalformedBody, utf8_without_lone_surrogates

MAX_OBJECTS: Final = 100_000
"""Maximum number of opening braces in a JSON body. 2 MiB of empty objects would take 100 MB."""


class AnyValue(Struct, rename="camel"):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | str | None = None
    double_value: float | int | str | None = None
    array_value: Any = None
    kvlist_value: Any = None
    bytes_value: str | None = None


class KeyValue(Struct, rename="camel"):
    key: str = ""
    value: AnyValue = msgspec.field(default_factory=AnyValue)


class NumberPoint(Struct, rename="camel"):
    attributes: list[KeyValue] = []
    start_time_unix_nano: int | str = 0
    time_unix_nano: int | str = 0
    as_double: float | int | str | None = None
    as_int: int | str | None = None
    flags: int = 0


class NumberPoints(Struct, rename="camel"):
    """A sum or a gauge."""

    data_points: list[NumberPoint] = []
    aggregation_temporality: int = 0
    is_monotonic: bool = False


class OtherPoint(Struct):
    """A point of a histogram or summary, whose fields are not read."""


class OtherPoints(Struct, rename="camel"):
    data_points: list[OtherPoint] = []


class OtlpMetric(Struct, rename="camel"):
    name: str = ""
    unit: str = ""
    gauge: NumberPoints | None = None
    sum: NumberPoints | None = None
    histogram: OtherPoints | None = None
    exponential_histogram: OtherPoints | None = None
    summary: OtherPoints | None = None


class Scope(Struct, rename="camel"):
    name: str = ""
    version: str = ""
    attributes: list[KeyValue] = []


class ScopeMetrics(Struct, rename="camel"):
    scope: Scope = msgspec.field(default_factory=Scope)
    metrics: list[OtlpMetric] = []


class Resource(Struct, rename="camel"):
    attributes: list[KeyValue] = []


class ResourceMetrics(Struct, rename="camel"):
    resource: Resource = msgspec.field(default_factory=Resource)
    scope_metrics: list[ScopeMetrics] = []


class MetricsRequest(Struct, rename="camel"):
    resource_metrics: list[ResourceMetrics] = []


ONEOFS: Final = {
    "data": ("gauge", "sum", "histogram", "exponential_histogram", "summary"),
    "point": ("as_int", "as_double"),
    "attribute": (
        "string_value",
        "bool_value",
        "int_value",
        "double_value",
        "array_value",
        "kvlist_value",
        "bytes_value",
    ),
}
_JSON = msgspec.json.Decoder(MetricsRequest)


def decode_json(content: bytes) -> MetricsRequest:
    """Decode a JSON body. Raises MalformedBody."""
    try:
        body = utf8_without_lone_surrogates(content)
        if body.count(b"{") > MAX_OBJECTS:
            raise MalformedBody("too_many_events", f"The body has more than {MAX_OBJECTS:,} objects.")
        return _JSON.decode(body)
    except RecursionError:
        raise MalformedBody("invalid_json", "The body is nested too deeply.") from None
    except msgspec.ValidationError as error:
        message = f"The body is no ExportMetricsServiceRequest: {error}."
        raise MalformedBody("invalid_body", message) from None
    except msgspec.DecodeError as error:
        raise MalformedBody("invalid_json", f"The body is not JSON: {error}.") from None


def decode_protobuf(content: bytes) -> Any:
    """Decode an ExportMetricsServiceRequest. Raises MalformedBody."""
    # Imported late: most processes never get an OTLP request, and the import takes 60 ms.
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    try:
        return ExportMetricsServiceRequest.FromString(content)
    except DecodeError:
        message = "The body is no ExportMetricsServiceRequest in protobuf."
        raise MalformedBody("invalid_body", message) from None


def set_field(message: Any, oneof: str) -> str:
    """Return the name of the set field among these, empty for none."""
    names = ONEOFS[oneof]
    if isinstance(message, Struct):
        return next((name for name in names if getattr(message, name) is not None), "")
    return next((name for name in names if message.HasField(name)), "")
