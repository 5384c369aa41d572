"""The content of one import for one billing month: rows, exact sums, and what shows whether the month is whole."""

from __future__ import annotations

from datetime import date
from decimal import Context, Decimal
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

CORRECTION: Final = "Correction"
"""The only ChargeClass of FOCUS: a line that corrects an earlier invoice."""

_EXACT: Final = Context(prec=76)


class Sums(NamedTuple):
    """Rows and exact sums in one currency."""

    rows: int
    billed: Decimal
    effective: Decimal

    def plus(self, other: Sums) -> Sums:
        return Sums(
            self.rows + other.rows,
            _EXACT.add(self.billed, other.billed),
            _EXACT.add(self.effective, other.effective),
        )

    def minus(self, other: Sums) -> Sums:
        return self.plus(Sums(-other.rows, _EXACT.minus(other.billed), _EXACT.minus(other.effective)))


NOTHING: Final = Sums(0, Decimal(0), Decimal(0))


class MonthInFiles:
    """Collects one billing month over all batches of all files."""

    def __init__(self) -> None:
        self.sums: dict[str, Sums] = {}
        self.corrections = 0
        self.days: set[date] = set()
        self.providers: set[str] = set()

    @property
    def rows(self) -> int:
        return sum(sums.rows for sums in self.sums.values())

    def add(self, part: pa.RecordBatch) -> None:
        """Add a batch of the spool's columns. Cost: a pass over two amounts, and over the indices of three texts."""
        currencies = part.column("currency")
        codes = pc.unique(currencies.indices).to_pylist()
        amounts = part.select(["billed_cost", "effective_cost"])
        for code in codes:
            currency_amounts = (
                amounts if len(codes) == 1 else amounts.filter(pc.equal(currencies.indices, code))
            )
            name = currencies.dictionary[code].as_py()
            self.sums[name] = self.sums.get(name, NOTHING).plus(
                Sums(
                    currency_amounts.num_rows,
                    _sum(currency_amounts.column("billed_cost")),
                    _sum(currency_amounts.column("effective_cost")),
                )
            )
        self.corrections += _count(part.column("charge_class"), CORRECTION)
        self.days.update(pc.unique(part.column("charge_date")).to_pylist())
        self.providers.update(_values(part.column("provider")))


def _sum(amounts: pa.Array) -> Decimal:
    total: Decimal = pc.sum(amounts).as_py()
    return total


def _count(texts: pa.DictionaryArray, value: str) -> int:
    place = pc.index(texts.dictionary, value).as_py()
    return 0 if place < 0 else int(pc.sum(pc.equal(texts.indices, place)).as_py() or 0)


def _values(texts: pa.DictionaryArray) -> list[str]:
    places = pc.unique(texts.indices).drop_null()
    return [value for value in texts.dictionary.take(places).to_pylist() if value]
