"""What the page of an anomaly draws: the days with their band, and its causes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from finops.costs.spend_query import Filter, SpendQuery
from finops.insights.anomalies.causes import Cause, Causes
from finops.insights.models import Anomaly
from finops.lib.charts import BandLine, Line, chart_spec

ACTUAL, EXPECTED, BAND = "Actual", "Expected", "Normal range"
BEFORE_DAYS = 28


@dataclass(frozen=True)
class DayFigure:
    """A day of the chart's table."""

    day: str
    actual: Decimal
    expected: Decimal
    low: Decimal
    high: Decimal
    inside: bool

    @property
    def excess(self) -> Decimal:
        return self.actual - self.expected


@dataclass(frozen=True)
class BandChart:
    """The drawing and the figures that it draws."""

    days: list[DayFigure]
    chart: dict[str, Any]


@dataclass(frozen=True)
class CauseBar:
    """A cause with the length of its bar, 0 to 100, by the largest of its dimension."""

    cause: Cause
    width: int


@dataclass(frozen=True)
class CauseTable:
    """The causes by one dimension."""

    causes: Causes
    bars: list[CauseBar]
    other_share: Decimal | None


def days_of(anomaly: Anomaly) -> list[DayFigure]:
    first, last = str(anomaly.first_day), str(anomaly.last_day)
    return [_figure(each, inside=first <= each[0] <= last) for each in anomaly.days]


def _figure(cells: list[str], *, inside: bool) -> DayFigure:
    day, actual, expected, low, high = cells
    return DayFigure(day, Decimal(actual), Decimal(expected), Decimal(low), Decimal(high), inside)


def band_chart(anomaly: Anomaly) -> BandChart:
    """Actual cost by day against the expected one and its band; the first day is marked."""
    days = days_of(anomaly)
    lowest = min([day.actual for day in days], default=Decimal(0))
    floor = min(Decimal(0), lowest)
    chart = chart_spec(
        unit=anomaly.currency,
        labels=[day.day for day in days],
        lines=[
            Line(ACTUAL, [day.actual for day in days]),
            Line(EXPECTED, [day.expected for day in days], rest=True, dashed=True),
        ],
        line=True,
        stacked=False,
        band=BandLine(BAND, [max(floor, day.low) for day in days], [day.high for day in days]),
        mark=str(anomaly.first_day),
    )
    return BandChart(days, chart)


def spark_values(anomaly: Anomaly) -> list[Decimal | None]:
    """The days of the list's small drawing: as many before as fit."""
    return [Decimal(day[1]) for day in anomaly.days]


def cause_tables(anomaly: Anomaly, causes: list[Causes]) -> list[CauseTable]:
    return [_table(anomaly, each) for each in causes if each.rows]


def _table(anomaly: Anomaly, causes: Causes) -> CauseTable:
    largest = max((abs(row.excess) for row in causes.rows), default=Decimal(0))
    bars = [CauseBar(row, int(abs(row.excess) * 100 / largest) if largest else 0) for row in causes.rows]
    share = causes.other_excess / anomaly.impact if anomaly.impact else None
    return CauseTable(causes, bars, share)


def explorer_query(anomaly: Anomaly, through: date) -> SpendQuery:
    """The cost explorer's question about an anomaly: its scope by day and usage type, four weeks before it included."""
    return SpendQuery(
        start_date=date.fromordinal(anomaly.first_day.toordinal() - BEFORE_DAYS),
        end_date=max(anomaly.last_day, min(through, date.fromordinal(anomaly.last_day.toordinal() + 7))),
        granularity="day",
        group_by=["usage_type"],
        basis="amortized",
        charge_categories=["Usage"],
        filters=[
            Filter(dimension="source", values=[anomaly.source.name]),
            Filter(dimension=anomaly.dimension, values=[anomaly.value]),
        ],
    )
