"""Convert the effect of saving a cost tag into what the page draws: values and months for each currency."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import msgspec

from finops.allocation.cost_tags.schemas import CostTagEffect, CostTagEffectRow, MonthEffect
from finops.lib.charts import Line, chart_spec, other_name
from finops.lib.money import exact_difference, exact_sum

DRAWN = 9


class ValueEffect(msgspec.Struct, frozen=True):
    """The effect on one value, summed over all months."""

    value: str
    before: Decimal
    after: Decimal
    months: dict[date, CostTagEffectRow]

    @property
    def moved_amount(self) -> Decimal:
        return exact_difference(self.after, self.before)


class CurrencyEffect(msgspec.Struct, frozen=True):
    """The cost that moves in one currency. `chart` draws it by month and names the values that move most."""

    currency: str
    months: list[MonthEffect]
    values: list[ValueEffect]
    chart: dict[str, Any]

    @property
    def changed_amount(self) -> Decimal:
        return exact_sum(month.changed for month in self.months)

    @property
    def total(self) -> Decimal:
        return exact_sum(month.total for month in self.months)


def effect_tables(effect: CostTagEffect) -> list[CurrencyEffect]:
    """Return one table for each currency with moves, the largest change first."""
    currencies = dict.fromkeys(month.currency for month in effect.months)
    tables = [_of_currency(effect, currency) for currency in currencies]
    return sorted((table for table in tables if table.values), key=lambda table: -abs(table.changed_amount))


def _of_currency(effect: CostTagEffect, currency: str) -> CurrencyEffect:
    months = [month for month in effect.months if month.currency == currency]
    values = _values([row for row in effect.rows if row.currency == currency])
    return CurrencyEffect(currency, months, values, _chart(months, values, currency))


def _values(rows: Sequence[CostTagEffectRow]) -> list[ValueEffect]:
    """Return values by the cost that moves to or away from them in all months together, largest first."""
    by_value: dict[str, dict[date, CostTagEffectRow]] = {}
    for row in rows:
        by_value.setdefault(row.value, {})[row.month] = row
    effects = [
        ValueEffect(
            value,
            exact_sum(row.before for row in months.values()),
            exact_sum(row.after for row in months.values()),
            months,
        )
        for value, months in by_value.items()
    ]
    return sorted(effects, key=lambda each: -exact_sum(abs(row.moved) for row in each.months.values()))


def _chart(months: Sequence[MonthEffect], values: Sequence[ValueEffect], currency: str) -> dict[str, Any]:
    days = [month.month for month in months]
    lines = [Line(each.value, [_moved_amount(each, day) for day in days]) for each in values[:DRAWN]]
    small_values = values[DRAWN:]
    if small_values:
        sums = [exact_sum(_moved_amount(each, day) for each in small_values) for day in days]
        lines.append(Line(other_name(len(small_values)), sums, rest=True))
    labels = [f"{day:%Y-%m}" for day in days]
    return chart_spec(unit=currency, labels=labels, lines=lines, line=False, stacked=True)


def _moved_amount(value: ValueEffect, day: date) -> Decimal:
    row = value.months.get(day)
    return row.moved if row else Decimal(0)
