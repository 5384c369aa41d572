"""In which order an answer about spend lists the rows of a currency. Which rows are listed the lake decides. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from finops.costs.answers import SpendRow
from finops.costs.spend_query import SpendOrder

Place = tuple[bool, Decimal, list[str]]


def _listing_order(row: SpendRow) -> Place:
    return bool(row.other_groups), row.amount.copy_negate(), list(row.group.values())


def _change_order(row: SpendRow) -> Place:
    """The largest change first, whatever its sign; without a comparison as ever."""
    if row.change is None or row.change.change is None:
        return _listing_order(row)
    return bool(row.other_groups), row.change.change.copy_abs().copy_negate(), list(row.group.values())


ORDERS: Mapping[SpendOrder, Callable[[SpendRow], Place]] = {
    "amount": _listing_order,
    "change": _change_order,
}
