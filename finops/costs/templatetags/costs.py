"""How templates write answers about cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from urllib.parse import urlencode

from django import template

from finops.costs import charts
from finops.costs.answers import PartAmount, SpendRow
from finops.lib import amounts

register = template.Library()


@register.filter
def row_name(row: SpendRow) -> str:
    return charts.row_name(row)


@register.filter
def with_amounts(parts: Sequence[PartAmount]) -> list[PartAmount]:
    return [part for part in parts if part.amount]


@register.filter
def words(name: str) -> str:
    """`one_time_fees` → `one time fees`."""
    return name.replace("_", " ")


@register.filter
def progress_value(share: Decimal) -> int:
    """A share as a bar's 0 to 100; a negative one shows none."""
    return max(0, min(100, round(share * 100)))


@register.filter
def plain_amount(amount: Decimal) -> str:
    return amounts.plain(amount)


@register.filter
def signed_percent(ratio: Decimal) -> str:
    return f"+{amounts.percent(ratio)}" if ratio > 0 else amounts.percent(ratio)


@register.filter
def signed_money(amount: Decimal, currency: str) -> str:
    return f"{'+' if amount > 0 else ''}{amounts.plain(amount)} {currency}"


@register.filter
def as_query(params: Mapping[str, Sequence[str]]) -> str:
    """URL parameters as a query string with its question mark."""
    return "?" + urlencode(params, doseq=True)


@register.filter
def drilled(params: Mapping[str, Sequence[str]], row: SpendRow) -> str:
    """The same query narrowed to a row's group, and grouped by what is one step finer."""
    taken = sum(1 for name in params if name.startswith("f") and name[1:].isdigit())
    narrowed = dict(params)
    for index, (dimension, value) in enumerate(row.group.items(), start=taken):
        narrowed |= {f"f{index}": [dimension], f"f{index}op": ["in"], f"f{index}v": [value]}
    narrowed["group_by"] = [_FINER.get(next(iter(row.group)), "resource")]
    narrowed.setdefault("granularity", ["day"])
    return as_query(narrowed)


_FINER = {
    "provider": "service",
    "service_category": "service",
    "service": "usage_type",
    "usage_type": "resource",
    "resource": "usage_type",
}


@register.filter
def as_csv_query(params: Mapping[str, Sequence[str]]) -> str:
    return as_query({**params, "format": ["csv"]})


@register.filter
def group_cells(row: SpendRow) -> list[tuple[str, str]]:
    """(value, what to call it) for each dimension of the group."""
    return [(value, row.labels.get(name) or value) for name, value in row.group.items()]
