"""Datadog: a metrics query whose series name the customer by a tag, by the timeseries query API (v2).

Values are of whole days or hours (UTC), dated by Datadog with their start. Datadog uses a coarser interval than requested if a
query has too many points; such an answer is refused. Series without the tag, which Datadog groups as N/A, are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

import msgspec

from finops.connections.connector import HEADER_PATTERN, ConnectorConfig, SecretText, SetupStep, SourceError
from finops.connections.transports.http import HttpApi
from finops.connections.transports.metric_series import (
    STEPS,
    IsGauge,
    MetricName,
    MetricSeries,
    SeriesConnector,
    SeriesRequest,
    SeriesSettings,
    Step,
)
from finops.lib.outbound import ResponseStream
from finops.lib.sentences import truncate

_QUERY: Final = "sum:orders.created{env:prod} by {tenant}.as_count()"
_NO_TAG: Final = "N/A"
WINDOWS: Final = {"day": timedelta(days=31), "hour": timedelta(days=4)}
"""Days or hours of a request: at most a hundred values of a series."""
_MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class DatadogConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A site with two keys, a query and what its values are called."""

    site: Annotated[
        Literal[
            "datadoghq.com",
            "us3.datadoghq.com",
            "us5.datadoghq.com",
            "datadoghq.eu",
            "ap1.datadoghq.com",
            "ap2.datadoghq.com",
            "ddog-gov.com",
        ],
        msgspec.Meta(title="Site", description="As in the address of Datadog's pages."),
    ] = "datadoghq.com"
    api_key: Annotated[
        SecretText, msgspec.Meta(title="API key", min_length=20, max_length=200, pattern=HEADER_PATTERN)
    ]
    app_key: Annotated[
        SecretText,
        msgspec.Meta(
            title="Application key",
            description="With the scope timeseries_query.",
            min_length=20,
            max_length=200,
            pattern=HEADER_PATTERN,
        ),
    ]
    query: Annotated[
        str,
        msgspec.Meta(
            title="Query",
            description="Of metrics, grouped by the customer tag. Counts need as_count().",
            examples=[_QUERY],
            min_length=1,
            max_length=5_000,
        ),
    ]
    customer_tag: Annotated[
        str, msgspec.Meta(title="Customer tag", examples=["tenant"], min_length=1, max_length=200)
    ]
    metric: MetricName
    step: Step = "day"
    is_gauge: IsGauge = False


class _Group(msgspec.Struct, frozen=True):
    group_tags: list[str] = []


class _Attributes(msgspec.Struct, frozen=True):
    """Columns of an answer. `values` has a list per series with a value for each of `times` (milliseconds since
    1970); null for no value."""

    series: list[_Group] = []
    times: list[int] = []
    values: list[list[msgspec.Raw]] = []


class _Data(msgspec.Struct, frozen=True):
    attributes: _Attributes


class _Answer(msgspec.Struct, frozen=True):
    data: _Data | None = None
    errors: Any = None


class Datadog(SeriesConnector[DatadogConfig]):
    name = "datadog"
    title = "Datadog metrics"
    provider = "Datadog"
    icon = "chart-line"
    docs_url = "https://docs.datadoghq.com/api/latest/metrics/query-timeseries-data-across-multiple-products/"
    description = "Usage: a metrics query with a customer tag."
    order = 830
    label_noun = "tag"
    Config = DatadogConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Create two keys",
                "In Organization Settings, create an API key, and an application key of a service account with the scope "
                "timeseries_query and no other.",
            ),
            SetupStep("Write the query", "Group it by the tag that names the customer.", _QUERY),
        )

    def settings(self, config: DatadogConfig) -> SeriesSettings:
        return SeriesSettings(
            metric=config.metric,
            step=STEPS[config.step],
            is_gauge=config.is_gauge,
            label=config.customer_tag,
            label_field="customer_tag",
            label_fix=f"Group the query by {{{config.customer_tag}}}.",
        )

    def series(self, config: DatadogConfig, request: SeriesRequest) -> Iterator[MetricSeries]:
        api, untagged = request.api(_api(config)), set[str]()
        for start, end in request.windows(WINDOWS[config.step]):
            answer = api.post(
                "/api/v2/query/timeseries", _body(config, start, end), "application/json", _Answer
            )
            for each in _series_of(answer, start, end, request.step):
                if each.labels.get(config.customer_tag) == _NO_TAG:
                    untagged.add(str(each.labels))
                else:
                    yield each
        if untagged and request.fetch:
            request.fetch.notes.append(
                f"{len(untagged):,} series have no tag {config.customer_tag} and were left out."
            )


@dataclass(frozen=True, kw_only=True)
class _Api(HttpApi):
    """Datadog's API, which has a header of its own for the time until the next request."""

    def _error_of(self, response: ResponseStream) -> SourceError:
        error = super()._error_of(response)
        seconds = response.headers.get("x-ratelimit-reset", "")
        if response.status == 429 and error.retry_after is None and seconds.isdecimal():
            error.retry_after = float(seconds[:9]) or None
        return error


def _api(config: DatadogConfig) -> HttpApi:
    return _Api(
        connector=Datadog.name,
        vendor="Datadog",
        base_url=f"https://api.{config.site}",
        headers={"DD-API-KEY": config.api_key, "DD-APPLICATION-KEY": config.app_key},
        secrets=(config.api_key, config.app_key),
        key_fix="Check the API key and the site, and enter new keys in this connection.",
        scope_fix="The application key needs the scope timeseries_query; both keys must be of this site.",
    )


def _body(config: DatadogConfig, start: datetime, end: datetime) -> bytes:
    attributes = {
        "from": (start - _EPOCH) // _MILLISECOND,
        # Datadog's end is inclusive.
        "to": (end - _EPOCH) // _MILLISECOND - 1,
        "interval": STEPS[config.step] // _MILLISECOND,
        "queries": [{"data_source": "metrics", "name": "usage", "query": config.query}],
        "formulas": [{"formula": "usage"}],
    }
    return msgspec.json.encode({"data": {"type": "timeseries_request", "attributes": attributes}})


def _series_of(answer: _Answer, start: datetime, end: datetime, step: timedelta) -> Iterator[MetricSeries]:
    """Raises SourceError for an error in the answer, a coarser interval, and values that do not match the series."""
    if answer.errors:
        raise SourceError(f"Datadog rejected the query: {truncate(str(answer.errors), 300)}", field="query")
    if answer.data is None:
        raise SourceError("Datadog returned no data. Sync again.")
    table = answer.data.attributes
    moments = [_EPOCH + milliseconds * _MILLISECOND for milliseconds in table.times]
    if any((moment - start) % step for moment in moments):
        raise SourceError(
            "Datadog answered with other times than whole days or hours (UTC). Remove rollup() from the query.",
            field="query",
        )
    if len(table.values) != len(table.series) or any(len(row) != len(moments) for row in table.values):
        raise SourceError("Datadog returned an unexpected format. This console may need an update.")
    for group, row in zip(table.series, table.values, strict=True):
        samples = [
            (moment, quantity)
            for moment, value in zip(moments, row, strict=True)
            if start <= moment < end and (quantity := _quantity(value)) is not None
        ]
        yield MetricSeries(dict(_tag(text) for text in group.group_tags), samples)


def _tag(text: str) -> tuple[str, str]:
    name, _mark, value = text.partition(":")
    return name, value


def _quantity(value: msgspec.Raw) -> Decimal | None:
    """Return the number with the digits of the answer; None for null."""
    text = bytes(value).decode()
    return None if text == "null" else Decimal(text)
