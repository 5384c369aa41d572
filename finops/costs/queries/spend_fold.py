"""Make an answer about spend smaller without losing a cent: small groups are summed into `other`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from msgspec.structs import replace

from finops.costs.answers import (
    Change,
    QuantityChange,
    Series,
    SpendAnswer,
    SpendRow,
    SpendTotal,
    change_in_units,
)
from finops.costs.queries.spend_answer import OTHER, ZERO, change_between
from finops.costs.spend_query import SpendOrder
from finops.lib import answers
from finops.lib.money import exact_sum, ratio

Fits = Callable[[SpendAnswer], bool]


def fit_to_size(answer: SpendAnswer, fits: Fits, order_by: SpendOrder = "amount") -> SpendAnswer:
    """Return the answer with as many groups per currency as fit; if necessary without series. `truncated` says so."""
    if fits(answer):
        return answer
    if smaller := _with_fewer_groups(answer, fits, order_by):
        return smaller
    plain = _drop_series(answer)
    return (
        plain if fits(plain) else _with_fewer_groups(plain, fits, order_by) or _fold_rest(plain, 0, order_by)
    )


def _with_fewer_groups(answer: SpendAnswer, fits: Fits, order_by: SpendOrder) -> SpendAnswer | None:
    most = max(_places(answer.rows, order_by).values(), default=0)
    return answers.fit_to_size(lambda keep: _fold_rest(answer, keep, order_by), fits, most)


def _places(rows: Sequence[SpendRow], order_by: SpendOrder) -> dict[int, int]:
    """Return the rank of each listed row in its currency, by size, from 0; by the row's index."""
    listed = [index for index, row in enumerate(rows) if not row.other_groups]
    listed.sort(key=lambda index: _size(rows[index], order_by), reverse=True)
    return answers.places_within(listed, lambda index: rows[index].currency)


def _size(row: SpendRow, order_by: SpendOrder) -> Decimal:
    if order_by == "change" and row.change and row.change.change is not None:
        return row.change.change.copy_abs()
    earlier = row.change.previous_amount if row.change else None
    return max(row.amount.copy_abs(), (earlier or ZERO).copy_abs())


def _fold_rest(answer: SpendAnswer, keep: int, order_by: SpendOrder) -> SpendAnswer:
    places = _places(answer.rows, order_by)
    rows = []
    for total in answer.totals:
        indexed_rows = [
            (index, row) for index, row in enumerate(answer.rows) if row.currency == total.currency
        ]
        rows += [row for index, row in indexed_rows if places.get(index, keep) < keep]
        other_rows = [row for index, row in indexed_rows if places.get(index, keep) >= keep]
        rows += [_sum_row(other_rows, total)] if other_rows else []
    count = sum(row.other_groups for row in rows)
    note = (
        f"{count} groups are in the row other (25 KB limit). Use fewer days, a coarser granularity, "
        "one group_by or a filter."
    )
    return replace(answer, rows=rows, truncated=note)


def _sum_row(rows: Sequence[SpendRow], total: SpendTotal) -> SpendRow:
    amount = exact_sum(row.amount for row in rows)
    share = ratio(amount, total.amount)
    return replace(
        rows[0],
        group=dict.fromkeys(rows[0].group, OTHER),
        amount=amount,
        share=share,
        share_reason="" if share is not None else "The total is 0.",
        labels={},
        other_groups=sum(row.other_groups or 1 for row in rows),
        change=_sum_change([row.change for row in rows if row.change]),
        series=_sum_series([row.series for row in rows]),
    )


def _sum_change(changes: Sequence[Change]) -> Change | None:
    if not changes:
        return None
    current = exact_sum(change.current_amount for change in changes)
    previous = exact_sum(change.previous_amount or ZERO for change in changes)
    change_sum = change_between(current, previous, changes[0].currency)
    return change_in_units(change_sum) if isinstance(changes[0], QuantityChange) else change_sum


def _sum_series(series: Sequence[Series]) -> Series:
    return {start: _sum_present([amounts[start] for amounts in series]) for start in series[0]}


def _sum_present(amounts: Sequence[Decimal | None]) -> Decimal | None:
    present = [amount for amount in amounts if amount is not None]
    return exact_sum(present) if present else None


def _drop_series(answer: SpendAnswer) -> SpendAnswer:
    note = (
        "The series is omitted (25 KB limit). Use fewer days, a coarser granularity, or a filter. "
        f"{answer.truncated}"
    )
    return replace(
        answer,
        totals=[replace(total, series={}) for total in answer.totals],
        rows=[replace(row, series={}) for row in answer.rows],
        truncated=note.strip(),
    )
