"""The billed amounts behind a report's converted amounts, as texts: `100 EUR; 8 USD`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from decimal import Decimal
from itertools import chain
from typing import Final

from finops.costs.answers import SpendAnswer, SpendRow, SpendTotal
from finops.exchange_rates.csv_columns import CsvRow, Figures, billed_figures
from finops.lake.engine.conversion import display_currency
from finops.lib.money import currencies_by_amount

_OTHER: Final = "other"


class BilledAmounts:
    """The billed amounts of a section, from its own answer in the bills' currencies; empty without conversion. Cost
    without an exchange rate is not included: it has lines of its own."""

    def __init__(self, answer: SpendAnswer, own: SpendAnswer | None) -> None:
        self._buckets = list(answer.totals[0].series) if answer.totals else []
        self._listed = {tuple(row.group.values()) for row in answer.rows if not row.other_groups}
        self._is_whole = all(map(is_converted, answer.totals))
        self._by_row: dict[Hashable, dict[str, Figures]] = defaultdict(dict)
        billed = billed_figures(answer, own, self._rows, display_currency()) if own is not None else {}
        for (key, currency), figures in billed.items():
            self._by_row[key][currency] = figures

    def of(self, row: SpendRow | SpendTotal, day: str = "") -> str:
        """Return the amounts of a row or total, in the bucket that starts on `day`, largest first. Empty for
        unconverted amounts, and for the sum of many groups if some have no exchange rate."""
        if not is_converted(row):
            return ""
        place = self._buckets.index(day) + 1 if day else 0
        figures = self._by_row.get(self._key_of(row), {})
        amounts = {currency: values[place] or Decimal(0) for currency, values in figures.items()}
        return amounts_text({currency: amount for currency, amount in amounts.items() if amount})

    def _rows(self, answer: SpendAnswer) -> Iterator[CsvRow]:
        for row in chain[SpendRow | SpendTotal](answer.totals, answer.rows):
            key = self._key_of(row)
            if key != _OTHER or self._is_whole:
                yield key, row.currency, [row.amount, *(row.series.get(day) for day in self._buckets)]

    def _key_of(self, row: SpendRow | SpendTotal) -> Hashable:
        """Return the key of a group; groups that the section does not list are its other groups."""
        if isinstance(row, SpendTotal):
            return None
        key = tuple(row.group.values())
        return key if key in self._listed and not row.other_groups else _OTHER


def is_converted(part: SpendRow | SpendTotal) -> bool:
    return part.currency == display_currency()


def amounts_text(amounts: dict[str, Decimal]) -> str:
    """Format amounts: `100 EUR; 8 USD`, largest first."""
    return "; ".join(f"{amounts[code]:f} {code}" for code in currencies_by_amount(amounts))
