"""The CSV of an answer about unit cost, of the page Unit economics and of the tool queryUnitCost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from finops.exchange_rates.csv_columns import CsvRow, original_amounts
from finops.exchange_rates.display import Display
from finops.lib.listing import CsvTable
from finops.unitcosts.answers import UnitCostAnswer, UnitCostRow

FIGURES = ["currency", "cost", "usage", "unit cost", "reason"]
CUSTOMER_HEADER = ["customer id", "name", "status", "values", "direct cost", "allocated cost", *FIGURES]
TOTAL_HEADER = ["from", *FIGURES]


KeyedRow = tuple[tuple[Any, ...], list[Any]]
"""The key of a CSV row, and its cells."""


def unit_cost_csv(
    answer: UnitCostAnswer, display: Display | None, *, ask: Callable[[], UnitCostAnswer], by_customer: bool
) -> CsvTable:
    """Return the CSV of an answer with all its rows, exact figures: customers, or in total by bucket if there is a
    trend. If the answer is converted for `display`, the CSV has the original amounts too, for which `ask` answers the
    same query again."""
    name = f"unit-cost-{answer.usage_metric}-{answer.period.start_date}-{answer.period.end_date}"
    days = answer.period.start_date, answer.period.end_date
    # Splits move converted amounts, so after splits only the rates are known.
    figures = [] if answer.applied_splits else ["cost"]
    original = original_amounts(display, days, figures, answer, ask=ask, rows=_amounts)
    header = CUSTOMER_HEADER if by_customer else TOTAL_HEADER
    rows = _customer_rows(answer) if by_customer else _total_rows(answer)
    cells = ([*row, *original.cells(key, row[header.index("currency")])] for key, row in rows)
    return CsvTable(name, [*header, *original.header], cells, note=answer.summary, note_after=FIGURES[-1])


def _customer_rows(answer: UnitCostAnswer) -> Iterator[KeyedRow]:
    for row in answer.rows:
        values = " | ".join(row.values)
        costs = [row.direct_cost, row.allocated_cost]
        yield _row_key(row), [row.customer_id, row.name, row.status, values, *costs, *_figures(row)]


def _total_rows(answer: UnitCostAnswer) -> Iterator[KeyedRow]:
    for total in answer.totals:
        for bucket in total.buckets:
            yield (bucket.start_date,), [bucket.start_date, *_figures(bucket)]
        yield (), ["all", *_figures(total)]


def _row_key(row: UnitCostRow) -> tuple[Any, ...]:
    return row.customer_id, row.status, *row.values, bool(row.other_rows)


def _amounts(answer: UnitCostAnswer) -> Iterator[CsvRow]:
    has_figures = not answer.applied_splits
    for row in answer.rows:
        yield _row_key(row), row.currency, [row.cost] if has_figures else []
    for total in answer.totals:
        for bucket in total.buckets:
            yield (bucket.start_date,), bucket.currency, [bucket.cost] if has_figures else []
        yield (), total.currency, [total.cost] if has_figures else []


def _figures(row: Any) -> list[Any]:
    return [row.currency, row.cost, row.usage, row.unit_cost, row.reason]
