"""Convert an answer about spend into one chart and one table for each currency."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from finops.costs.answers import SpendAnswer, SpendRow, SpendTotal
from finops.costs.spend_query import Filter
from finops.lib.chart_markers import Marker, MarkerQuestion, markers_of, with_markers
from finops.lib.charts import Line, SeriesTable, bucket_label, by_bucket, chart_spec, other_name
from finops.lib.periods import DateRange


def row_name(row: SpendRow) -> str:
    """Return the display name of a group: its labels if it has any, and the number of groups that `Other` sums up."""
    if row.other_groups:
        return other_name(row.other_groups)
    return " / ".join(row.labels.get(name, value) for name, value in row.group.items())


def series_tables(answer: SpendAnswer) -> list[SeriesTable]:
    """Return a table for each currency that has a total; empty for granularity none."""
    return [_table(answer, total) for total in answer.totals if total.series]


def bucket_starts(answer: SpendAnswer) -> list[date]:
    """Return the first day of each bucket; empty without buckets."""
    return [date.fromisoformat(day) for day in answer.totals[0].series] if answer.totals else []


def period_days(answer: SpendAnswer) -> DateRange:
    return DateRange(answer.period.start_date, answer.period.end_date)


def marked_tables(
    tables: Sequence[SeriesTable], answer: SpendAnswer, filters: Sequence[Filter]
) -> tuple[list[SeriesTable], list[Marker]]:
    """Return an answer's charts with the events that match its days and filters, and a list of these events."""
    markers = markers_of(MarkerQuestion(period_days(answer), filters)) if tables else []
    return with_markers(tables, markers), markers


def _table(answer: SpendAnswer, total: SpendTotal) -> SeriesTable:
    days = list(total.series)
    labels = [bucket_label(day, answer.granularity) for day in days]
    totals = by_bucket(total.series, days)
    groups = [row for row in answer.rows if row.currency == total.currency]
    rows = [(row_name(row), by_bucket(row.series, days), row.amount) for row in groups]
    lines = [Line(row_name(row), by_bucket(row.series, days), row.other_groups > 0) for row in groups]
    lines = lines or [Line(f"Total {total.currency}", totals)]
    chart = chart_spec(
        unit=total.currency,
        labels=labels,
        lines=lines,
        line=answer.granularity == "day" and len(lines) == 1 and len(labels) > 1,
        stacked=True,
    )
    return SeriesTable(total.currency, labels, rows, totals, total.amount, chart, total.currency)
