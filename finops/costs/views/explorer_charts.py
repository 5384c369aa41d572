"""The cost explorer's charts: what a click on a series asks, and the days that a drag over the buckets chooses."""

from __future__ import annotations

from dataclasses import replace as with_values
from datetime import date, timedelta
from typing import Any

from msgspec.structs import replace

from finops.costs import explorer_steps
from finops.costs.answers import SpendAnswer, SpendRow
from finops.costs.charts import series_tables
from finops.costs.spend_query import SpendQuery
from finops.lib.charts import SeriesTable
from finops.lib.periods import next_bucket


def explorer_tables(query: SpendQuery, answer: SpendAnswer) -> list[SeriesTable]:
    """The charts of an answer, each series linked."""
    zoom = _zoom(query, answer)
    return [
        with_values(table, chart={**table.chart, "links": _links(query, answer, table.currency), **zoom})
        for table in series_tables(answer)
    ]


def _links(query: SpendQuery, answer: SpendAnswer, currency: str) -> list[str]:
    """A URL for each series; empty where a click leads nowhere."""
    return [_link(query, row) for row in answer.rows if row.currency == currency]


def _link(query: SpendQuery, row: SpendRow) -> str:
    if row.other_groups:
        more = explorer_steps.with_all_groups(query)
    else:
        more = explorer_steps.drill_down(query, row.group)
    return explorer_steps.url_of(more) if more else ""


def _zoom(query: SpendQuery, answer: SpendAnswer) -> dict[str, Any]:
    """The question without days, the first and last day of each bucket, and up to how many days are shown by day."""
    if not answer.totals or len(answer.totals[0].series) < 2:
        return {}
    starts = [date.fromisoformat(day) for day in answer.totals[0].series]
    ends = [next_bucket(answer.granularity, day) - timedelta(days=1) for day in starts]
    period = answer.period
    return {
        "zoom": {
            "url": explorer_steps.url_of(replace(query, period=None, start_date=None, end_date=None)),
            "from": [max(day, period.start_date).isoformat() for day in starts],
            "to": [min(day, period.end_date).isoformat() for day in ends],
            "byDay": explorer_steps.ZOOMED_TO_DAYS.get(query.granularity, 0),
        }
    }
