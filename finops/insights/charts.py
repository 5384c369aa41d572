"""Charts of insight pages, from their answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import msgspec

from finops.costs.spend_query import Filter, SpendQuery
from finops.insights.anomalies.causes import AnomalyCause, AnomalyEvent, Causes, place_of
from finops.insights.anomalies.display import AS_STORED, AnomalyDisplay, Cells
from finops.insights.commitments.schemas import CommitmentAnswer, CommitmentQuery, CommitmentTotal
from finops.insights.models import Anomaly
from finops.insights.spend_change import text
from finops.insights.spend_change.schemas import ChangeTotal, Move, SpendChangeAnswer
from finops.lib.chart_markers import Marker, MarkerQuestion, marked_chart, markers_of, with_markers
from finops.lib.charts import PLACES, BandLine, Line, SeriesTable, bucket_label, chart_spec, other_name
from finops.lib.formats import numbers
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange
from finops.lib.sentences import truncate

NAME_LENGTH = 28


@dataclasses.dataclass(frozen=True)
class Waterfall:
    """The change in one currency: its total, its drivers, and the chart from the previous amount to the current one."""

    total: ChangeTotal
    moves: Sequence[Move]
    data: dict[str, Any]

    @property
    def unlisted_groups(self) -> int:
        """Number of groups in the row other."""
        return sum(move.other_groups for move in self.moves)


def waterfalls(answer: SpendChangeAnswer) -> list[Waterfall]:
    """Return a waterfall for each currency, the one with the largest change first."""
    charts = [
        _waterfall(total, [move for move in answer.moves if move.currency == total.currency])
        for total in answer.totals
    ]
    return sorted(charts, key=lambda each: -abs(each.total.current_amount))


def move_name(move: Move) -> str:
    """Return the readable name of a driver."""
    return other_name(move.other_groups) if move.other_groups else text.name_of(move)


def _waterfall(total: ChangeTotal, moves: Sequence[Move]) -> Waterfall:
    """Return steps as [from, to]: the previous amount, each change added to those before, the current amount."""
    changed_moves = [move for move in moves if move.change]
    at, steps = total.previous_amount, [(Decimal(0), total.previous_amount)]
    for move in changed_moves:
        after = exact_sum([at, move.change])
        steps.append((at, after))
        at = after
    steps.append((Decimal(0), total.current_amount))
    labels = ["Before", *[truncate(move_name(move), NAME_LENGTH) for move in changed_moves], "After"]
    data = {
        "kind": "waterfall",
        "currency": total.currency,
        "money": numbers.browser_unit(total.currency),
        "labels": labels,
        "steps": [[float(round(low, PLACES)), float(round(high, PLACES))] for low, high in steps],
        "series": [],
    }
    return Waterfall(total, moves, data)


@dataclasses.dataclass(frozen=True)
class CommitmentChart:
    """One currency: used and unused commitment over time; no table for granularity none."""

    total: CommitmentTotal
    table: SeriesTable | None


def commitment_charts(answer: CommitmentAnswer, granularity: str) -> list[CommitmentChart]:
    """Return a chart for each currency, the largest commitment first."""
    totals = sorted(answer.totals, key=lambda total: -total.committed_cost)
    return [CommitmentChart(total, _utilization_series(total, granularity)) for total in totals]


def _utilization_series(total: CommitmentTotal, granularity: str) -> SeriesTable | None:
    if not total.buckets:
        return None
    labels = [bucket_label(bucket.start_date.isoformat(), granularity) for bucket in total.buckets]
    used: list[Decimal | None] = [bucket.used_cost for bucket in total.buckets]
    unused: list[Decimal | None] = [bucket.unused_cost for bucket in total.buckets]
    whole: list[Decimal | None] = [
        exact_sum([bucket.used_cost, bucket.unused_cost]) for bucket in total.buckets
    ]
    lines = [Line("Used", used), Line("Unused", unused, rest=True)]
    chart = chart_spec(unit=total.currency, labels=labels, lines=lines, line=False, stacked=True)
    rows = [("Used", used, total.used_cost), ("Unused", unused, total.unused_cost)]
    return SeriesTable(total.currency, labels, rows, whole, total.committed_cost, chart, total.currency)


def marked_commitment_charts(
    answer: CommitmentAnswer, query: CommitmentQuery
) -> tuple[list[CommitmentChart], list[Marker]]:
    """Return the charts with the events that match the days and the filters, and these events as a list. One query;
    none without a chart."""
    charts = commitment_charts(answer, query.granularity)
    tables = [each.table for each in charts if each.table]
    if not tables:
        return charts, []
    days = DateRange(answer.period.start_date, answer.period.end_date)
    markers = markers_of(MarkerQuestion(days, query.filters))
    marked = iter(with_markers(tables, markers))
    return [dataclasses.replace(each, table=next(marked)) if each.table else each for each in charts], markers


ACTUAL, EXPECTED, BAND = "Actual", "Expected", "Normal range"
CONTEXT_BEFORE, CONTEXT_AFTER = 14, 7
"""Days before and after an anomaly on its chart, or as many as it has itself."""
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
    """A chart and its figures."""

    days: list[DayFigure]
    chart: dict[str, Any]


@dataclass(frozen=True)
class CauseBar:
    """A cause with the length of its bar, 0 to 100, relative to the largest of its dimension."""

    cause: AnomalyCause
    width: int
    explorer: Mapping[str, Any]


@dataclass(frozen=True)
class CauseTable:
    """The causes by one dimension."""

    causes: Causes
    bars: list[CauseBar]
    other_share: Decimal | None


def band_chart(
    anomalies: Sequence[Anomaly], events: Sequence[AnomalyEvent] = (), display: AnomalyDisplay = AS_STORED
) -> BandChart:
    """Return actual cost by day with the expected cost and its normal range, of one anomaly or of several together:
    their days shaded, some days around them, and the changes on those days, numbered as in the list beside the chart.
    """
    first_day, last_day = min(each.first_day for each in anomalies), max(each.last_day for each in anomalies)
    first, last = str(first_day), str(last_day)
    days = [
        DayFigure(day, *amounts, first <= day <= last)
        for day, amounts in _days_around(anomalies, first_day, last_day, display)
    ]
    floor = min([Decimal(0), *(day.actual for day in days)])
    labels = [day.day for day in days]
    chart = chart_spec(
        unit=display.currency or anomalies[0].currency,
        labels=labels,
        lines=[
            Line(ACTUAL, [day.actual for day in days]),
            Line(EXPECTED, [day.expected for day in days], rest=True, dashed=True),
        ],
        line=True,
        stacked=False,
        band=BandLine(BAND, [max(floor, day.low) for day in days], [day.high for day in days]),
        shade=_shade([label for label in labels if first <= label <= last]),
        events=_event_flags(events, labels),
    )
    return BandChart(days, chart)


def with_band_markers(band: BandChart, filters: Sequence[Filter]) -> tuple[BandChart, list[Marker]]:
    """Return the chart with markers of the events on its days that match the filters, and these events as a list."""
    if not band.days:
        return band, []
    days = DateRange(date.fromisoformat(band.days[0].day), date.fromisoformat(band.days[-1].day))
    markers = markers_of(MarkerQuestion(days, filters))
    return dataclasses.replace(band, chart=marked_chart(band.chart, markers)), markers


def _shade(labels: Sequence[str]) -> tuple[str, str] | None:
    return (labels[0], labels[-1]) if labels else None


def _days_around(
    anomalies: Sequence[Anomaly], first: date, last: date, display: AnomalyDisplay
) -> Iterator[tuple[str, Cells]]:
    """Return the days that all anomalies have, with the sums of actual, expected, low and high."""
    length = (last - first).days + 1
    start = first - timedelta(days=max(CONTEXT_BEFORE, length))
    end = last + timedelta(days=max(CONTEXT_AFTER, length // 2))
    by_day = [display.days(each) for each in anomalies]
    for day in sorted(set.intersection(*map(set, by_day))):
        if start <= day <= end:
            actual, expected, low, high = (
                exact_sum(cells) for cells in zip(*(each[day] for each in by_day), strict=True)
            )
            yield str(day), (actual, expected, low, high)


def _event_flags(events: Sequence[AnomalyEvent], labels: Sequence[str]) -> list[tuple[str, str]]:
    """Return a marker for each day with changes, labeled with their numbers: `1, 2`."""
    numbers_by_day: dict[str, list[str]] = {}
    for number, event in enumerate(events, start=1):
        numbers_by_day.setdefault(str(event.at.date()), []).append(str(number))
    return [(day, ", ".join(places)) for day, places in numbers_by_day.items() if day in labels]


def spark_values(anomaly: Anomaly) -> list[Decimal | None]:
    """Return the days of the list's small chart: as many before as fit."""
    return [Decimal(day[1]) for day in anomaly.days]


