"""The CSV of an answer about spend, of the cost explorer and of the tool querySpend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

from finops.costs.answers import SpendAnswer, SpendRow, SpendTotal
from finops.costs.charts import row_name
from finops.costs.queries.spend_lake import COST_COLUMNS
from finops.costs.spend_query import QUANTITIES
from finops.exchange_rates.csv_columns import NONE, CsvRow, OriginalAmounts, original_amounts
from finops.exchange_rates.display import Display
from finops.lib.listing import CsvTable


def spend_csv(answer: SpendAnswer, display: Display | None, *, ask: Callable[[], SpendAnswer]) -> CsvTable:
    """Return the CSV of an answer with all its groups; without groups, of its totals. If the answer is converted for
    `display`, the CSV has the original amounts too, for which `ask` answers the same query again."""
    original = _original_amounts(answer, display, ask)
    buckets = _buckets(answer)
    is_quantity = answer.view.basis in QUANTITIES
    header = [
        *answer.group_by,
        *[f"{name} name" for name in answer.group_by],
        "unit" if is_quantity else "currency",
        "quantity" if is_quantity else "amount",
        "share",
        "previous quantity" if is_quantity else "previous amount",
        "change",
        "change ratio",
        *buckets,
        *original.header,
    ]
    name = "spend" if answer.view.basis in COST_COLUMNS else answer.view.basis.replace("_", "-")
    name = f"{name}-{answer.period.start_date}-{answer.period.end_date}"
    rows = _csv_rows(answer, buckets, original)
    return CsvTable(name, header, rows, note=answer.summary, note_after="change ratio")


def _original_amounts(
    answer: SpendAnswer, display: Display | None, ask: Callable[[], SpendAnswer]
) -> OriginalAmounts:
    """Return the original amounts; none for quantities. Splits move converted amounts, so after them only rates."""
    if answer.view.basis in QUANTITIES:
        return NONE
    figures = [] if answer.applied_splits else ["amount", "previous amount", *_buckets(answer)]
    first = answer.comparison.previous_start_date if answer.comparison else answer.period.start_date
    days = min(first, answer.period.start_date), answer.period.end_date
    rows = partial(_amounts, has_figures=bool(figures))
    return original_amounts(display, days, figures, answer, ask=ask, rows=rows)


def _buckets(answer: SpendAnswer) -> list[str]:
    return list(answer.totals[0].series) if answer.totals else []


def _csv_rows(answer: SpendAnswer, buckets: list[str], original: OriginalAmounts) -> Iterator[list[Any]]:
    if not answer.group_by:
        for total in answer.totals:
            yield [*_figures(total, Decimal(1), buckets), *original.cells(_row_key(total), total.currency)]
        return
    for row in answer.rows:
        figures = _figures(row, row.share, buckets)
        yield [*_group_cells(answer, row), *figures, *original.cells(_row_key(row), row.currency)]


def _row_key(row: SpendRow | SpendTotal) -> tuple[Any, ...]:
    return (*row.group.values(), bool(row.other_groups)) if isinstance(row, SpendRow) else ()


def _amounts(answer: SpendAnswer, *, has_figures: bool) -> Iterator[CsvRow]:
    buckets = _buckets(answer)
    for row in answer.rows if answer.group_by else answer.totals:
        series = [row.series.get(day) for day in buckets]
        previous = row.change.previous_amount if row.change else None
        yield _row_key(row), row.currency, [row.amount, previous, *series] if has_figures else []


def _group_cells(answer: SpendAnswer, row: SpendRow) -> list[str]:
    if row.other_groups:
        return [row_name(row)] * (2 * len(answer.group_by))
    values_of = [row.group[name] for name in answer.group_by]
    names = [row.labels.get(name, row.group[name]) for name in answer.group_by]
    return [*values_of, *names]


def _figures(row: Any, share: Decimal | None, buckets: list[str]) -> list[Any]:
    change = row.change
    compared = [change.previous_amount, change.change, change.ratio] if change else [None] * 3
    return [row.currency, row.amount, share, *compared, *[row.series.get(day) for day in buckets]]
