"""Queries of exchange rates."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from django.db.models import Q

from accounts.models import Account
from accounts.scoping import account_scope
from finops.exchange_rates.models import ExchangeRate, ExchangeRateTable
from finops.exchange_rates.rates import EURO, MAX_AGE_DAYS, DayRate, SourceRate, day_rates
from finops.lake.engine.conversion import DayRates, rates_table

MAX_KEPT: Final = 64
"""The most cached ranges of rates in a process: a year of three currencies is 100 KB."""


@dataclass(frozen=True)
class _Range:
    """The rates of a range, for people and for the engine."""

    rates: list[DayRate]
    for_engine: DayRates | None


class _RangeCache:
    """A cache of recent ranges, by the version of the account's rates: nothing here can be stale."""

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[int, int, str, date, date], _Range] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[int, int, str, date, date]) -> _Range | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: tuple[int, int, str, date, date], value: _Range) -> None:
        with self._lock:
            self._entries[key] = value
            while len(self._entries) > MAX_KEPT:
                self._entries.popitem(last=False)


_cache: Final = _RangeCache()


@dataclass(eq=False)
class RateReader:
    """The rates of an account to one currency, for one answer. One query for the version, and one for each range that this
    process has not cached at this version."""

    account: Account
    currency: str
    ranges: list[tuple[date, date]] = field(default_factory=list)
    """The queried ranges, which are the days of the answer."""
    _version: int | None = None

    def __call__(self, start: date, end: date) -> DayRates | None:
        """Implements `Conversion.rates`."""
        self.ranges.append((start, end))
        return self._range(start, end).for_engine

    def rates(self, start: date, end: date) -> list[DayRate]:
        """The rates of each day of a range, by currency and day."""
        return self._range(start, end).rates

    def _range(self, start: date, end: date) -> _Range:
        if self._version is None:
            self._version = version_of(self.account)
        key = (self.account.pk, self._version, self.currency, start, end)
        cached = _cache.get(key)
        if cached is None:
            rates = day_rates(_rows(self.account, self.currency, start, end), self.currency, start, end)
            cached = _Range(rates, _for_engine(rates))
            _cache.put(key, cached)
        return cached


def version_of(account: Account) -> int:
    """The number of changes of the account's rates. One query."""
    with account_scope(account):
        return ExchangeRateTable.objects.values_list("version", flat=True).first() or 0


def _rows(account: Account, currency: str, start: date, end: date) -> list[SourceRate]:
    """Return rows of the currency, and those of the euro, from which others are computed."""
    try:
        first = start - timedelta(days=MAX_AGE_DAYS)
    except OverflowError:
        first = start
    with account_scope(account):
        rows = ExchangeRate.objects.filter(day__range=(first, end))
        rows = rows.filter(Q(base=currency) | Q(quote=currency) | Q(base=EURO))
        return [SourceRate(*row) for row in rows.values_list("day", "base", "quote", "rate", "source")]


def _for_engine(rates: Sequence[DayRate]) -> DayRates | None:
    if not rates:
        return None
    rows = [(each.currency, each.day, each.rate) for each in rates]
    digest = hashlib.blake2b(repr(rows).encode(), digest_size=16).hexdigest()
    return DayRates(digest, rates_table(rows))


def table_of(account: Account) -> ExchangeRateTable:
    """Return the state of the account's rates; an unsaved one where there is none yet. One query."""
    with account_scope(account):
        return ExchangeRateTable.objects.first() or ExchangeRateTable(account=account)
