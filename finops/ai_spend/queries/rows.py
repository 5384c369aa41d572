"""Rows of the table: billed and estimated cost, by model, token type, person, key or feature."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from finops.ai_spend.answers import AiSpendRow
from finops.ai_spend.queries.comparison import BilledDay
from finops.ai_spend.queries.costs import DayTokens
from finops.ai_spend.queries.estimates import EstimatedTokens
from finops.costs.queries.cost_sums import CostSums
from finops.lib.money import exact_product, exact_sum, ratio
from finops.lib.sentences import exact_number

Group = tuple[str, ...]

NONE: Final = "(none)"
OTHER: Final = "other"


@dataclass
class _Cell:
    """The figures of one group in one currency."""

    billed: list[Decimal] = field(default_factory=list)
    token_costs: list[Decimal] = field(default_factory=list)
    tokens: list[Decimal] = field(default_factory=list)
    unknown_tokens: bool = False
    estimated: list[Decimal] = field(default_factory=list)
    usage: list[Decimal] = field(default_factory=list)
    unpriced: list[Decimal] = field(default_factory=list)


Cells = Mapping[tuple[Group, str], _Cell]


def meter_cells(
    billed: Iterable[BilledDay],
    tokens: Iterable[DayTokens],
    usage: Iterable[EstimatedTokens],
    model_name: Callable[[str], str],
    group_of: Callable[[str, str], Group],
) -> Cells:
    """Cells by the group that `group_of` returns for a model and token type."""
    cells: dict[tuple[Group, str], _Cell] = defaultdict(_Cell)
    for row in billed:
        cells[group_of(*row.meter), row.currency].billed.append(row.amount)
    for each in tokens:
        cell = cells[group_of(model_name(each.model), each.token_type), each.currency]
        _add_tokens(cell, each)
    _add_usage(cells, usage, lambda row: group_of(row.model, row.token_type))
    return cells


def _add_tokens(cell: _Cell, row: DayTokens) -> None:
    if row.tokens is None:
        cell.unknown_tokens = True
    else:
        cell.tokens.append(row.tokens)
        cell.token_costs.append(row.amount)


def value_cells(sums: CostSums, usage: Iterable[EstimatedTokens], labels: dict[str, str]) -> Cells:
    """Cells by the values of one dimension; names of values that are ids are added to `labels`."""
    cells: dict[tuple[Group, str], _Cell] = defaultdict(_Cell)
    for value in sums.by_value():
        cells[(value.value,), value.currency].billed.append(value.amount)
        if value.label and value.label != value.value:
            labels[value.value] = value.label
    _add_usage(cells, usage, lambda row: (row.value or sums.absent,))
    return cells


def _add_usage(
    cells: dict[tuple[Group, str], _Cell],
    usage: Iterable[EstimatedTokens],
    group_of: Callable[[EstimatedTokens], Group],
) -> None:
    """Add usage to the cells. Tokens without a price are added to the row of the group's first
    currency, those with billed cost before others."""
    unpriced: list[EstimatedTokens] = []
    for row in usage:
        if row.cost is None:
            unpriced.append(row)
            continue
        cell = cells[group_of(row), row.currency]
        cell.estimated.append(row.cost)
        cell.usage.append(row.tokens)
    currencies: dict[Group, str] = {}
    for group, currency in sorted(cells, key=lambda each: (not cells[each].billed, each)):
        currencies.setdefault(group, currency)
    for row in unpriced:
        group = group_of(row)
        cell = cells[group, currencies.setdefault(group, "")]
        cell.usage.append(row.tokens)
        cell.unpriced.append(row.tokens)


def rows_of(cells: Cells, totals: Mapping[str, Decimal], limit: int) -> list[AiSpendRow]:
    """Rows, largest first; beyond `limit` they are one row for each currency."""
    by_currency: dict[str, list[tuple[Group, _Cell]]] = defaultdict(list)
    for (group, currency), cell in cells.items():
        by_currency[currency].append((group, cell))
    rows = []
    for currency in sorted(
        by_currency, key=lambda name: (name == "", -abs(totals.get(name, Decimal(0))), name)
    ):
        ranked = sorted(by_currency[currency], key=_by_size)
        rows += [_row(group, currency, cell, totals) for group, cell in ranked[:limit]]
        if small_groups := ranked[limit:]:
            width = len(small_groups[0][0])
            cell = _together([cell for _group, cell in small_groups])
            rows.append(
                _row((OTHER, *[""] * (width - 1)), currency, cell, totals, other_groups=len(small_groups))
            )
    return rows


def _by_size(item: tuple[Group, _Cell]) -> tuple[Decimal, Decimal, Group]:
    group, cell = item
    return -abs(exact_sum(cell.billed)), -abs(exact_sum(cell.estimated)), group


def _together(cells: Sequence[_Cell]) -> _Cell:
    return _Cell(
        billed=[amount for cell in cells for amount in cell.billed],
        token_costs=[amount for cell in cells for amount in cell.token_costs],
        tokens=[amount for cell in cells for amount in cell.tokens],
        unknown_tokens=any(cell.unknown_tokens for cell in cells),
        estimated=[amount for cell in cells for amount in cell.estimated],
        usage=[amount for cell in cells for amount in cell.usage],
        unpriced=[amount for cell in cells for amount in cell.unpriced],
    )


def _row(
    group: Group, currency: str, cell: _Cell, totals: Mapping[str, Decimal], *, other_groups: int = 0
) -> AiSpendRow:
    billed = exact_sum(cell.billed) if cell.billed else None
    tokens = exact_sum(cell.tokens) if cell.tokens and not cell.unknown_tokens else None
    whole = totals.get(currency)
    return AiSpendRow(
        group=list(group),
        currency=currency,
        billed=billed,
        share=ratio(billed, whole) if billed is not None and whole else None,
        billed_tokens=tokens,
        usage_tokens=exact_sum(cell.usage) if cell.usage else None,
        estimated=exact_sum(cell.estimated) if cell.estimated else None,
        reason=_reason(cell),
        per_1000_tokens=(
            ratio(exact_product(exact_sum(cell.token_costs), Decimal(1_000)), tokens) if tokens else None
        ),
        other_groups=other_groups,
    )


def _reason(cell: _Cell) -> str:
    if cell.unpriced:
        return f"{exact_number(exact_sum(cell.unpriced))} tokens have no price."
    return "" if cell.usage else "No usage events."
