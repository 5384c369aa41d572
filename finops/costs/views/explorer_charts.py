"""Charts of the cost explorer: the question of a click on a series, and the days that a drag over buckets selects."""

from __future__ import annotations

from dataclasses import replace as with_values
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from msgspec.structs import replace

from finops.costs import explorer_steps
from finops.costs.answers import SpendAnswer, SpendRow
from finops.costs.charts import bucket_starts, series_tables
from finops.costs.coverage import Coverage
from finops.costs.spend_forecasts import Expected
from finops.costs.spend_query import SpendQuery
from finops.lib.charts import Line, SeriesTable, series_spec
from finops.lib.money import exact_sum
from finops.lib.periods import next_bucket

REMAINING: Final = "Remaining forecast"


def explorer_tables(
    query: SpendQuery, answer: SpendAnswer, coverage: Coverage, expected: Expected
) -> list[SeriesTable]:
    """Return the charts of an answer as `forecast_tables`, with each series linked."""
    zoom = _zoom(query, answer)
    return [
        with_values(table, chart={**table.chart, "links": _links(query, answer, table.currency), **zoom})
        for table in forecast_tables(answer, coverage, expected)
    ]


def forecast_tables(answer: SpendAnswer, coverage: Coverage, expected: Expected) -> list[SeriesTable]:
    """Return the charts of an answer: incomplete buckets are hatched, with their remaining expected cost on top."""
    since = first_incomplete(answer, coverage)
    if since is None:
        return series_tables(answer)
    tables = [
        with_values(table, chart={**table.chart, "kind": "bar", "partialFrom": since})
        for table in series_tables(answer)
    ]
    return [_with_remaining(answer, table, since, expected) for table in tables]


def first_incomplete(answer: SpendAnswer, coverage: Coverage) -> int | None:
    """Return the index of the first bucket that has days incomplete for most sources, or future days."""
    through = coverage.complete_through_for_most
    if not answer.totals or through is None:
        return None
    ends = [end for _start, end in _buckets(answer)]
    return next((place for place, end in enumerate(ends) if end > through), None)


def _with_remaining(answer: SpendAnswer, table: SeriesTable, since: int, expected: Expected) -> SeriesTable:
    values: list[Decimal | None] = []
    for place, (start, _end) in enumerate(_buckets(answer)):
        whole = expected.get((table.currency, start)) if place >= since else None
        remaining = whole - (table.totals[place] or Decimal(0)) if whole is not None else None
        values.append(remaining if remaining is not None and remaining > 0 else None)
    amounts = [value for value in values if value is not None]
    if not amounts:
        return table
    line = Line(REMAINING, values, dashed=True, tone="forecast")
    row = (f"{REMAINING}, not in the total", values, exact_sum(amounts))
    return with_values(
        table,
        rows=[*table.rows, row],
        chart={**table.chart, "series": [*table.chart["series"], series_spec(line)]},
    )


def _buckets(answer: SpendAnswer) -> list[tuple[date, date]]:
    """First and last day of each bucket of the calendar."""
    return [(day, next_bucket(answer.granularity, day) - timedelta(days=1)) for day in bucket_starts(answer)]


def _links(query: SpendQuery, answer: SpendAnswer, currency: str) -> list[str]:
    """Return a URL for each series; empty if a click has no target."""
    return [_link(query, row) for row in answer.rows if row.currency == currency]


def _link(query: SpendQuery, row: SpendRow) -> str:
    if row.other_groups:
        more = explorer_steps.with_all_groups(query)
    else:
        more = explorer_steps.drill_down(query, row.group)
    return explorer_steps.url_of(more) if more else ""


def _zoom(query: SpendQuery, answer: SpendAnswer) -> dict[str, Any]:
    """Return the question without days, each bucket's first and last day, and the maximum of days shown by day."""
    if not answer.totals or len(answer.totals[0].series) < 2:
        return {}
    period, buckets = answer.period, _buckets(answer)
    return {
        "zoom": {
            "url": explorer_steps.url_of(replace(query, period=None, start_date=None, end_date=None)),
            "from": [max(day, period.start_date).isoformat() for day, _ in buckets],
            "to": [min(day, period.end_date).isoformat() for _, day in buckets],
            "byDay": explorer_steps.ZOOMED_TO_DAYS.get(query.granularity, 0),
        }
    }
