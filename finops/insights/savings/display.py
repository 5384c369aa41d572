"""Savings in the display currency.

A recommendation is created in the currency of its bill, whatever the display currency: its id, and with it the
decisions of people, stay. Its amounts are estimates of a future month, so they are converted by the rates of one day,
the last of the 30; each line's amount is rounded once (ADR 0046), and the billed amounts are shown beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from finops.exchange_rates.missing_rates import missing_rate_warnings
from finops.insights.savings.candidates import Piece
from finops.insights.savings.schemas import RealisedSaving, SavingsTotal
from finops.lake.engine.conversion import Conversion, OneCurrency, convert, current_currencies
from finops.lib.money import exact_difference, exact_sum
from finops.lib.periods import DateRange


@dataclass(frozen=True)
class SavingsDisplay:
    """The display currency, its rates and their day; `only`: show savings of this currency only."""

    currency: str = ""
    rates: Mapping[str, Decimal] = field(default_factory=dict)
    day: date | None = None
    only: str = ""

    def shows(self, currency: str) -> bool:
        return self.only in ("", currency)

    def code(self, currency: str) -> str:
        """Return the currency in which bills of this currency are shown: without a rate, the same."""
        return self.currency if currency in self.rates else currency

    def amount(self, amount: Decimal, currency: str) -> Decimal:
        rate = self.rates.get(currency)
        return amount if rate is None else convert(amount, rate)

    def cost(self, pieces: Sequence[Piece]) -> Decimal:
        return exact_sum(self.amount(piece.cost, piece.line.currency) for piece in pieces)

    def saving(self, pieces: Sequence[Piece]) -> Decimal | None:
        """Return the saving of a piece of evidence; None if it is unknown."""
        savings = [
            self.amount(piece.saving, piece.line.currency) for piece in pieces if piece.saving is not None
        ]
        return exact_sum(savings) if len(savings) == len(pieces) else None

    def realised_saving(self, each: RealisedSaving | None) -> RealisedSaving | None:
        """Return the realized saving. Both sides are converted at the same rate: a change of the rate saves nothing."""
        if each is None or each.before is None or each.after is None:
            return each
        before, after = self.amount(each.before, each.currency), self.amount(each.after, each.currency)
        less = exact_difference(before, after)
        return RealisedSaving(
            before=before,
            after=after,
            saved=None if each.saved is None else less,
            waste_avoided=None if each.waste_avoided is None else less,
            currency=self.code(each.currency),
            reason=each.reason,
        )

    def warnings(self, totals: Sequence[SavingsTotal]) -> list[str]:
        """Return warnings with the rates of the totals, and amounts without a rate."""
        warnings = missing_rate_warnings({each.currency: each.monthly_saving for each in totals})
        if self.rates:
            rates = [
                f"1 {code} = {rate.normalize():f} {self.currency}"
                for code, rate in sorted(self.rates.items())
            ]
            warnings.append(f"Savings are converted at the exchange rates of {self.day}: {', '.join(rates)}.")
        return warnings


def savings_display(days: DateRange | None, currencies: set[str]) -> SavingsDisplay:
    """Return how to show savings of bills in these currencies in the current scope."""
    scope = current_currencies()
    if isinstance(scope, OneCurrency):
        return SavingsDisplay(only=scope.currency)
    if not isinstance(scope, Conversion) or days is None:
        return SavingsDisplay()
    # All of the days, so that the rates behind the page's other amounts and these are read once.
    table = scope.rates(days.start, days.end)
    rows = table.table.select(["rate_currency", "rate_day", "rate"]).to_pylist() if table else []
    rates = {row["rate_currency"]: row["rate"] for row in rows if row["rate_day"] == days.end}
    used = {code: rate for code, rate in rates.items() if code in currencies}
    return SavingsDisplay(scope.currency, used, days.end)
