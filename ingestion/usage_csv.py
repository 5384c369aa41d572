"""The CSV of an answer about usage, of the page Usage and of the tool queryUsage."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from finops.lib.listing import CsvTable
from ingestion.charts import row_name
from ingestion.queries.resolution import PREFIX
from ingestion.schemas import UsageAnswer


def usage_csv(answer: UsageAnswer) -> CsvTable:
    """Return the CSV of an answer with all its groups, exact quantities; without groups, of its total."""
    buckets = list(answer.quantity_series)
    group = [answer.group_by.removeprefix(PREFIX), "name"] if answer.group_by else []
    header = [*group, "metric", "aggregation", "unit", "quantity", "share", "days with data", *buckets]
    days = f"{answer.period.start_date}-{answer.period.end_date}"
    name, rows = f"usage-{answer.metric}-{days}", _csv_rows(answer, buckets)
    return CsvTable(name, header, rows, note=answer.summary, note_after="days with data")


def _csv_rows(answer: UsageAnswer, buckets: list[str]) -> Iterator[list[Any]]:
    about = [answer.metric, answer.aggregation, answer.unit]
    if not answer.group_by:
        share = Decimal(1) if answer.quantity is not None else None
        yield [*about, answer.quantity, share, answer.days_with_data, *answer.quantity_series.values()]
    for row in answer.rows:
        series = [row.quantity_series.get(day) for day in buckets]
        yield [row.value, row_name(row), *about, row.quantity, row.share, row.days_with_data, *series]
