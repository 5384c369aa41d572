"""The exchange rate of a day. Pure: exact decimals, no query.

1. The day's own rates count; if it has none, those of the last day before it that has one, at most MAX_AGE_DAYS
   before: weekends, holidays. Otherwise the rate is missing.
2. Of a day, the first source in the order of `ExchangeRate.Source` that has the pair.
3. Of a source, the rate itself; else the inverse of the opposite pair; else both currencies through the euro.
4. Quotients are rounded to 14 decimals, half to even.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final

from finops.exchange_rates.models import ExchangeRate
from finops.lake.engine.conversion import RATE_LIMIT, RATE_SCALE

MAX_AGE_DAYS: Final = 7
EURO: Final = "EUR"

_CONTEXT: Final = Context(prec=60)
_UNIT: Final = Decimal(1).scaleb(-RATE_SCALE)

Pairs = Mapping[tuple[str, str], Decimal]
"""Rates of one day and source, by base and quote."""


@dataclass(frozen=True)
class SourceRate:
    """A row of the account's rates."""

    day: date
    base: str
    quote: str
    rate: Decimal
    source: str


@dataclass(frozen=True)
class DayRate:
    """The rate of a currency on `day`, taken from `rate_day`. `through`: the euro, or an inverse; empty for a rate directly
    from its source."""

    currency: str
    day: date
    rate: Decimal
    rate_day: date
    source: str
    through: str = ""


def day_rates(rows: Iterable[SourceRate], target: str, start: date, end: date) -> list[DayRate]:
    """The rates to `target` of every day of the range that has one, by currency and day. `rows` reach MAX_AGE_DAYS
    before it."""
    by_day: dict[date, dict[str, dict[tuple[str, str], Decimal]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        by_day[row.day][row.source][row.base, row.quote] = row.rate
    if not by_day:
        return []
    newest: dict[str, DayRate] = {}
    result = []
    day, last = min(by_day), min(end, max(by_day) + timedelta(days=MAX_AGE_DAYS))
    while day <= last:
        newest |= _rates_on(day, by_day.get(day, {}), target)
        if day >= start:
            result += [
                DayRate(each.currency, day, each.rate, each.rate_day, each.source, each.through)
                for each in newest.values()
                if (day - each.rate_day).days <= MAX_AGE_DAYS
            ]
        day += timedelta(days=1)
    return sorted(result, key=lambda each: (each.currency, each.day))


def _rates_on(day: date, sources: Mapping[str, Pairs], target: str) -> dict[str, DayRate]:
    """The rates of this day itself, by currency."""
    rates: dict[str, DayRate] = {}
    for source in ExchangeRate.Source.values:
        pairs = sources.get(source, {})
        for currency in sorted({code for pair in pairs for code in pair} - {target} - rates.keys()):
            rate, through = _rate_of(pairs, currency, target)
            if rate is not None and 0 < rate < RATE_LIMIT:
                rates[currency] = DayRate(currency, day, rate, day, source, through)
    return rates


def _rate_of(pairs: Pairs, currency: str, target: str) -> tuple[Decimal | None, str]:
    if (rate := pairs.get((currency, target))) is not None:
        return rate, ""
    if (opposite := pairs.get((target, currency))) is not None:
        return _divide(Decimal(1), opposite), "inverse"
    to_target, to_currency = pairs.get((EURO, target)), pairs.get((EURO, currency))
    if to_target is not None and to_currency is not None:
        return _divide(to_target, to_currency), EURO
    return None, ""


def _divide(numerator: Decimal, denominator: Decimal) -> Decimal:
    return _CONTEXT.divide(numerator, denominator).quantize(_UNIT, rounding=ROUND_HALF_EVEN, context=_CONTEXT)


def plain_rate(rate: Decimal) -> Decimal:
    """Format without trailing zeros, and never with an exponent."""
    return Decimal(f"{rate.normalize():f}")


@dataclass(frozen=True)
class RateSpan:
    """Consecutive days on which a currency had the same rate of the same day."""

    currency: str
    start: date
    end: date
    rate: Decimal
    rate_day: date
    source: str
    through: str


def spans_of(rates: Iterable[DayRate], used: Collection[tuple[str, date]]) -> list[RateSpan]:
    """Return the rates of these currencies and days, newest first; consecutive days with the same rate are one span."""
    spans: dict[tuple[str, date, str], RateSpan] = {}
    for each in rates:
        if (each.currency, each.day) not in used:
            continue
        key = (each.currency, each.rate_day, each.source)
        first = spans[key].start if key in spans else each.day
        spans[key] = RateSpan(
            each.currency, first, each.day, each.rate, each.rate_day, each.source, each.through
        )
    return sorted(spans.values(), key=lambda span: (-span.end.toordinal(), span.currency))
