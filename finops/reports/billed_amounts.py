"""What the converted amounts of a report were billed as."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from finops.costs.answers import SpendAnswer, SpendRow, SpendTotal
from finops.lake.engine.conversion import display_currency
from finops.lib.answers import group_by
from finops.lib.money import currencies_by_amount, exact_sum

HEADER: Final = "original amounts"


class BilledAmounts:
    """What the converted amounts of a section were billed as: `100 EUR; 8 USD`. Without what has no rate: that has lines of its
    own."""

    def __init__(self, answer: SpendAnswer, original: SpendAnswer | None) -> None:
        self.answer, self.original = answer, original
        self.is_whole = all(map(is_converted, answer.totals))
        self._billed = group_by(original.rows if original else (), _key_of)
        self._rateless = group_by((row for row in answer.rows if not is_converted(row)), _key_of)
        self._listed = {_key_of(row) for row in answer.rows if not row.other_groups}

    @property
    def total(self) -> str:
        if self.original is None:
            return ""
        rateless = [total for total in self.answer.totals if not is_converted(total)]
        return _amounts_text(self.original.totals, rateless)

    def of(self, row: SpendRow, day: str = "") -> str:
        """Of a row, in the bucket that begins on `day`. Empty for what is not converted, and for the sum of many groups where some
        have no rate."""
        if self.original is None or not is_converted(row) or (row.other_groups and not self.is_whole):
            return ""
        keys = self._billed.keys() - self._listed if row.other_groups else {_key_of(row)}
        billed = [each for key in keys for each in self._billed.get(key, ())]
        return _amounts_text(billed, self._rateless.get(_key_of(row), ()), day)


def _key_of(row: SpendRow) -> tuple[str, ...]:
    return tuple(row.group.values())


def is_converted(part: SpendRow | SpendTotal) -> bool:
    return part.currency == display_currency()


def _amounts_text(
    billed: Iterable[SpendRow | SpendTotal], less: Iterable[SpendRow | SpendTotal], day: str = ""
) -> str:
    """`100 EUR; 8 USD`, the most first."""
    parts = [(row.currency, _amount(row, day)) for row in billed]
    parts += [(row.currency, _amount(row, day).copy_negate()) for row in less]
    by_currency = group_by(parts, lambda part: part[0])
    amounts = {code: exact_sum(amount for _, amount in own) for code, own in by_currency.items()}
    return "; ".join(f"{amounts[code]:f} {code}" for code in currencies_by_amount(amounts) if amounts[code])


def _amount(row: SpendRow | SpendTotal, day: str) -> Decimal:
    return (row.series.get(day) if day else row.amount) or Decimal(0)
