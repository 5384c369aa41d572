"""Charts of the page AI spend: billed cost by model over time, one chart for each currency."""

from __future__ import annotations

from finops.ai_spend.answers import AiSpendAnswer, AiSpendTotal
from finops.ai_spend.queries.totals import OTHER
from finops.lib.charts import Line, SeriesTable, bucket_label, chart_spec


def trends(answer: AiSpendAnswer, granularity: str) -> dict[str, SeriesTable]:
    """The trend charts by currency."""
    return {total.currency: _table(answer, total, granularity) for total in answer.totals}


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
