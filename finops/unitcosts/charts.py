"""Convert an answer about unit cost into three charts and one table for each currency."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from finops.lib.chart_markers import Marker, MarkerQuestion, marked_chart, markers_of
from finops.lib.charts import Line, bucket_label, chart_spec
from finops.lib.formats import dates
from finops.lib.formats.numbers import plural
from finops.lib.money import ratio
from finops.lib.periods import DateRange
from finops.unitcosts.answers import UnitCostAnswer, UnitCostBucket, UnitCostTotal
from finops.unitcosts.queries.cards import per_unit
from finops.unitcosts.unit_cost_query import UnitCostQuery

PLACES = 2
MOST_PLACES = 12
DIGITS = 4


@dataclasses.dataclass(frozen=True)
class Chart:
    """One chart. `about` describes it to a screen reader."""

    name: str
    title: str
    about: str
    data: dict[str, Any]

    @property
    def is_empty(self) -> bool:
        return all(value is None for series in self.data["series"] for value in series["values"])


@dataclasses.dataclass(frozen=True)
class Trend:
    """The charts of one currency, and their figures: (label, bucket, share if usage is money, such as revenue)."""

    currency: str
    labels: list[str]
    charts: list[Chart]
    rows: list[tuple[str, UnitCostBucket, Decimal | None]]
    total: UnitCostTotal


def trends(answer: UnitCostAnswer, granularity: str, unit: str) -> list[Trend]:
    """Return the charts of each currency; empty for granularity none. Usage, common to all, is in the first."""
    result = [
        _trend(
            total,
            granularity,
            unit,
            priced=per_unit(answer.per, answer.unit, answer.usage_metric),
            metric=answer.usage_metric,
        )
        for total in answer.totals
        if total.buckets
    ]
    return [*result[:1], *(dataclasses.replace(trend, charts=trend.charts[:-1]) for trend in result[1:])]


def with_trend_markers(
    trends: Sequence[Trend], answer: UnitCostAnswer, query: UnitCostQuery
) -> tuple[list[Trend], list[Marker]]:
    """Return the charts with the events that match their days and the filters on cost, and a list of these events."""
    if not trends:
        return [], []
    days = DateRange(answer.period.start_date, answer.period.end_date)
    markers = markers_of(MarkerQuestion(days, query.filters))
    return [_marked_trend(trend, markers) for trend in trends], markers


def _marked_trend(trend: Trend, markers: Sequence[Marker]) -> Trend:
    charts = [dataclasses.replace(chart, data=marked_chart(chart.data, markers)) for chart in trend.charts]
    return dataclasses.replace(trend, charts=charts)


def _trend(total: UnitCostTotal, granularity: str, unit: str, *, priced: str, metric: str) -> Trend:
    labels = [bucket_label(bucket.start_date.isoformat(), granularity) for bucket in total.buckets]
    currency = total.currency
    shares = [_share(bucket) if total.share is not None else None for bucket in total.buckets]
    if total.share is not None:
        percents = [None if share is None else share * 100 for share in shares]
        first = _chart("unit cost", f"Share of {metric}", "%", labels, percents, line=True)
    else:
        prices = [bucket.unit_cost for bucket in total.buckets]
        first = _chart("unit cost", f"Cost per {priced}", currency, labels, prices, line=True, is_money=True)
    charts = [
        first,
        _chart("cost", "Cost", currency, labels, [bucket.cost for bucket in total.buckets], is_money=True),
        _chart("usage", "Usage", unit, labels, [bucket.usage for bucket in total.buckets]),
    ]
    texts = map(dates.bucket, labels)
    return Trend(currency, labels, charts, list(zip(texts, total.buckets, shares, strict=True)), total)


def _share(bucket: UnitCostBucket) -> Decimal | None:
    """Return cost as a share of usage that is money; None if the unit cost is unknown."""
    if bucket.unit_cost is None or bucket.cost is None or not bucket.usage:
        return None
    return ratio(bucket.cost, bucket.usage)


def _chart(
    name: str,
    title: str,
    unit: str,
    labels: list[str],
    values: Sequence[Decimal | None],
    *,
    line: bool = False,
    is_money: bool = False,
) -> Chart:
    data = chart_spec(
        unit=unit if is_money else plural(unit, 2),
        labels=labels,
        lines=[Line(title, values)],
        line=line and _is_a_line(values),
        stacked=False,
        places=_places(values),
        is_money=is_money,
    )
    about = f"{name} in {unit}, {labels[0]} to {labels[-1]}. Data in the table below."
    return Chart(name.replace(" ", "-"), title, about, data)


def _is_a_line(values: Sequence[Decimal | None]) -> bool:
    """Return whether a line is visible: a single point between two gaps is not."""
    padded = [None, *values, None]
    isolated = [
        value
        for before, value, after in zip(padded, padded[1:], padded[2:], strict=False)
        if value is not None and before is None and after is None
    ]
    return not isolated


def _places(values: Sequence[Decimal | None]) -> int:
    """Return the decimal places for which the smallest value shows four significant digits."""
    sizes = [value.adjusted() for value in values if value]
    return min(MOST_PLACES, max([PLACES, *(DIGITS - 1 - size for size in sizes)])) if sizes else PLACES
