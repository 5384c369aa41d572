"""Charts of usage pages: one chart of an answer, and the table of its figures."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from finops.lib.chart_markers import Marker, MarkerQuestion, markers_of, with_markers
from finops.lib.charts import PLACES, Line, SeriesTable, bucket_label, by_bucket, chart_spec, other_name
from finops.lib.formats.numbers import plural
from finops.lib.periods import DateRange
from finops.lib.sentences import truncate
from ingestion.schemas import UsageAnswer, UsageRow

SHOWN_LENGTH = 300


def row_name(row: UsageRow) -> str:
    """Return the label of a group, truncated if it is long; `Other` with the number of its groups."""
    return other_name(row.other_groups) if row.other_groups else truncate(row.name or row.value, SHOWN_LENGTH)


def usage_table(answer: UsageAnswer) -> SeriesTable | None:
    """Return the table; None for granularity none, and without any event."""
    if not answer.quantity_series or answer.data_from is None:
        return None
    days = list(answer.quantity_series)
    labels = [bucket_label(day, answer.granularity) for day in days]
    totals = by_bucket(answer.quantity_series, days)
    rows = [(row_name(row), by_bucket(row.quantity_series, days), row.quantity) for row in answer.rows]
    lines = [
        Line(row_name(row), by_bucket(row.quantity_series, days), row.other_groups > 0) for row in answer.rows
    ]
    lines = lines or [Line(answer.label or answer.metric, totals)]
    # Rows that do not add up to the total must not be stacked.
    adds_up = all(row.share is not None for row in answer.rows) or not answer.quantity
    chart = chart_spec(
        unit=plural(answer.unit or "", 2),
        labels=labels,
        lines=lines,
        line=answer.granularity == "day"
        and (_is_continuous(lines[0].values) if len(lines) == 1 else not adds_up),
        stacked=adds_up,
        places=PLACES,
    )
    return SeriesTable(answer.unit or "", labels, rows, totals, answer.quantity, chart)


def usage_days(answer: UsageAnswer) -> DateRange:
    return DateRange(answer.period.start_date, answer.period.end_date)


def marked_usage(
    tables: Sequence[SeriesTable | None], days: DateRange
) -> tuple[list[SeriesTable | None], list[Marker]]:
    """Return the charts with the change events of their days, and these events as a list. One query; none without a
    chart. Filters on usage are no dimensions of cost, so that events of all scopes match."""
    if not any(tables):
        return list(tables), []
    markers = markers_of(MarkerQuestion(days))
    return [with_markers([each], markers)[0] if each else None for each in tables], markers


def _is_continuous(values: Sequence[Decimal | None]) -> bool:
    """Return whether each value has a neighbor: a line chart does not show a single point, such as a first day."""
    present = [False, *(value is not None for value in values), False]
    return all(
        before or after
        for before, this, after in zip(present, present[1:], present[2:], strict=False)
        if this
    )
