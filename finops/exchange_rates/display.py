"""The currency of an answer: the choice of the account, or of the reader.

A choice is a code (EUR: converted to it), OWN (nothing is converted), or `only-USD` (only the lines of one currency,
unconverted). Empty: the account's display currency; without one nothing is converted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Final

from accounts.models import Account
from finops.exchange_rates.queries import RateReader
from finops.exchange_rates.rates import DayRate, RateSpan, spans_of
from finops.lake.engine import engine
from finops.lake.engine.conversion import (
    Conversion,
    Currencies,
    OneCurrency,
    currency_scope,
    current_currencies,
)
from finops.lake.schema import Kind
from finops.lib.currencies import currency_code
from finops.lib.money import exact_sum

OWN: Final = "own"
ONLY: Final = "only-"


@dataclass(frozen=True)
class OwnAmount:
    """The total of the lines of one currency, and whether a part of it has no rate."""

    currency: str
    billed: Decimal
    effective: Decimal
    is_missing: bool


@dataclass
class Display:
    """The currency settings of a scope's answers: `currency` is empty where nothing is converted."""

    account: Account
    currency: str = ""
    only: str = ""
    _reader: RateReader | None = field(default=None, repr=False)

    @property
    def currencies(self) -> Currencies | None:
        if self.only:
            return OneCurrency(self.only)
        if not self.currency:
            return None
        self._reader = self._reader or RateReader(self.account, self.currency)
        return Conversion(self.currency, self._reader)

    @property
    def days(self) -> tuple[date, date] | None:
        """The first and the last day that answers of this scope have queried."""
        if self._reader is None or not self._reader.ranges:
            return None
        return min(start for start, _ in self._reader.ranges), max(end for _, end in self._reader.ranges)

    def rates_of(self, start: date, end: date) -> list[DayRate]:
        return self._reader.rates(start, end) if self._reader else []


def display_of(account: Account, choice: str = "") -> Display:
    """Return the settings of a choice for an account. Raises UserError for an invalid code."""
    choice = choice.strip()
    if choice.lower() == OWN:
        return Display(account)
    if choice.lower().startswith(ONLY):
        return Display(account, only=currency_code(choice[len(ONLY) :]))
    if not choice:
        return Display(account, account.display_currency)
    return Display(account, currency_code(choice, field="display_currency"))


@contextmanager
def display_scope(display: Display) -> Iterator[Display]:
    """Answer queries of cost inside the block with these settings."""
    with currency_scope(display.currencies):
        yield display


def current_display() -> Display | None:
    """Return the settings of the innermost scope if it converts; otherwise None."""
    currencies = current_currencies()
    if not isinstance(currencies, Conversion) or not isinstance(currencies.rates, RateReader):
        return None
    return Display(currencies.rates.account, currencies.currency, _reader=currencies.rates)


@contextmanager
def account_display(account: Account) -> Iterator[None]:
    """The account's own settings, also inside a reader's scope: alerts, anomalies and mails count in the account's display
    currency, if it has one."""
    with display_scope(display_of(account)):
        yield


def account_currencies(account: Account) -> list[str]:
    """The currencies of the account's lines, that of the most lines first. One lake query, over rollups."""
    table = engine.run(
        account, Kind.COST, date.min, date.max, _currencies, allow_rollups=True, in_own_currency=True
    )
    rows = sorted(table.to_pylist(), key=lambda row: (-abs(row["amount"] or 0), row["currency"]))
    return [row["currency"] for row in rows]


def _currencies(table: Any) -> Any:
    lines = table.filter(table.currency.notnull())
    return lines.group_by("currency").aggregate(amount=lines.billed_cost.sum())


@dataclass(frozen=True)
class UsedRates:
    """The rates of an answer: `spans` newest first, `own` the cost of its days in each other currency, separately with and
    without a rate."""

    spans: list[RateSpan]
    own: list[OwnAmount]


def used_rates(display: Display, days: tuple[date, date] | None = None) -> UsedRates:
    """Return the rates of the currencies and days that the account has lines of. One lake query, cached with the others."""
    days = days or display.days
    if not display.currency or days is None:
        return UsedRates([], [])
    table = engine.run(
        display.account, Kind.COST, *days, _by_day, allow_rollups=True, in_own_currency=True
    ).to_pylist()
    rows = [row for row in table if row["currency"] != display.currency]
    if not rows:
        return UsedRates([], [])
    first = min(row["day"] for row in rows)
    last = max(row["day"] for row in rows)
    rates = display.rates_of(first, last)
    rate_days = {(rate.currency, rate.day) for rate in rates}
    lines: dict[tuple[str, bool], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        lines[row["currency"], (row["currency"], row["day"]) not in rate_days].append(row)
    own = [
        OwnAmount(code, _exact_sum(days_of, "billed"), _exact_sum(days_of, "effective"), is_missing)
        for (code, is_missing), days_of in sorted(lines.items())
    ]
    return UsedRates(spans_of(rates, {(row["currency"], row["day"]) for row in rows}), own)


def _exact_sum(rows: Iterable[dict[str, Any]], name: str) -> Decimal:
    return exact_sum(row[name] for row in rows if row[name] is not None)


def _by_day(table: Any) -> Any:
    lines = table.filter(table.currency.notnull())
    return lines.group_by("currency", day=lines.charge_date).aggregate(
        billed=lines.billed_cost.sum(), effective=lines.effective_cost.sum()
    )


__all__ = [
    "OWN",
    "Display",
    "account_currencies",
    "account_display",
    "current_display",
    "display_of",
    "display_scope",
    "used_rates",
]