def cause_tables(impact: Decimal, causes: list[Causes], explorer: SpendQuery) -> list[CauseTable]:
    """Return the causes by dimension, the finest first: a resource is more specific than its region."""
    tables = []
    for each in sorted(causes, key=lambda each: place_of(each.dimension)):
        if each.rows:
            largest = max(abs(row.excess) for row in each.rows)
            bars = [
                CauseBar(
                    row,
                    int(abs(row.excess) * 100 / largest) if largest else 0,
                    _cause_query(explorer, each.dimension, row).to_params(),
                )
                for row in each.rows
            ]
            tables.append(CauseTable(each, bars, each.other_excess / impact if impact else None))
    return tables


def _cause_query(explorer: SpendQuery, dimension: str, cause: AnomalyCause) -> SpendQuery:
    """Return the query filtered by one cause."""
    filters = [each for each in explorer.filters if each.dimension != dimension]
    return msgspec.structs.replace(
        explorer, filters=[*filters, Filter(dimension=dimension, values=[cause.value])]
    )


def explorer_query(anomalies: Sequence[Anomaly], through: date) -> SpendQuery:
    """Return the cost explorer's query for one anomaly, or several of one dimension: their scope by day and usage
    type, with the four weeks before."""
    anomaly = anomalies[0]
    first_day, last_day = min(each.first_day for each in anomalies), max(each.last_day for each in anomalies)
    return SpendQuery(
        start_date=date.fromordinal(first_day.toordinal() - BEFORE_DAYS),
        end_date=max(last_day, min(through, date.fromordinal(last_day.toordinal() + 7))),
        granularity="day",
        group_by=["usage_type"],
        basis="amortized",
        charge_categories=["Usage"],
        filters=[
            Filter(dimension="source", values=[anomaly.source.name]),
            Filter(dimension=anomaly.dimension, values=[each.value for each in anomalies]),
        ],
    )
