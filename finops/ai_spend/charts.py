"""Charts of the page AI spend: billed cost by model over time, one chart for each currency."""

from __future__ import annotations

import dataclasses

from finops.ai_spend.ai_spend_query import AiSpendQuery
from finops.ai_spend.answers import AiSpendAnswer, AiSpendTotal
from finops.ai_spend.queries.totals import OTHER
from finops.lib.chart_markers import Marker, MarkerQuestion, marked_chart, markers_of
from finops.lib.charts import Line, SeriesTable, bucket_label, chart_spec
from finops.lib.periods import DateRange


def trends(answer: AiSpendAnswer, granularity: str) -> dict[str, SeriesTable]:
    """The trend charts by currency."""
    return {total.currency: _table(answer, total, granularity) for total in answer.totals}


def marked_trends(answer: AiSpendAnswer, query: AiSpendQuery) -> tuple[dict[str, SeriesTable], list[Marker]]:
    """Return the charts by currency with the events that match the days and the filters, and these events as a list.
    One query; none without a chart."""
    tables = trends(answer, query.granularity)
    if not tables:
        return {}, []
    days = DateRange(answer.period.start_date, answer.period.end_date)
    markers = markers_of(MarkerQuestion(days, query.filters))
    return {
        currency: dataclasses.replace(table, chart=marked_chart(table.chart, markers))
        for currency, table in tables.items()
    }, markers


def _table(answer: AiSpendAnswer, total: AiSpendTotal, granularity: str) -> SeriesTable:
    buckets = list(total.series)
    labels = [bucket_label(bucket.isoformat(), granularity) for bucket in buckets]
    models = [line for line in answer.trend if line.currency == total.currency]
    chart = chart_spec(
        unit=total.currency,
        labels=labels,
        lines=[Line(line.model, list(line.series.values()), line.model == OTHER) for line in models],
        line=False,
        stacked=True,
    )
    return SeriesTable(
        unit=total.currency,
        labels=labels,
        rows=[(line.model, list(line.series.values()), line.amount) for line in models],
        totals=list(total.series.values()),
        whole=total.billed,
        chart=chart,
        currency=total.currency,
    )
