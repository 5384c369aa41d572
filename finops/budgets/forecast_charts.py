"""Charts of the page Forecast: actual cost, expected cost and its band, one chart for each currency."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from finops.budgets.forecast_query import ForecastQuery
from finops.budgets.queries import ForecastFigures
from finops.budgets.queries.actual_costs import sum_of_days
from finops.budgets.queries.forecast_figures import Outlook, Span, band_of
from finops.costs.coverage import buckets_of
from finops.lib.chart_markers import Marker, MarkerQuestion, marked_chart, markers_of
from finops.lib.charts import BandLine, Line, bucket_label, chart_spec
from finops.lib.forecasting import Band
from finops.lib.periods import DateRange, add_months

MOST_DAYS: Final = 100
DAYS_BEFORE: Final = 45
MONTHS_BEFORE: Final = 12
SPENT, FORECAST = "Spent", "Forecast"
BAND: Final = "80% range"


@dataclass(frozen=True)
class ChartPoint:
    """A day or a month: its actual cost, or its expected cost with a band if any of its days are forecast."""

    label: str
    spent: Decimal | None
    expected: Band | None


@dataclass(frozen=True)
class ForecastChart:
    """The chart of one currency and the figures that it draws, from `first_day` on."""

    currency: str
    points: list[ChartPoint]
    data: dict[str, Any]
    first_day: date


def charts_of(figures: ForecastFigures) -> list[ForecastChart]:
    """Return a chart per currency: by day with the weeks before, or for many days by month with the year before."""
    return [_chart(outlook, figures.span) for outlook in figures.totals]


def marked_charts_of(
    figures: ForecastFigures, query: ForecastQuery
) -> tuple[list[ForecastChart], list[Marker]]:
    """Return the charts with the events that match their days and the filters, and these events as a list. One query;
    none without a chart."""
    charts = charts_of(figures)
    if not charts:
        return [], []
    days = DateRange(min(each.first_day for each in charts), figures.span.period.end)
    markers = markers_of(MarkerQuestion(days, query.filters))
    return [dataclasses.replace(each, data=marked_chart(each.data, markers)) for each in charts], markers


def _chart(outlook: Outlook, span: Span) -> ForecastChart:
    daily = span.period.days <= MOST_DAYS
    granularity = "day" if daily else "month"
    start = min(span.period.start, span.today)
    first = start - timedelta(days=DAYS_BEFORE) if daily else add_months(start, -MONTHS_BEFORE)
    first = max(first, span.coverage.first_day or first, span.previous.start)
    points, starts = [], []
    for bucket in buckets_of(granularity, DateRange(first, span.period.end), span.coverage):
        days = DateRange(max(bucket.start, first), min(bucket.end, span.period.end))
        band = band_of(outlook, days)
        spent = None if band else sum_of_days(outlook.costs, days)
        actual = spent if bucket.has_data or spent else None
        points.append(ChartPoint(bucket_label(bucket.start.isoformat(), granularity), actual, band))
        starts.append(days.start)
    first_index = next((index for index, point in enumerate(points) if point.spent or point.expected), 0)
    shown = points[first_index:]
    first_day = starts[first_index] if shown else first
    return ForecastChart(outlook.currency, shown, _chart_data(outlook.currency, shown), first_day)


def _chart_data(currency: str, points: Sequence[ChartPoint]) -> dict[str, Any]:
    begins = next((index for index, point in enumerate(points) if point.expected), len(points))

    def value_or_last(index: int, value: Decimal | None) -> Decimal | None:
        """The value that the forecast's line starts from: the last actual one."""
        return points[index].spent if index == begins - 1 else value

    bands = [point.expected for point in points]
    means = [value_or_last(index, band.mean if band else None) for index, band in enumerate(bands)]
    lower = [value_or_last(index, band.lower if band else None) for index, band in enumerate(bands)]
    upper = [value_or_last(index, band.upper if band else None) for index, band in enumerate(bands)]
    return chart_spec(
        unit=currency,
        labels=[point.label for point in points],
        lines=[
            Line(SPENT, [point.spent for point in points]),
            Line(FORECAST, means, dashed=True, tone="like_first"),
        ],
        line=True,
        stacked=False,
        band=BandLine(BAND, lower, upper),
    )
