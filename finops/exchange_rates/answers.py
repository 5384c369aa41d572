"""The part of an answer about its currency conversion. Docstrings go to assistants, so they are short."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import msgspec

from finops.exchange_rates.display import Display, used_rates

MAX_RATES = 20


# One unit of `currency` is `rate` of the display currency on the days from start_date to end_date; `rate_date` is the day
# that the rate is of. derived: inverse, or EUR where it was made of two rates to the euro.
class AppliedRate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    currency: str
    rate: Decimal
    start_date: date
    end_date: date
    rate_date: date
    source: str
    derived: str = ""


# What the account's lines of these days are billed in one currency, whatever the filters, and whether they have a rate.
class OwnCurrencyCost(msgspec.Struct, frozen=True, kw_only=True):
    currency: str
    billed: Decimal
    amortized: Decimal
    converted: bool


# account_costs are of the days from start_date to end_date: all that the answer rests on, also earlier ones to compare or forecast.
class AppliedConversion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    display_currency: str
    start_date: date
    end_date: date
    exchange_rates: list[AppliedRate]
    account_costs: list[OwnCurrencyCost]
    truncated: str = ""


def conversion_of(display: Display) -> AppliedConversion | None:
    """The rates behind the answers of a scope, newest first, at most MAX_RATES; None where nothing is converted or no cost
    was asked for. One lake query."""
    if not display.currency or display.days is None:
        return None
    used = used_rates(display)
    rates = [
        AppliedRate(
            currency=span.currency,
            rate=span.rate,
            start_date=span.start,
            end_date=span.end,
            rate_date=span.rate_day,
            source=span.source,
            derived=span.through,
        )
        for span in used.spans[:MAX_RATES]
    ]
    costs = [
        OwnCurrencyCost(
            currency=each.currency,
            billed=each.billed,
            amortized=each.effective,
            converted=not each.is_missing,
        )
        for each in used.own[:MAX_RATES]
    ]
    more = len(used.spans) - len(rates)
    note = f"{more} older rates are not listed. Use fewer days." if more > 0 else ""
    return AppliedConversion(
        display_currency=display.currency,
        start_date=display.days[0],
        end_date=display.days[1],
        exchange_rates=rates,
        account_costs=costs,
        truncated=note,
    )
