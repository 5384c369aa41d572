"""From an answer about usage to what a page draws: one chart, and the table of its figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from ingestion.answers import QuantitySeries, UsageAnswer, UsageRow

OTHER = "Other"
PLACES = 6


@dataclasses.dataclass(frozen=True)
class UsageTable:
    """The figures of the chart: a name, one quantity for each bucket (None: no event), and that of the whole range."""

    unit: str
    labels: list[str]
    rows: list[tuple[str, list[Decimal | None], Decimal]]
    totals: list[Decimal | None]
    chart: dict[str, Any]


def row_name(row: UsageRow) -> str:
    """What a person calls the group, and how many `Other` holds."""
    return f"{OTHER} ({row.other_groups:,})" if row.other_groups else row.name or row.value


def usage_table(answer: UsageAnswer) -> UsageTable | None:
    """None for granularity none, and without any event."""
    if not answer.quantity_series or answer.data_from is None:
        return None
    days = list(answer.quantity_series)
    labels = [day[:7] if answer.granularity == "month" else day for day in days]
    rows = [(row_name(row), _values(row.quantity_series, days), row.quantity) for row in answer.rows]
    totals = _values(answer.quantity_series, days)
    shown = [(name, values) for name, values, _whole in rows] or [(answer.label or answer.metric, totals)]
    # Rows that do not add up to the total must not stand on each other.
    adds_up = all(row.share is not None for row in answer.rows) or not answer.quantity
    chart = {
        "kind": "line" if answer.granularity == "day" and (len(shown) == 1 or not adds_up) else "bar",
        "stacked": adds_up,
        "currency": answer.unit or "",
        "places": PLACES,
        "labels": labels,
        "series": [
            {"name": name, "values": [_number(value) for value in values], "rest": index in _rest(answer)}
            for index, (name, values) in enumerate(shown)
        ],
    }
    return UsageTable(answer.unit or "", labels, rows, totals, chart)


def _rest(answer: UsageAnswer) -> list[int]:
    return [index for index, row in enumerate(answer.rows) if row.other_groups]


def _values(series: QuantitySeries, days: Sequence[str]) -> list[Decimal | None]:
    return [series.get(day) for day in days]


def _number(value: Decimal | None) -> float | None:
    """A drawing needs no more than a double; the tables beside it are exact."""
    return None if value is None else float(round(value, PLACES))
