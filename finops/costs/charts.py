"""From an answer about spend to what a page draws: one chart and one table for each currency."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from finops.costs.answers import SpendAnswer, SpendRow, SpendTotal

OTHER = "Other"


@dataclasses.dataclass(frozen=True)
class SeriesTable:
    """The figures of one chart: a name and one amount for each bucket (None: no data), and the total last."""

    currency: str
    labels: list[str]
    rows: list[tuple[str, list[Decimal | None], Decimal]]
    total: SpendTotal
    chart: dict[str, Any]


def largest_currency_first(answer: SpendAnswer) -> SpendAnswer:
    """The same answer, its currencies by amount: what most of the money is in comes first on a page."""
    totals = sorted(answer.totals, key=lambda total: -total.amount)
    place = {total.currency: index for index, total in enumerate(totals)}
    return replace(answer, totals=totals, rows=sorted(answer.rows, key=lambda row: place[row.currency]))


def row_name(row: SpendRow) -> str:
    """What a person calls the group: its labels where it has them, and how many `Other` sums up."""
    if row.other_groups:
        return f"{OTHER} ({row.other_groups:,})"
    return " / ".join(row.labels.get(name, value) for name, value in row.group.items())


def bucket_label(first_day: str, granularity: str) -> str:
    return first_day[:7] if granularity == "month" else first_day


def series_tables(answer: SpendAnswer) -> list[SeriesTable]:
    """One for each currency that the answer has a total in; empty for granularity none."""
    return [_table(answer, total) for total in answer.totals if total.series]


def _table(answer: SpendAnswer, total: SpendTotal) -> SeriesTable:
    days = list(total.series)
    groups = [row for row in answer.rows if row.currency == total.currency]
    rows = [(row_name(row), _values(row.series, days), row.amount) for row in groups]
    shown = rows or [(f"Total {total.currency}", _values(total.series, days), total.amount)]
    labels = [bucket_label(day, answer.granularity) for day in days]
    chart = {
        "kind": "line" if answer.granularity == "day" and len(shown) == 1 and len(labels) > 1 else "bar",
        "stacked": True,
        "currency": total.currency,
        "labels": labels,
        "series": [
            {
                "name": name,
                "values": [_number(value) for value in values],
                "rest": bool(rows) and group.other_groups > 0,
            }
            for (name, values, _amount), group in zip(shown, groups or [_NO_GROUP], strict=True)
        ],
    }
    return SeriesTable(total.currency, labels, rows, total, chart)


_NO_GROUP = SpendRow(group={}, amount=Decimal(0), currency="", share=None)


def _values(series: Mapping[str, Decimal | None], days: Sequence[str]) -> list[Decimal | None]:
    return [series.get(day) for day in days]


def _number(value: Decimal | None) -> float | None:
    """A drawing needs no more than a double; the tables beside it are exact."""
    return None if value is None else float(round(value, 6))
