"""OTLP data points as usage events: delta sums and gauges. Pure. docs/cloudevents-and-otlp.md has the rules."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from math import isfinite
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from ingestion.events import MAX_EVENTS
from ingestion.formats.otlp_messages import set_field
from ingestion.formats.translation import Item, Translation, check_items
from ingestion.parsing import MalformedBody

CUSTOMER_ATTRIBUTES: Final = ("customer.id", "customer_id", "tenant.id", "organization.id", "user.id")
"""Attributes that name the customer if the source does not set one; the first present attribute counts."""

PREFERENCE: Final = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta"
_CUMULATIVE: Final = f"cumulative sums are not accepted: set {PREFERENCE}"
_MAY_FALL: Final = "cumulative sums that may fall (UpDownCounter) are not accepted: record a gauge"
_UNSPECIFIED: Final = "aggregation_temporality must be 1 (delta)"
_DISTRIBUTION: Final = (
    f"histograms and summaries are not accepted: record counters, sent with {PREFERENCE}, or gauges"
)
_NO_VALUE: Final = "value must be a finite number"
_NO_TIME: Final = "time_unix_nano must be nanoseconds since 1970, of a time from 2000 to 2100"
_DELTA: Final = 1
_CUMULATIVE_TEMPORALITY: Final = 2
_NO_RECORDED_VALUE: Final = 1
_OF_THE_PROCESS: Final = ("telemetry.", "process.", "service.instance.id")
"""Resource attributes that are not dimensions: they identify the sending process, and change with each."""


@dataclasses.dataclass(frozen=True, slots=True)
class Points:
    """The points of a request, and which of its metrics are gauges."""

    translation: Translation
    gauges: frozenset[str]


class Attributes:
    """Attributes as texts by key, and all of them as an identity."""

    def __init__(self, attributes: Iterable[Any]) -> None:
        values = {attribute.key: _value(attribute.value) for attribute in attributes}
        self.identity = sorted((key, *value) for key, value in values.items())
        self.texts = {key: text for key, (kind, text) in values.items() if isinstance(text, str)}


def check_points(request: Any, customer_attribute: str = "") -> Points:
    """Check the points of a request as usage events, each separately. Raises MalformedBody for more than 1,000.

    `customer_attribute`: attribute of a point or else of its resource that names the customer. Default: the first of
    CUSTOMER_ATTRIBUTES.
    """
    metrics = list(_metrics(request))
    if sum(len(points) for *_rest, points in metrics) > MAX_EVENTS:
        raise MalformedBody("too_many_events", f"Send at most {MAX_EVENTS:,} data points in one request.")
    names = (customer_attribute,) if customer_attribute else CUSTOMER_ATTRIBUTES
    items = list[Item]()
    for resource, scope, metric, kind, points in metrics:
        problem = _problem_of(metric, kind)
        unit = metric.unit.strip("{} ")
        for point in points:
            if problem:
                items.append(
                    Item(msgspec.json.encode({"metric": metric.name, "data": kind}), problem=problem)
                )
            else:
                items.append(_item(resource, scope, metric.name, "" if unit == "1" else unit, point, names))
    gauges = frozenset(metric.name for _r, _s, metric, kind, _p in metrics if kind == "gauge")
    return Points(check_items(items, _reword), gauges)


def _metrics(request: Any) -> Iterator[tuple[Attributes, list[Any], Any, str, Any]]:
    """Yield resource, identity of the scope, metric, kind of its data, points."""
    for of_resource in request.resource_metrics:
        resource = Attributes(of_resource.resource.attributes)
        for of_scope in of_resource.scope_metrics:
            scope = of_scope.scope
            identity = [scope.name, scope.version, Attributes(scope.attributes).identity]
            for metric in of_scope.metrics:
                if kind := set_field(metric, "data"):
                    yield resource, identity, metric, kind, getattr(metric, kind).data_points


def _problem_of(metric: Any, kind: str) -> str:
    if kind == "gauge":
        return ""
    if kind != "sum":
        return _DISTRIBUTION
    if metric.sum.aggregation_temporality == _DELTA:
        return ""
    if metric.sum.aggregation_temporality != _CUMULATIVE_TEMPORALITY:
        return _UNSPECIFIED
    return _CUMULATIVE if metric.sum.is_monotonic else _MAY_FALL


def _item(
    resource: Attributes, scope: list[Any], metric: str, unit: str, point: Any, names: tuple[str, ...]
) -> Item:
    attributes = Attributes(point.attributes)
    texts = {**_dimensions(resource), **attributes.texts}
    value, start, end = (
        _number(point),
        _nanoseconds(point.start_time_unix_nano),
        _nanoseconds(point.time_unix_nano),
    )
    raw = msgspec.json.encode({"metric": metric, "attributes": texts, "value": value})
    if point.flags & _NO_RECORDED_VALUE:
        return Item(raw)
    if value is None:
        return Item(raw, problem=_NO_VALUE)
    if problem := _time_problem(end):
        return Item(raw, problem=problem)
    customer_texts = {**resource.texts, **attributes.texts}
    name = next((name for name in names if name in customer_texts), "")
    if not name:
        return Item(raw, problem=f"an attribute must name the customer: {' or '.join(names)}")
    texts.pop(name, None)
    identity = [resource.identity, scope, metric, attributes.identity, start, end]
    event = {
        "customer_id": customer_texts[name],
        "metric": metric,
        "unit": unit,
        "quantity": Raw(value.encode()),
        "dimensions": texts,
        "timestamp": _moment(end),
        "event_id": f"otlp {sha256(msgspec.msgpack.encode(identity)).hexdigest()}",
    }
    return Item(raw, [msgspec.json.encode(event)])


def _dimensions(resource: Attributes) -> dict[str, str]:
    return {key: text for key, text in resource.texts.items() if not key.startswith(_OF_THE_PROCESS)}


def _value(value: Any) -> tuple[str, str | bytes]:
    """Return the kind of an attribute and its text; bytes for values other than texts, numbers and booleans."""
    kind = set_field(value, "attribute")
    if not kind:
        return "", b""
    content = getattr(value, kind)
    if kind == "bool_value":
        return kind, "true" if content else "false"
    if kind in ("string_value", "int_value", "double_value"):
        return kind, str(content)
    if isinstance(content, bytes):
        return kind, content
    if isinstance(value, Struct):
        return kind, msgspec.json.encode(content)
    return kind, content.SerializeToString(deterministic=True)


def _number(point: Any) -> str | None:
    """Return a point's value as a JSON number; None without a value."""
    kind = set_field(point, "point")
    if kind == "as_int":
        return str(point.as_int) if _WHOLE.fullmatch(str(point.as_int)) else None
    try:
        number = float(point.as_double) if kind else float("nan")
    except (ValueError, OverflowError):
        return None
    return repr(number) if isfinite(number) and "_" not in str(point.as_double) else None


