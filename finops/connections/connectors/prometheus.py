"""Prometheus and servers with its query API (Mimir, Thanos, VictoriaMetrics): a range query whose series name the
customer by a label.

The query is evaluated at the end of each day or hour (UTC), and the value counts for the day or hour before, as
`increase(x[1d])` means it. NaN and infinite samples are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Annotated, Final, Literal

import msgspec

from finops.connections.connector import ConnectorConfig, SecretText, SetupStep, SourceError
from finops.connections.transports.http import HttpApi, Params
from finops.connections.transports.metric_series import (
    STEPS,
    IsGauge,
    MetricName,
    MetricSeries,
    SeriesConnector,
    SeriesRequest,
    SeriesSettings,
)

_QUERY: Final = "sum by (tenant) (increase(http_requests_total[1d]))"


class PrometheusConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A server, a query and what its values are called."""

    url: Annotated[
        str,
        msgspec.Meta(
            title="Address",
            description="Without /api/v1. Private networks need the operator's permission.",
            examples=["https://prometheus.example.com"],
            pattern=r"^https?://[^\s?#]+$",
            max_length=500,
        ),
    ]
    query: Annotated[
        str,
        msgspec.Meta(
            title="Query",
            description="PromQL that returns series with the customer label.",
            examples=[_QUERY],
            min_length=1,
            max_length=5_000,
        ),
    ]
    customer_label: Annotated[
        str, msgspec.Meta(title="Customer label", examples=["tenant"], min_length=1, max_length=200)
    ]
    metric: MetricName
    step: Annotated[
        Literal["day", "hour"],
        msgspec.Meta(title="Step", description="Write the same range into the query: [1d] or [1h]."),
    ] = "day"
    is_gauge: IsGauge = False
    token: Annotated[
        SecretText,
        msgspec.Meta(
            title="Bearer token",
            description="If the server requires one.",
            pattern=r"^[!-~]*$",
            max_length=4_000,
        ),
    ] = ""


class _Series(msgspec.Struct, frozen=True):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Data(msgspec.Struct, frozen=True):
    resultType: str
    result: list[_Series]


class _Answer(msgspec.Struct, frozen=True):
    data: _Data


class Prometheus(SeriesConnector[PrometheusConfig]):
    name = "prometheus"
    title = "Prometheus"
    provider = "Prometheus"
    icon = "chart-line"
    docs_url = "https://prometheus.io/docs/prometheus/latest/querying/api/"
    description = "Usage: a range query with a customer label."
    order = 820
    label_noun = "label"
    Config = PrometheusConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep("Write the query", "Its series need a customer label.", _QUERY),
            SetupStep(
                "Allow this server", "Let this server reach /api/v1/query_range, over HTTPS and with a token."
            ),
        )

    def settings(self, config: PrometheusConfig) -> SeriesSettings:
        return SeriesSettings(
            metric=config.metric,
            step=STEPS[config.step],
            is_gauge=config.is_gauge,
            label=config.customer_label,
            label_field="customer_label",
            label_fix=f"Keep it in the query: sum by ({config.customer_label}) (…).",
        )

    def series(self, config: PrometheusConfig, request: SeriesRequest) -> Iterator[MetricSeries]:
        """Return series evaluated at the end of each step. Raises SourceError for a query that gives no series over time."""
        start, end = request.start + request.step, request.end
        if end < start:
            return
        params: Params = [
            ("query", config.query),
            ("start", int(start.timestamp())),
            ("end", int(end.timestamp())),
            ("step", int(request.step.total_seconds())),
        ]
        answer = request.api(_api(config)).get("/api/v1/query_range", params, _Answer).data
        if answer.resultType != "matrix":
            raise SourceError("The query gives no series over time.", field="query")
        for each in answer.result:
            labels = {name: value for name, value in each.metric.items() if name != "__name__"}
            yield MetricSeries(labels, list(_samples(each, request.step)))


def _api(config: PrometheusConfig) -> HttpApi:
    return HttpApi(
        connector=Prometheus.name,
        vendor="Prometheus",
        base_url=config.url,
        headers={"Authorization": f"Bearer {config.token}"} if config.token else {},
        secrets=(config.token,) if config.token else (),
        key_fix="Enter a token that the server accepts.",
        scope_fix="Allow the token to query.",
    )


def _samples(series: _Series, step: timedelta) -> Iterator[tuple[datetime, Decimal]]:
    for seconds, text in series.values:
        try:
            quantity = Decimal(text)
        except InvalidOperation:
            continue
        if quantity.is_finite():
            yield datetime.fromtimestamp(seconds, UTC) - step, quantity
