"""Prometheus, or what has its query API (Mimir, Thanos, VictoriaMetrics): a range query whose series name the customer by a label.

The query is evaluated at the end of each day or hour (UTC), and its value is of the day or hour before, as `increase(x[1d])` means it. A sample
that is NaN or infinite is none. A look reads this month and the one before; older months are read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Annotated, Final, Literal

import msgspec

from finops.connections.checks import check_list
from finops.connections.connector import (
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Contents,
    Fetch,
    SecretText,
    SetupStep,
    SourceError,
)
from finops.connections.transports.http import HttpApi, Params
from finops.connections.transports.json_lines import usage_files
from finops.connections.transports.pages import digest_of
from finops.costs.focus.normalise import FocusFile
from finops.lib import clock
from finops.lib.periods import add_months, month_start

BACK_MONTHS: Final = 12
STEPS: Final = {"day": timedelta(days=1), "hour": timedelta(hours=1)}
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
            description="PromQL whose series have the customer label.",
            examples=[_QUERY],
            min_length=1,
            max_length=5_000,
        ),
    ]
    customer_label: Annotated[
        str, msgspec.Meta(title="Customer label", examples=["tenant"], min_length=1, max_length=200)
    ]
    metric: Annotated[
        str,
        msgspec.Meta(title="Metric", description="What is counted.", examples=["requests"], max_length=100),
    ]
    step: Annotated[
        Literal["day", "hour"],
        msgspec.Meta(title="Step", description="Write the same range into the query: [1d] or [1h]."),
    ] = "day"
    is_gauge: Annotated[
        bool, msgspec.Meta(title="Gauge", description="The last value counts, not the sum: seats, storage.")
    ] = False
    token: Annotated[
        SecretText,
        msgspec.Meta(
            title="Bearer token",
            description="If the server asks for one.",
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


class Prometheus(Connector[PrometheusConfig]):
    name = "prometheus"
    title = "Prometheus"
    provider = "Prometheus"
    icon = "chart-line"
    docs_url = "https://prometheus.io/docs/prometheus/latest/querying/api/"
    description = "Usage: a range query whose label names the customer."
    order = 820
    contents = Contents.USAGE
    changes_while_read = True
    Config = PrometheusConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep("Write the query", "Its series need the label that names the customer.", _QUERY),
            SetupStep(
                "Allow this server", "Let this server reach /api/v1/query_range, over HTTPS and with a token."
            ),
        )

    def gauges(self, config: PrometheusConfig) -> frozenset[str]:
        return frozenset({config.metric}) if config.is_gauge else frozenset()

    def check(self, config: PrometheusConfig) -> list[CheckFinding]:
        with check_list() as checks:
            day = clock.today() - timedelta(days=1)
            series = checks.attempt(
                "Run the query for yesterday", lambda: _series(_api(config).for_check(), config, day, day)
            )
            checks.attempt(
                f"Find the label {config.customer_label}",
                lambda: [_customer(each, config) for each in series],
            )
        return checks.findings

    def months(self, config: PrometheusConfig) -> list[BillMonth]:
        this_month = month_start(clock.today())
        listed = []
        for back in range(BACK_MONTHS + 1):
            month, facts = add_months(this_month, -back), ["settled"]
            if back < 2:
                facts = [f"{each.metric} {each.values}" for each in _month(_api(config), config, month)]
            listed.append(BillMonth(month, digest_of(facts)))
        return listed

    def fetch(self, config: PrometheusConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        with usage_files(fetch, month.month) as files:
            for each in _month(_api(config).for_fetch(fetch), config, month.month):
                customer = _customer(each, config)
                labels = {
                    name: value
                    for name, value in each.metric.items()
                    if value and name not in (config.customer_label, "__name__")
                }
                for moment, quantity in _samples(each, STEPS[config.step]):
                    files.add(
                        customer=customer,
                        metric=config.metric,
                        quantity=quantity,
                        moment=moment,
                        dimensions=labels or None,
                    )
        return files.files()


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


def _month(api: HttpApi, config: PrometheusConfig, month: date) -> list[_Series]:
    last = min(add_months(month, 1) - timedelta(days=1), clock.today())
    return _series(api, config, month, last)


def _series(api: HttpApi, config: PrometheusConfig, first: date, last: date) -> list[_Series]:
    """Of these days, both inside; of today until the last whole step."""
    step = STEPS[config.step]
    start = datetime(first.year, first.month, first.day, tzinfo=UTC) + step
    end = min(datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1), clock.now())
    if end < start:
        return []
    params: Params = [
        ("query", config.query),
        ("start", int(start.timestamp())),
        ("end", int(end.timestamp())),
        ("step", int(step.total_seconds())),
    ]
    answer = api.get("/api/v1/query_range", params, _Answer).data
    if answer.resultType != "matrix":
        raise SourceError("The query gives no series over time.", field="query")
    return answer.result


def _customer(series: _Series, config: PrometheusConfig) -> str:
    if not series.metric.get(config.customer_label):
        raise SourceError(
            f"A series has no label {config.customer_label}. Keep it in the query: sum by ({config.customer_label}) (…).",
            field="customer_label",
        )
    return series.metric[config.customer_label]


def _samples(series: _Series, step: timedelta) -> Iterator[tuple[datetime, Decimal]]:
    for seconds, text in series.values:
        try:
            quantity = Decimal(text)
        except InvalidOperation:
            continue
        if quantity.is_finite():
            yield datetime.fromtimestamp(seconds, UTC) - step, quantity