def _nanoseconds(value: int | str) -> int:
    """Return nanoseconds; 0 for an invalid time."""
    nanoseconds = int(value) if _WHOLE.fullmatch(str(value)) else 0
    return nanoseconds if 0 < nanoseconds < 2**64 else 0


def _time_problem(nanoseconds: int) -> str:
    """Return the error of a time that only a sender with another unit can mean; empty for others."""
    if _FIRST_SECOND <= nanoseconds // 10**9 < _LAST_SECOND:
        return ""
    for unit, scale in _OTHER_UNITS.items():
        if _FIRST_SECOND <= nanoseconds // scale < _LAST_SECOND:
            return f"{_NO_TIME}, and looks like {unit}"
    return _NO_TIME


_WHOLE = re.compile(r"-?[0-9]{1,20}")
_FIRST_SECOND: Final = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp())
_LAST_SECOND: Final = int(datetime(2101, 1, 1, tzinfo=UTC).timestamp())
_OTHER_UNITS: Final = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6}


def _moment(nanoseconds: int) -> str:
    seconds, remainder = divmod(nanoseconds, 10**9)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{remainder // 1000:06}Z"


_NAMES: Final = {
    "customer_id": "the attribute that names the customer",
    "metric": "the name of the metric",
    "quantity": "value",
    "timestamp": "time_unix_nano",
    "dimensions": "attributes",
    "event_id": "resource, scope, metric, attributes and times",
}
_SHOWN: Final = 5


def _reword(error: str) -> str:
    field, _, text = error.partition(" ")
    return f"{_NAMES[field]} {text}" if field in _NAMES else error


def rejection_message(errors: Iterable[str]) -> str:
    """Return the message on rejected points for the sender: each reason with its number."""
    reasons = Counter(errors).most_common()
    text = "; ".join(
        f"{count:,} data point{'s' * (count != 1)}: {reason}" for reason, count in reasons[:_SHOWN]
    )
    return f"{text}; …" if len(reasons) > _SHOWN else text
